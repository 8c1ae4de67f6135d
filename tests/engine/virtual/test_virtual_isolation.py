"""Isolated activities and everything else: neither keeps the other waiting for long."""

from __future__ import annotations

import random
from itertools import count, pairwise

import anyio

from taskq.backends import ClaimRequest
from taskq.engine import Engine
from taskq.model import Status
from tests.engine.world import World, until

SHORT = {"lease": 1.0, "renew_interval": 0.3, "reaper_interval": 0.5, "claim_ahead": 0}
LONG = 120.0
"""Seconds of virtual time that a store is watched."""


async def feed(world: World, every: float, *types: str) -> None:
    """Submit one of each type again and again; those called alone are isolated."""
    while True:
        for type in types:
            await world.submit(type, max_crashes=1 if type == "alone" else 3)
        await anyio.sleep(every)


async def test_free_slots_do_not_idle_for_an_isolated_activity_beside_a_long_one(
    world: World,
) -> None:
    """It may hold back for a while, not for as long as anything else runs."""
    starts: list[float] = []

    async def quick() -> None:
        starts.append(anyio.current_time())

    world.on("long", anyio.sleep_forever)
    world.on("quick", quick)
    world.on("alone", quick)
    await world.submit("long", timeout=None)
    async with anyio.create_task_group() as group:
        group.start_soon(feed, world, 0.1, "quick")
        async with world.running(world.engine(concurrency=10, **SHORT), grace=0):
            await anyio.sleep(0.5)
            await world.submit("alone", max_crashes=1)
            began = anyio.current_time()
            await anyio.sleep(LONG)
        group.cancel_scope.cancel()

    gaps = [later - sooner for sooner, later in pairwise(starts) if later < began + LONG]
    assert max(gaps) <= 10 * SHORT["lease"] + 1
    assert sum(gap for gap in gaps if gap > 0.3) < LONG * 0.3
    early = [later - sooner for sooner, later in pairwise(starts) if later < began + 5]
    assert max(early) < 1.5


async def test_an_isolated_activity_runs_though_all_handlers_last_longer_than_the_first_patience(
    world: World,
) -> None:
    """It is more patient each time, so it comes to its turn in bounded time."""
    running: list[int] = []
    beside: list[int] = []
    starts = count()

    async def busy() -> None:
        running.append(1)
        await anyio.sleep(len(running) if next(starts) < 4 else 4)  # never all at once
        running.pop()

    async def alone() -> None:
        beside.append(len(running))

    world.on("busy", busy)
    world.on("alone", alone)
    await world.submit_many("busy", 1000)
    async with world.running(world.engine(concurrency=4, **SHORT), grace=0):
        await anyio.sleep(1)
        info = await world.ended(await world.submit("alone", max_crashes=1), within=90)
    assert info.status is Status.COMPLETED
    assert beside == [0]


async def test_an_isolated_activity_is_run_in_the_first_moment_in_which_nothing_else_runs(
    world: World,
) -> None:
    """However long it would be until the next try: it is known to wait."""
    starts: list[float] = []

    async def long() -> None:
        await anyio.sleep(9)
        starts.append(anyio.current_time())

    async def quick() -> None:
        await anyio.sleep(0.05)

    async def alone() -> None:
        starts.append(anyio.current_time())

    world.on("long", long)
    world.on("quick", quick)
    world.on("alone", alone)
    await world.submit("long", timeout=None)
    await world.submit("alone", max_crashes=1)
    async with anyio.create_task_group() as group:
        group.start_soon(feed, world, 0.25, "quick")
        async with world.running(world.engine(concurrency=10, **SHORT), grace=0):
            await until(lambda: len(starts) == 2, within=30)
        group.cancel_scope.cancel()
    assert starts[1] - starts[0] < 0.5


async def test_a_stream_of_isolated_activities_does_not_starve_the_rest(world: World) -> None:
    starts: dict[str, list[float]] = {"quick": [], "alone": []}

    async def quick() -> None:
        starts["quick"].append(anyio.current_time())
        await anyio.sleep(0.3)

    async def alone() -> None:
        starts["alone"].append(anyio.current_time())
        await anyio.sleep(0.05)

    world.on("quick", quick)
    world.on("alone", alone)
    async with anyio.create_task_group() as group:
        group.start_soon(feed, world, 0.05, "alone", "quick", "quick")
        async with world.running(world.engine(concurrency=10, **SHORT), grace=0):
            await anyio.sleep(20)
        group.cancel_scope.cancel()
    for second in range(2, 20):
        assert sum(int(at) == second for at in starts["quick"]) >= 10, second
    assert max(later - sooner for sooner, later in pairwise(starts["alone"])) < 5


async def test_nobody_is_held_back_for_an_isolated_activity_that_is_gone(world: World) -> None:
    starts: list[float] = []

    async def quick() -> None:
        starts.append(anyio.current_time())

    world.on("long", anyio.sleep_forever)
    world.on("quick", quick)
    world.on("alone", quick)
    await world.submit("long", timeout=None)
    async with anyio.create_task_group() as group:
        group.start_soon(feed, world, 0.1, "quick")
        options = {"lease": 30.0, "claim_ahead": 0, "poll_interval": 0.5, "poll_max": 0.5}
        async with world.running(world.engine(concurrency=3, **options), grace=0):
            id = await world.submit("alone", max_crashes=1)
            await until(lambda: bool(starts))
            await until(lambda: anyio.current_time() - starts[-1] > 0.5, within=60)
            await world.memory.cancel([id])
            cancelled_at = anyio.current_time()
            await until(lambda: starts[-1] > cancelled_at, within=2)
        group.cancel_scope.cancel()


async def test_the_workers_of_a_fleet_do_not_stop_together_for_an_isolated_activity(
    world: World,
) -> None:
    looks: dict[object, float] = {}
    claim = world.memory.claim

    async def spying(request: ClaimRequest) -> object:
        if request.alone:
            looks.setdefault(request.worker, anyio.current_time())
        return await claim(request)

    async def busy() -> None:
        await anyio.sleep(0.1)

    def engine(seed: int) -> Engine:
        engine = world.engine(concurrency=1, claim_ahead=0)
        engine._random = random.Random(seed).random
        return engine

    world.on("busy", busy)
    world.memory.claim = spying  # type: ignore[method-assign, assignment]
    await world.submit_many("busy", 4000)
    async with world.running(*map(engine, range(8)), grace=0):
        began = anyio.current_time()
        await until(lambda: len(looks) == 8, within=31)
    times = sorted(at - began for at in looks.values())
    assert times[0] >= 14 and times[-1] <= 31
    assert times[-1] - times[0] > 5


async def test_looking_for_isolated_activities_leaves_no_trace_on_them(world: World) -> None:
    world.on("long", anyio.sleep_forever)

    async def busy() -> None:
        await anyio.sleep(0.1)

    world.on("busy", busy)
    world.on("alone", busy)
    await world.submit("long", timeout=None)
    await world.submit_many("busy", 3000)
    async with world.running(world.engine(concurrency=3, **SHORT), grace=0):
        id = await world.submit("alone", max_crashes=1)
        await anyio.sleep(60)
        info = await world.info(id)
        timeline = await world.memory.timeline(id)
    assert info.claim > 3, "it was looked at again and again"
    assert (info.status, info.isolate, info.crash_count) == (Status.PENDING, True, 0)
    assert "handed_back" not in [entry.kind for entry in timeline]
