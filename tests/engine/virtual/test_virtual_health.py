"""Health means recent progress, not a running process."""

from __future__ import annotations

import anyio
import pytest

from taskq import events
from taskq.engine import Health
from tests.engine.world import World, until


async def noop() -> None:
    """Ends at once."""


@pytest.fixture
def world(world: World) -> World:
    """With a handler."""
    world.on("noop", noop)
    return world


async def test_an_idle_worker_stays_healthy(world: World) -> None:
    engine = world.engine()
    assert engine.health().reasons == ("the worker is new",)
    async with world.running(engine):
        for _ in range(20):
            await anyio.sleep(30)
            health = engine.health()
            assert health.healthy, health
        assert set(health.last_progress) == {
            "keeper",
            "ledger",
            "fence",
            "canceller",
            "controls",
            "deadlines",
            "reporter",
            "hints",
            "dispatcher",
            "promoter",
            "scheduler",
            "reaper",
        }
        assert max(health.last_progress.values()) <= 11
    assert engine.health() == Health(
        state="stopped",
        healthy=False,
        reasons=("the worker is stopped",),
        slots=10,
        slots_used=0,
        threads_stuck=0,
        last_progress={},
    )


async def test_a_worker_whose_slots_are_all_taken_for_an_hour_is_healthy(world: World) -> None:
    async def long() -> None:
        await anyio.sleep(3600)

    world.on("long", long)
    await world.submit_many("long", 5, timeout=None)
    engine = world.engine(concurrency=2)
    async with world.running(engine, grace=0):
        await anyio.sleep(600)
        assert engine.health().healthy, engine.health()
        assert (engine.health().slots, engine.health().slots_used) == (2, 2)


@pytest.mark.parametrize(
    ("method", "loop"),
    [
        ("claim", "dispatcher"),
        ("heartbeat", "keeper"),
        ("promote", "promoter"),
        ("settle", "ledger"),
    ],
)
@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_a_loop_that_cannot_do_its_work_is_named(
    world: World, method: str, loop: str, how: str
) -> None:
    store = world.view()
    engine = world.engine(store)
    async with world.running(engine, grace=0):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        if how == "fails":
            store.fail(method, after=False, times=100_000)
        else:
            store.hang(method)
        if method == "settle":
            await world.submit("noop")
        await anyio.sleep(50)
        assert f"{loop} makes no progress" in engine.health().reasons
        store.mend()
        store.come_back()
        await anyio.sleep(45)
        assert engine.health().healthy, engine.health()


async def test_a_loop_that_fails_is_started_again_ever_less_often(world: World) -> None:
    """bug:B73, bug:B54, rule R10."""
    store = world.view()
    engine = world.engine(store)
    async with world.running(engine):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        store.fail("promote", after=False, times=100_000)
        await anyio.sleep(60)
        first_minute = len(world.seen(events.BackgroundError))
        await anyio.sleep(60)
        second_minute = len(world.seen(events.BackgroundError)) - first_minute
    assert 10 <= second_minute <= 25
    assert first_minute > second_minute
    assert engine.errors.total == first_minute + second_minute


async def test_a_loop_that_works_again_says_so_once_and_after_how_long(world: World) -> None:
    store = world.view()
    engine = world.engine(store)
    async with world.running(engine):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        store.fail("promote", after=False, times=100_000)
        await anyio.sleep(60)
        assert not world.seen(events.BackgroundRecovered)
        store.mend()
        await anyio.sleep(60)
    [recovered] = world.seen(events.BackgroundRecovered)
    assert recovered.loop == "promoter"
    assert 50 < recovered.seconds < 80
