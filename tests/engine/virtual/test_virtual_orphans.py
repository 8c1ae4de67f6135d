"""Children that an earlier run of their parent left behind."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

import anyio
import pytest

from taskq import events
from taskq.context import current
from taskq.errors import Snooze
from taskq.model import Policy, Status
from taskq.retry import RetryPolicy
from tests.engine.world import World

SOON = RetryPolicy(initial_delay=1.0, jitter=0.0)
Handler = Callable[[], Coroutine[Any, Any, None]]


def parent(world: World, made: list[UUID], end: Exception) -> Handler:
    """A handler that makes a child, ends badly once, and then lasts."""

    async def handler() -> None:
        context = current()
        made.append(
            await world.submit(
                "child", parent_id=context.id, root_id=context.root_id, depth=1, timeout=None
            )
        )
        if len(made) == 1:
            await anyio.sleep(0.5)
            raise end
        await anyio.sleep(5)

    return handler


@pytest.mark.parametrize("end", [ValueError("no"), Snooze(1.0)], ids=["failed", "snoozed"])
async def test_a_parent_that_runs_again_first_loses_the_children_of_its_run_before(
    world: World, end: Exception
) -> None:
    """design 7.10"""
    made: list[UUID] = []
    seen: list[Status] = []

    async def look() -> None:
        if made:
            seen.append((await world.info(made[0])).status)
        await parent(world, made, end)()

    world.on("parent", look)
    id = await world.submit("parent", policy=Policy(retry=SOON), delay=0.0)
    async with world.running(world.engine()):
        await world.ended(id, within=30)

    assert seen == [Status.CANCELLED]
    assert await world.statuses(made) == [Status.CANCELLED, Status.PENDING]


async def test_a_running_orphan_is_stopped(world: World) -> None:
    made: list[UUID] = []
    world.on("parent", parent(world, made, ValueError("no")))
    world.on("child", anyio.sleep_forever)
    id = await world.submit("parent", policy=Policy(retry=SOON))
    async with world.running(world.engine()):
        await world.ended(id, within=30)
        await world.ended(made[0])

        assert await world.statuses(made) == [Status.CANCELLED, Status.PROCESSING]
        await world.memory.cancel(made)


async def test_orphans_that_are_to_be_kept_are_kept(world: World) -> None:
    made: list[UUID] = []
    world.on("parent", parent(world, made, ValueError("no")))
    store = world.view()
    id = await world.submit("parent", policy=Policy(retry=SOON, orphans="keep"))
    async with world.running(world.engine(store)):
        await world.ended(id, within=30)

    assert await world.statuses(made) == [Status.PENDING, Status.PENDING]
    assert store.calls["cancel_children"] == 0


async def test_a_first_claim_asks_for_nothing(world: World) -> None:
    """The common case costs no call."""
    world.on("work", _nothing)
    store = world.view()
    ids = await world.submit_many("work", 20)
    async with world.running(world.engine(store)):
        for id in ids:
            await world.ended(id)

    assert store.calls["cancel_children"] == 0


async def test_a_whole_batch_is_asked_for_at_once(world: World) -> None:
    """One call, however many parents are claimed again."""
    runs: list[UUID] = []

    async def once_broken() -> None:
        runs.append(current().id)
        if runs.count(current().id) == 1:
            raise ValueError("once")

    world.on("work", once_broken)
    store = world.view()
    ids = await world.submit_many("work", 10, policy=Policy(retry=SOON))
    async with world.running(world.engine(store, concurrency=20)):
        for id in ids:
            await world.ended(id, within=30)

    assert store.calls["cancel_children"] == 1


async def test_what_cannot_be_rid_of_its_orphans_is_not_started(world: World) -> None:
    """It is given back, and claimed again when the store can do it."""
    made: list[UUID] = []
    world.on("parent", parent(world, made, ValueError("no")))
    store = world.view()
    store.fail("cancel_children", after=False, times=2)
    id = await world.submit("parent", policy=Policy(retry=SOON))
    async with world.running(world.engine(store)):
        await world.ended(id, within=60)

    assert store.calls["cancel_children"] == 3
    assert len(world.seen(events.Started)) == 2
    assert await world.statuses(made) == [Status.CANCELLED, Status.PENDING]
    assert len(world.seen(events.HandedBack)) == 2


async def _nothing() -> None:
    """Ends at once."""
