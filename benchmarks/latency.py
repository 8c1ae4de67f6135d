"""How long an idle worker in another process takes to begin, and its caller to have the result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from benchmarks.app import PATIENCE, App
from benchmarks.floors import Relay
from benchmarks.ground import Ground
from benchmarks.rounds import alternating
from benchmarks.row import AtMost, Row, Scale, Target, Within, percentile
from benchmarks.served import worker
from taskq import TaskQ

PICKUP = "insert and NOTIFY, heard and claimed, on asyncpg"
ROUND = "the same, settled with a NOTIFY, heard, and read"


class Latencies(Struct, frozen=True):
    """Milliseconds from the call to its start, and to its result."""

    pickups: list[float]
    rounds: list[float]


def rows(ground: Ground) -> Iterator[Row]:
    """Calls with a pause between them, and calls that follow each other."""
    url, other = ground.fresh(), ground.fresh()
    with worker(ground, url):
        idle, busy, floor = alternating(
            ground.scale.rounds,
            partial(_called, url, ground.scale, pause=ground.scale.pause),
            partial(_called, url, ground.scale, pause=0.0),
            partial(_relayed, other, ground.scale),
        )
    yield _row("pickup", "idle pickup p50", 0.5, idle, floor, Within(2.0))
    yield _row("pickup", "idle pickup p50", 0.5, idle, (), AtMost(3.0))
    yield _row("pickup", "idle pickup p99", 0.99, idle, floor, AtMost(10.0))
    yield _row("roundtrip", "await fut p50, idle", 0.5, idle, floor, AtMost(5.0))
    yield _row("roundtrip", "await fut p99, idle", 0.99, idle, floor, None)
    yield _row("roundtrip", "await fut p50, one after the other", 0.5, busy, floor, None)


def _row(
    scenario: str,
    what: str,
    share: float,
    ours: Sequence[Latencies],
    floor: Sequence[Latencies],
    target: Target | None,
) -> Row:
    def of(latencies: Sequence[Latencies]) -> tuple[float, ...]:
        chosen = [each.pickups if scenario == "pickup" else each.rounds for each in latencies]
        return tuple(percentile(each, share) for each in chosen)

    floor_is = PICKUP if scenario == "pickup" else ROUND
    return Row(
        scenario=scenario,
        what=what,
        unit="ms",
        values=of(ours),
        floors=of(floor),
        floor_is=floor_is if floor else "",
        target=target,
    )


def _called(url: str, scale: Scale, pause: float) -> Latencies:
    taskq = TaskQ(url)

    @taskq.activity
    async def stamp() -> float:
        raise AssertionError("it runs in the other process")

    latencies = Latencies([], [])

    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            await (await stamp.adelay())
        for _ in range(scale.pickups):
            await asyncio.sleep(pause)
            began = time.monotonic()
            async with asyncio.timeout(PATIENCE):
                started = await (await stamp.adelay())
            ended = time.monotonic()
            latencies.pickups.append((started - began) * 1000)
            latencies.rounds.append((ended - began) * 1000)
        await taskq.aclose()

    asyncio.run(run())
    return latencies


def _relayed(url: str, scale: Scale) -> Latencies:
    app, latencies = App(url), Latencies([], [])

    async def run() -> None:
        relay = Relay(url)
        await relay.open()
        await relay.once(app.noop.build())
        for _ in range(scale.pickups):
            await asyncio.sleep(scale.pause)
            async with asyncio.timeout(PATIENCE):
                pickup, round = await relay.once(app.noop.build())
            latencies.pickups.append(pickup)
            latencies.rounds.append(round)
        await relay.close()

    asyncio.run(run())
    return latencies
