"""How fast one worker drains what is ready."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio

from benchmarks import floors
from benchmarks.app import App
from benchmarks.ground import Ground
from benchmarks.rounds import alternating
from benchmarks.row import AtLeast, AtMost, Row

LOOPS = ("asyncio", "trio")
FLOOR = "claim and settle alone, same statements, one connection"


def rows(ground: Ground) -> Iterator[Row]:
    """PostgreSQL beside its floor, and how many transactions that takes."""
    url, scale = ground.fresh(), ground.scale
    measures = [partial(_worker_after_filling, ground, url, loop) for loop in LOOPS]
    asyncio, trio, floor = alternating(
        scale.rounds, *measures, partial(_floor_after_filling, ground, url)
    )
    what = f"drain of {scale.drain} no-op activities"
    yield Row(
        scenario="drain",
        what=what,
        unit="/s",
        values=asyncio,
        floors=floor,
        floor_is=FLOOR,
        target=AtLeast(0.5),
    )
    yield Row(
        scenario="drain", what=f"{what}, trio", unit="/s", values=trio, floors=floor, floor_is=FLOOR
    )
    yield transactions(ground, url)


def transactions(ground: Ground, url: str) -> Row:
    """How many the database counts in a drain, for each activity."""
    count = ground.scale.drain
    ground.refill(url, count)
    before = _transactions(ground, url)
    drained(url)
    made = _transactions(ground, url) - before
    return Row(
        scenario="drain",
        what="transactions per activity",
        unit="",
        values=(made / count,),
        target=AtMost(0.1),
    )


def _transactions(ground: Ground, url: str) -> int:
    """Once every session has reported: they do so when they end, at the latest."""
    sql = (
        "SELECT xact_commit + xact_rollback FROM pg_stat_database"
        " WHERE datname = current_database()"
    )
    seen, still = -1, 0
    for _ in range(100):
        [[now]] = ground.run(url, sql)
        still = still + 1 if now - seen <= 1 else 0
        if still == 5:
            break
        seen = now
        time.sleep(0.05)  # between two looks at a drain that goes on elsewhere
    return int(seen)


def local(ground: Ground) -> Iterator[Row]:
    """SQLite and memory, for information."""
    for name in ("sqlite", "memory"):
        measures = [partial(_stored_and_drained, name, loop, ground.scale.drain) for loop in LOOPS]
        for loop, values in zip(LOOPS, alternating(ground.scale.rounds, *measures), strict=True):
            what = f"drain of {ground.scale.drain}, {name}, {loop}"
            yield Row(scenario="local", what=what, unit="/s", values=values)


def drained(url: str, loop: str = "asyncio") -> float:
    """Run a worker until nothing is left; seconds."""
    return anyio.run(App(url).drain, backend=loop)


def _worker_after_filling(ground: Ground, url: str, loop: str) -> float:
    ground.refill(url, ground.scale.drain)
    return ground.scale.drain / drained(url, loop)


def _floor_after_filling(ground: Ground, url: str) -> float:
    ground.refill(url, ground.scale.drain)
    return floors.drained(url)


def _stored_and_drained(name: str, loop: str, count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench.db")
        app = App("memory://" if name == "memory" else f"sqlite:///{path}")

        async def run() -> float:
            await app.taskq.aenqueue([app.noop.build() for _ in range(count)])
            return count / await app.drain()

        return anyio.run(run, backend=loop)
