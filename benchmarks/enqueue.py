"""How fast calls are stored, many at once and one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import anyio

from benchmarks import floors
from benchmarks.app import App
from benchmarks.ground import Ground
from benchmarks.rounds import alternating
from benchmarks.row import AtLeast, Row, Within


def many(ground: Ground) -> Iterator[Row]:
    """``aenqueue`` of a long list."""
    url, count = ground.fresh(), ground.scale.enqueue
    ours, floor = alternating(
        ground.scale.rounds,
        partial(_after_emptying, ground, url, partial(_enqueued, url, count)),
        partial(_after_emptying, ground, url, partial(_inserted, url, count)),
    )
    yield Row(
        scenario="enqueue",
        what=f"aenqueue of {count}",
        unit="/s",
        values=ours,
        floors=floor,
        floor_is="one insert of the same rows from arrays",
        target=AtLeast(0.6),
    )


def singly(ground: Ground) -> Iterator[Row]:
    """``delay`` again and again in a thread, ``adelay`` on an event loop."""
    url, count = ground.fresh(), ground.scale.singles
    measures = (
        partial(_delayed, url, count),
        partial(_awaited, url, count),
        partial(_inserted_singly, url, count),
    )
    delays, adelays, floor = alternating(
        ground.scale.rounds, *(partial(_after_emptying, ground, url, each) for each in measures)
    )
    floor_is = "one insert of the same row on asyncpg, committed"
    for what, values in (("delay", delays), ("adelay", adelays)):
        yield Row(
            scenario="delay",
            what=f"{what}, one by one",
            unit="ms",
            values=values,
            floors=floor,
            floor_is=floor_is,
            target=Within(2.0) if what == "delay" else None,
        )


def _after_emptying(ground: Ground, url: str, measure: partial[float]) -> float:
    ground.run(url, "TRUNCATE taskq_activities, taskq_events, taskq_keys", "CHECKPOINT")
    return measure()


def _enqueued(url: str, count: int) -> float:
    app = App(url)
    calls = [app.noop.build() for _ in range(count)]

    async def run() -> float:
        await app.noop.adelay()
        began = time.perf_counter()
        await app.taskq.aenqueue(calls)
        seconds = time.perf_counter() - began
        await app.taskq.aclose()
        return count / seconds

    return anyio.run(run)


def _inserted(url: str, count: int) -> float:
    app = App(url)
    return floors.inserted(url, [app.noop.build() for _ in range(count)])


def _delayed(url: str, count: int) -> float:
    app = App(url)
    app.noop.delay()
    began = time.perf_counter()
    for _ in range(count):
        app.noop.delay()
    seconds = time.perf_counter() - began
    app.taskq.close()
    return seconds / count * 1000


def _awaited(url: str, count: int) -> float:
    app = App(url)

    async def run() -> float:
        await app.noop.adelay()
        began = time.perf_counter()
        for _ in range(count):
            await app.noop.adelay()
        seconds = time.perf_counter() - began
        await app.taskq.aclose()
        return seconds / count * 1000

    return anyio.run(run)


def _inserted_singly(url: str, count: int) -> float:
    app = App(url)
    return floors.inserted_singly(url, [app.noop.build() for _ in range(count + 1)])
