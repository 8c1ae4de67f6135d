"""Production: activities are rows of a PostgreSQL database, workers are processes beside it.

Set ``TASKQ_DATABASE_URL=postgresql://user@host/name``, make the tables once with ``taskq migrate``,
start as many workers as you like with ``taskq worker postgres_app:taskq``. Everything else is as on
SQLite. This program does all three by itself, one worker on its own event loop and one process.
"""

import os
import sys
from pathlib import Path

import anyio

from taskq import Priority, TaskQ, current

taskq = TaskQ()  # TASKQ_DATABASE_URL
HERE = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}


@taskq.activity
async def price(article: str) -> int:
    return 100 * len(article)


@taskq.activity(priority=Priority.HIGH, max_retries=5, timeout=30)
async def invoice(articles: list[str]) -> str:
    """Its children may run in any worker, here or elsewhere."""
    futures = await taskq.aenqueue([price.build(article) for article in articles])
    total = sum([await future for future in futures])
    return f"{total} cents, at attempt {current().attempt}"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "taskq", *arguments]


async def main() -> None:
    migrated = await anyio.run_process(command("migrate"), env=HERE)  # safe to repeat
    print("tables made" if b"tables made" in migrated.stdout else "tables there")

    async with taskq:
        # Stored when this returns, whether or not anybody is there to run it.
        stored = await invoice.adelay(["chair", "table"])
        print((await stored.ainfo()).status)

        async with taskq.worker(concurrency=4):
            print(await stored)

        worker = command("worker", "postgres_app:taskq", "-l", "warning")
        async with await anyio.open_process(worker, env=HERE, stdout=None, stderr=None) as process:
            with anyio.fail_after(30):
                print(await (await invoice.adelay(["lamp"])))  # told by the database, not polled
            process.terminate()  # graceful: what runs may end


if __name__ == "__main__":
    anyio.run(main)
