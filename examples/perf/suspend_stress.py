"""Parents that wait for their children, more of them than there are slots.

Each root calls one leaf and two mids, each mid ``FANOUT`` leaves; roots and mids await their
children one after another; a leaf sleeps. Where a parent that waits keeps its slot (``SUSPEND=0``),
roots take all slots and nothing can ever end. Where it gives its slot up (``SUSPEND=1``), all takes
leaves x ``WORK_MS`` / ``WORKERS`` at best: 5 s with the defaults. Three runs to compare::

    SUSPEND=0 python examples/perf/suspend_stress.py
    SUSPEND=1 python examples/perf/suspend_stress.py
    SUSPEND=1 LEAVES_RESERVED=4 python examples/perf/suspend_stress.py

All is set by the environment, see ``Knobs``. Exit status: 0 drained; 2 stalled, or a deadlock was
detected; 3 not drained after ``DRAIN_TIMEOUT_SEC``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from typing import Final, Self

import anyio
from msgspec import Struct, convert
from msgspec.structs import asdict, replace
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from taskq import ActivityFuture, Status, TaskQ, events, gather
from taskq.assembly import WorkerArguments
from taskq.snapshot import Stats
from taskq.worker import Worker

EVERY: Final = 2.0
"""Seconds between two samples."""
LOOK: Final = 0.1
"""Seconds between two looks at whether something is wrong."""
FATAL: tuple[type[events.Event], ...] = (events.Deadlocked,)
"""Events that end the program at once, as stalled."""

COUNTED: Final = text(
    "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
)
DRAINED, STALLED, TOO_SLOW = 0, 2, 3
LEFT = (Status.PENDING, Status.SCHEDULED, Status.PROCESSING, Status.RETRYING)


class Knobs(Struct, frozen=True, kw_only=True):
    """What the environment may say, by these names in capitals."""

    roots: int = 100
    workers: int = 20
    """Slots of the worker."""
    suspend: int = 0
    """1: a parent that waits gives its slot up."""
    leaves_reserved: int = 0
    """Slots that only leaves get while any wait."""
    fanout: int = 2
    work_ms: float = 200
    activity_timeout_sec: float = 120
    drain_timeout_sec: float = 300
    stall_sec: float = 30
    """Seconds without any change, with work left, that count as a stall."""
    queue_name: str = ""
    """Default: a fresh one."""
    database_url: str = ""
    """Default: an SQLite file in a folder that is deleted afterwards."""

    @classmethod
    def given(cls) -> Self:
        """Those of the environment. Raises msgspec.ValidationError."""
        names = {name: name.upper() for name in cls.__struct_fields__}
        said = {name: os.environ[key] for name, key in names.items() if os.environ.get(key)}
        return convert({"queue_name": f"stress-{uuid.uuid4().hex[:8]}"} | said, cls, strict=False)

    @property
    def leaves(self) -> int:
        """How many leaves there are in all."""
        return self.roots * (1 + 2 * self.fanout)

    @property
    def best(self) -> float:
        """Seconds that the leaves take when every slot always has one."""
        return self.leaves * self.work_ms / 1000 / self.workers


class Stress:
    """The app with its three activities, and what happened in it."""

    def __init__(self, knobs: Knobs) -> None:
        self.knobs = knobs
        self.leaves_done = 0
        self.fatal: events.Event | None = None
        self.app = TaskQ(
            knobs.database_url,
            queue=knobs.queue_name,
            max_retries=2,
            timeout=knobs.activity_timeout_sec,
            listeners=[self],
        )
        self.leaf = self.app.activity(name="leaf")(self.run_leaf)
        self.mid = self.app.activity(name="mid")(self.run_mid)
        self.root = self.app.activity(name="root", max_retries=None)(self.run_root)

    def on_event(self, event: events.Event) -> None:
        """Whether something happened after which nothing can go on."""
        if isinstance(event, FATAL):
            self.fatal = event

    async def run_leaf(self) -> None:
        """Sleep."""
        await anyio.sleep(self.knobs.work_ms / 1000)
        self.leaves_done += 1

    async def run_mid(self) -> None:
        """Call the leaves of one mid."""
        leaves = [self.leaf.build() for _ in range(self.knobs.fanout)]
        await one_after_another(await self.app.aenqueue(leaves))

    async def run_root(self) -> None:
        """Call a leaf and two mids."""
        children = [self.leaf.build(), self.mid.build(), self.mid.build()]
        await one_after_another(await self.app.aenqueue(children))

    async def run(self) -> Ending:
        """Store the roots and run everything."""
        async with self.app, self.app.worker(**self.worker_arguments()) as worker:
            dead_before = (await self.stats()).by_status[Status.DEAD_LETTER]
            watch = Watch(self, worker, dead_before)
            roots = await self.app.aenqueue([self.root.build() for _ in range(self.knobs.roots)])
            status = await self.ending(roots, watch)
            elapsed = time.monotonic() - watch.began
            dead = (await self.stats()).by_status[Status.DEAD_LETTER] - dead_before
        return Ending(status=status, elapsed=elapsed, leaves_done=self.leaves_done, dead=dead)

    def worker_arguments(self) -> WorkerArguments:
        """The worker's options."""
        return {
            "concurrency": self.knobs.workers,
            "suspend_on_await": self.knobs.suspend == 1,
            "reserve_slots_for_leaves": self.knobs.leaves_reserved,
            "leaf_types": ["leaf"] if self.knobs.leaves_reserved else [],
            "shutdown_grace": 0.1,
        }

    async def ending(self, roots: Sequence[ActivityFuture[None]], watch: Watch) -> int:
        """Wait until nothing is left, or until that cannot come."""
        status = DRAINED

        async def give_up() -> None:
            nonlocal status
            status = await watch.trouble()
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(give_up)
            await gather(*roots, return_exceptions=True)
            while True:  # a root may have ended before its children
                if not left(await self.stats()):
                    group.cancel_scope.cancel()
                await anyio.sleep(LOOK)
        return status

    async def stats(self) -> Stats:
        """Of this run's queue."""
        return await self.app.astats([self.knobs.queue_name])


class Watch:
    """Samples the run every ``EVERY`` seconds, prints it, and says when there is trouble."""

    def __init__(self, stress: Stress, worker: Worker, dead_before: int) -> None:
        self.began = time.monotonic()
        self._stress = stress
        self._worker = worker
        self._dead_before = dead_before
        self._seen: object = None
        self._changed = self.began

    async def trouble(self) -> int:
        """Return when there is some: the exit status."""
        knobs = self._stress.knobs
        sample_at = self.began
        while True:
            now = time.monotonic()
            if self._stress.fatal is not None:
                print(self._stress.fatal)
                return STALLED
            if now >= sample_at:
                await self._sample(now)
                sample_at += EVERY
            if now - self._changed >= knobs.stall_sec:
                print(f"stalled: nothing has changed for {knobs.stall_sec:g} s")
                return STALLED
            if now - self.began >= knobs.drain_timeout_sec:
                print(f"not drained after {knobs.drain_timeout_sec:g} s")
                return TOO_SLOW
            await anyio.sleep(LOOK)

    async def _sample(self, now: float) -> None:
        stats, health = await self._stress.stats(), self._worker.health()
        count = stats.by_status
        seen = (dict(count), self._stress.leaves_done)
        if seen != self._seen:
            self._seen, self._changed = seen, now
        print(
            f"{now - self.began:6.1f} s  pending {count[Status.PENDING]}"
            f"  running {count[Status.PROCESSING]}  retrying {count[Status.RETRYING]}"
            f"  dead +{count[Status.DEAD_LETTER] - self._dead_before}"
            f"  leaves {self._stress.leaves_done}/{self._stress.knobs.leaves}"
            f"  workers {health.slots_used}/{health.slots}"
        )


class Ending(Struct, frozen=True, kw_only=True):
    """How a run ended. ``dead`` are the activities that it dead-lettered."""

    status: int
    elapsed: float
    leaves_done: int
    dead: int


def left(stats: Stats) -> int:
    """How many have not ended."""
    return sum(stats.by_status[status] for status in LEFT)


async def one_after_another(futures: Sequence[ActivityFuture[None]]) -> None:
    """Await each."""
    for future in futures:
        await future


async def transactions(url: str) -> int | None:
    """Those that PostgreSQL has counted in this database; None for another store.

    Sessions report theirs when they end, or seconds later: asked until it stays the same.
    """
    if not url.startswith("postgres"):
        return None
    engine = create_async_engine(make_url(url).set(drivername="postgresql+asyncpg"))
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        seen, same = -1, 0
        for _ in range(100):
            now = (await connection.execute(COUNTED)).scalar_one()
            same = same + 1 if now - seen <= 1 else 0  # this question is one
            seen = now
            if same == 5:
                break
            await anyio.sleep(0.1)
    await engine.dispose()
    return seen


async def main() -> int:
    """Run it and print the summary; the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        knobs = Knobs.given()
        if not knobs.database_url:
            knobs = replace(knobs, database_url=f"sqlite:///{folder}/stress.db")
        before = await transactions(knobs.database_url)
        ending = await Stress(knobs).run()
        after = await transactions(knobs.database_url)
    for name, value in asdict(knobs).items():
        if name != "database_url":
            print(f"{name.upper()} {value}")
    print(f"elapsed {ending.elapsed:.2f} s, at best {knobs.best:.2f} s")
    print(f"leaves {ending.leaves_done} of {knobs.leaves}, dead letters +{ending.dead}")
    if before is not None and after is not None:
        print(f"transactions {after - before}")
    return ending.status


if __name__ == "__main__":
    sys.exit(anyio.run(main))
