"""What taskq weighs: the time of its import, the memory of an idle worker."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.ground import Ground
from benchmarks.rounds import alternating
from benchmarks.row import AtMost, Row
from benchmarks.served import worker

CODE = """
import time
began = time.perf_counter()
import taskq
print(time.perf_counter() - began)
"""


def rows(ground: Ground) -> Iterator[Row]:
    """Each in a process of its own."""
    times, floor = alternating(
        ground.scale.rounds, _import_time, partial(_import_time, CODE.replace("taskq", "asyncio"))
    )
    yield Row(
        scenario="footprint",
        what="import taskq",
        unit="s",
        values=times,
        floors=floor,
        floor_is="import asyncio",
        target=AtMost(0.2),
    )
    if Path("/proc/self/status").exists():
        url = ground.fresh()
        values = tuple(_idle_memory(ground, url) for _ in range(ground.scale.rounds))
        yield Row(
            scenario="footprint", what="idle worker", unit="MB", values=values, target=AtMost(80.0)
        )


def _import_time(code: str = CODE) -> float:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def _idle_memory(ground: Ground, url: str) -> float:
    """Resident megabytes, a second after it has begun to wait."""
    with worker(ground, url) as process:
        time.sleep(1.0)  # what is measured: its memory after a second of waiting
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    if found is None:
        raise RuntimeError("the kernel does not say how much memory a process has")
    return int(found[1]) / 1024
