"""No event loop in sight: a plain script calls, waits and prints.

The worker is another process, here started and stopped by the script so that it runs alone; in
earnest it is there already. The same calls work in a Flask or Django view, or in a thread.
"""

import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from taskq import ResultTimeout, TaskQ

taskq = TaskQ()


@taskq.activity
def count_words(text: str) -> int:
    return len(text.split())


@taskq.activity
def nap(seconds: float) -> str:
    time.sleep(seconds)  # a handler that blocks has a thread
    return "rested"


@contextmanager
def worker() -> Generator[None]:
    """``taskq worker sync_script:taskq``, until the block ends; then a graceful stop."""
    command = [sys.executable, "-m", "taskq", "worker", "sync_script:taskq", "-l", "warning"]
    here = {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(command, env=os.environ | here) as process:
        try:
            yield
        finally:
            process.terminate()


def main() -> None:
    # Stored at once; whoever runs it need not be there yet.
    futures = taskq.enqueue([count_words.build("word " * n) for n in (1, 20, 300)])
    print([str(future.info().status) for future in futures])

    with worker():
        print([future.result(timeout=30) for future in futures])

        slow = nap.delay(1.0)
        try:
            slow.result(timeout=0.05)
        except ResultTimeout:
            print("not yet")  # waiting ended, the activity goes on
        print(slow.result(timeout=30))


if __name__ == "__main__":
    main()
