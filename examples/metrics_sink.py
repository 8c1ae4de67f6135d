"""Metrics: a sink that keeps counters and durations, and prints them as a table.

``taskq.metrics.COUNTERS`` and ``DURATIONS`` are all names there are, with their meaning. A sink for
a metrics server has the same two methods: with prometheus_client, ``inc_counter`` is
``Counter(f"taskq_{name}", COUNTERS[name], labels.keys()).labels(**labels).inc(n)``, each made once.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock

import anyio

from taskq import ActivityFailed, NonRetryError, RetryPolicy, TaskQ, current
from taskq.metrics import MetricsListener


class Table:
    """Sums by name and type. A sink may be called from several threads."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.counts = Counter[tuple[str, str]]()
        self.seconds = defaultdict[tuple[str, str], list[float]](list)

    def inc_counter(self, name: str, n: int, labels: Mapping[str, str] | None = None) -> None:
        with self.lock:
            self.counts[name, (labels or {}).get("type", "")] += n

    def observe_duration(
        self, name: str, seconds: float, labels: Mapping[str, str] | None = None
    ) -> None:
        with self.lock:
            self.seconds[name, (labels or {}).get("type", "")].append(seconds)

    def print(self) -> None:
        for (name, type), count in sorted(self.counts.items()):
            if type:
                print(f"{name:27} {type:9} {count}")
        for (name, type), found in sorted(self.seconds.items()):
            if name == "activity_execution_seconds":
                print(f"{name:27} {type:9} {sum(found):.0f} s in all")


table = Table()
taskq = TaskQ(listeners=[MetricsListener(table)], retry=RetryPolicy(initial_delay=0.05))


@taskq.activity
async def resize(picture: int) -> None:
    await anyio.sleep(0.3 * picture)


@taskq.activity
async def upload(picture: int) -> None:
    if current().retry_count < picture:
        raise ConnectionError("the line is bad")


@taskq.activity
async def publish(picture: int) -> None:
    raise NonRetryError("nobody may see this")


async def main() -> None:
    async with taskq, taskq.worker():
        for task in (resize, upload, publish):
            futures = await taskq.aenqueue([task.build(picture) for picture in (1, 2)])
            for future in futures:
                with suppress(ActivityFailed):
                    await future
        await upload.options(idempotency_key="1").adelay(0)
        await (await upload.options(idempotency_key="1").adelay(0))  # the same activity
    table.print()


if __name__ == "__main__":
    anyio.run(main)
