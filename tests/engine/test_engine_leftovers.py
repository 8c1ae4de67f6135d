"""What a handler leaves behind on the task that carried it does not reach the next one."""

from __future__ import annotations

import asyncio

import pytest

from taskq import events
from taskq.bridge.leftover import drop_leftover_cancel
from taskq.model import Status
from tests.engine.world import QUICK, World, until

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def own_task() -> asyncio.Task[object]:
    """The task that carries the handler."""
    task = asyncio.current_task()
    assert task is not None
    return task


async def leave_pending() -> None:
    """Is cancelled at its very end."""
    own_task().cancel()


async def leave_pending_uncounted() -> None:
    """As a timeout of asyncio's does before Python 3.13, when it fires as its block ends."""
    own_task().cancel()
    own_task().uncancel()


async def swallow() -> None:
    """Is cancelled and goes on."""
    own_task().cancel()
    try:
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        return


async def neighbour() -> str:
    """Uses what counts cancels of its task."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0.001))
            await asyncio.sleep(0.002)
            group.create_task(failing())
            await asyncio.sleep(1)
    except* LookupError:
        pass
    assert own_task().cancelling() == 0
    return "fine"


async def failing() -> None:
    """Fails."""
    raise LookupError


@pytest.mark.parametrize("leave", [leave_pending, leave_pending_uncounted, swallow])
@pytest.mark.parametrize("claim_ahead", [0, 5])
async def test_a_cancel_that_a_handler_leaves_behind_does_not_reach_the_next(
    world: World, leave: object, claim_ahead: int
) -> None:
    """bug:B54."""
    world.on("leave", leave)  # type: ignore[arg-type]
    world.on("neighbour", neighbour)
    ids = []
    for _ in range(5):
        await world.submit("leave", max_retries=0)
        ids.append(await world.submit("neighbour", max_retries=0))
    async with world.running(world.engine(concurrency=1, claim_ahead=claim_ahead, **QUICK)):
        for id in ids:
            info = await world.ended(id)
            assert (info.status, info.result) == (Status.COMPLETED, '"fine"')


async def test_a_cancel_that_comes_while_its_slot_is_idle_costs_no_slot(world: World) -> None:
    """The carrier goes on, and is woken when there is something to do."""
    cancelled: list[asyncio.Task[object]] = []
    counts: list[int] = []
    together = asyncio.Barrier(2)

    async def leave() -> None:
        cancelled.append(own_task())

    async def meet() -> None:
        counts.append(own_task().cancelling())
        await together.wait()

    world.on("leave", leave)
    world.on("meet", meet)
    slow = {"poll_interval": 30.0, "poll_max": 30.0, "claim_ahead": 0}
    async with world.running(world.engine(concurrency=2, **slow)):
        await world.ended(await world.submit("leave"))
        await asyncio.sleep(0.05)
        cancelled[0].cancel()
        await asyncio.sleep(0.05)
        ids = await world.submit_many("meet", 2)
        for id in ids:
            assert (await world.ended(id, within=5)).status is Status.COMPLETED
    assert counts == [0, 0]
    assert len(world.seen(events.Started)) == 3


async def test_where_nothing_was_left_behind_nothing_waits() -> None:
    turns: list[int] = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    await drop_leftover_cancel()
    assert turns == []
    await until(lambda: turns == [1])
