"""Hints that end unseen."""

from __future__ import annotations

import anyio

from taskq import events
from taskq.model import Status
from tests.engine.world import World, until


async def noop() -> None:
    """Ends at once."""


async def test_hints_come_again_soon_after_the_store_was_closed_beside_the_worker(
    world: World,
) -> None:
    """Somebody in this process closed the app; its next use opens the store again."""
    world.on("noop", noop)
    options = {"poll_interval": 8.0, "poll_max": 8.0}
    async with world.running(world.engine(**options)):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        await world.memory.close()
        await world.memory.open()
        await anyio.sleep(8.5)
        for number in range(10):
            await anyio.sleep(0.7 * number)
            began = anyio.current_time()
            await world.ended(await world.submit("noop"))
            assert anyio.current_time() - began < 0.5


async def test_no_hint_is_missed_while_a_watch_is_replaced(world: World) -> None:
    starts: list[float] = []

    async def note() -> None:
        starts.append(anyio.current_time())

    world.on("note", note)
    options = {"poll_interval": 1.0, "poll_max": 1.0}
    async with world.running(world.engine(**options)):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        for _ in range(100):
            await anyio.sleep(0.097)
            began = anyio.current_time()
            id = await world.submit("note")
            await world.reaches(id, Status.COMPLETED)
            assert starts[-1] - began < 0.05
        assert len(world.memory._watches) == 1


async def test_a_watch_that_cannot_be_replaced_stays_until_the_next_try(world: World) -> None:
    world.on("noop", noop)
    store = world.view()
    engine = world.engine(store, poll_interval=8.0, poll_max=8.0)
    async with world.running(engine):
        await until(lambda: store.calls["watch"] == 1)
        store.fail("watch", after=False)
        await until(lambda: store.calls["watch"] >= 3, within=30)
        assert [error.loop for error in engine.errors.kept()] == ["hints"]
        assert len(world.memory._watches) == 1
