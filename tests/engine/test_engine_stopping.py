"""Stopping, on both event loops, from threads and from outside."""

from __future__ import annotations

import threading

import anyio
import pytest

from taskq import events
from taskq.bridge import ResidentBridge
from taskq.model import Status
from tests.engine.world import QUICK, World, until


async def noop() -> None:
    """Ends at once."""


async def sleeper() -> None:
    """Does not end."""
    await anyio.sleep(3600)


async def test_a_stop_before_run_means_that_nothing_is_run(world: World) -> None:
    """seed:E20."""
    world.on("noop", noop)
    id = await world.submit("noop")
    engine = world.engine()
    engine.stop()
    engine.stop()
    assert engine.stopping
    with anyio.fail_after(5):
        await engine.stop_requested()
        await engine.run()
    assert await world.status(id) is Status.PENDING
    assert world.events == []


async def test_two_stops_at_once_from_threads_are_one(world: World) -> None:
    """seed:E20."""
    world.on("noop", noop)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        threads = [threading.Thread(target=engine.stop) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(world.seen(events.WorkerStopping)) == 1
    assert len(world.seen(events.WorkerStopped)) == 1
    engine.stop()


@pytest.mark.parametrize("grace", [-1.0, float("nan"), float("inf")])
async def test_a_grace_that_is_none_is_refused(world: World, grace: float) -> None:
    world.on("noop", noop)
    engine = world.engine()
    with pytest.raises(ValueError, match="grace"):
        engine.stop(grace)
    assert not engine.stopping


async def test_running_handlers_are_cancelled_after_the_grace_and_go_back(world: World) -> None:
    """seed:Z4"""

    world.on("sleeper", sleeper)
    ids = await world.submit_many("sleeper", 5)
    engine = world.engine()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            await group.start(engine.run)
            await until(lambda: len(world.seen(events.Started)) == 5)
            engine.stop(0.05)
    assert set(await world.statuses(ids)) == {Status.PENDING}
    assert len(world.seen(events.Interrupted)) == 5


async def test_a_worker_with_a_storage_thread_stops_in_order_too(world: World) -> None:
    world.on("sleeper", sleeper)
    world.on("noop", noop)
    bridge = ResidentBridge()
    ids = await world.submit_many("sleeper", 5)
    engine = world.engine(bridge=bridge, **QUICK)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            await group.start(engine.run)
            await until(lambda: len(world.seen(events.Started)) == 5)
            assert (await world.ended(await world.submit("noop"))).status is Status.COMPLETED
            engine.stop(0.05)
    assert set(await world.statuses(ids)) == {Status.PENDING}
    assert await world.memory.workers() == []
    await bridge.aclose()


async def test_cancelling_the_host_leaves_nothing_claimed(world: World) -> None:
    world.on("sleeper", sleeper)
    ids = await world.submit_many("sleeper", 5)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            await group.start(world.engine().run)
            await until(lambda: len(world.seen(events.Started)) == 5)
            group.cancel_scope.cancel()
    assert set(await world.statuses(ids)) == {Status.PENDING}
    assert {info.crash_count for info in await world.everything()} == {0}
    assert await world.memory.workers() == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("everything", [False, True])
async def test_asyncio_cancelling_natively_is_a_stop_without_grace(
    world: World, everything: bool
) -> None:
    """As ``asyncio.run`` does at its end: every task is cancelled, once, past all scopes."""
    import asyncio

    world.on("sleeper", sleeper)
    ids = await world.submit_many("sleeper", 8)
    before = asyncio.all_tasks()
    run = asyncio.ensure_future(world.engine(concurrency=5, claim_ahead=3).run())
    await until(lambda: len(world.seen(events.Started)) == 5)
    for task in asyncio.all_tasks() - before if everything else {run}:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 10)

    assert set(await world.statuses(ids)) == {Status.PENDING}
    infos = await world.everything()
    assert {(info.crash_count, info.retry_count) for info in infos} == {(0, 0)}
    assert await world.memory.workers() == []
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_a_handler_makes_up_is_its_failure(world: World) -> None:
    """bug:B54: only that activity fails."""
    import asyncio

    async def make_up() -> None:
        raise asyncio.CancelledError

    async def cancel_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    world.on("make_up", make_up)
    world.on("cancel_itself", cancel_itself)
    world.on("noop", noop)
    async with world.running(world.engine(concurrency=1)):
        for type in ("make_up", "cancel_itself"):
            info = await world.ended(await world.submit(type, max_retries=0))
            assert info.status is Status.DEAD_LETTER
            assert info.error is not None and "CancelledError" in info.error.type
        assert (await world.ended(await world.submit("noop"))).status is Status.COMPLETED


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_a_handler_leaves_behind_does_not_end_its_slot(
    world: World,
) -> None:
    """Before Python 3.13 a timeout of asyncio's that fires as its block ends does this."""
    import asyncio

    async def leave_behind() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done"

    world.on("leave_behind", leave_behind)
    world.on("noop", noop)
    async with world.running(world.engine(concurrency=1)):
        for _ in range(3):
            info = await world.ended(await world.submit("leave_behind"))
            assert info.status is Status.COMPLETED
        assert (await world.ended(await world.submit("noop"))).status is Status.COMPLETED


async def test_a_listener_that_raises_against_its_contract_cannot_leave_activities_claimed(
    world: World,
) -> None:
    def emit(event: events.Event) -> None:
        if isinstance(event, events.WorkerStopping):
            raise RuntimeError("a bug")

    world.on("sleeper", sleeper)
    id = await world.submit("sleeper")
    engine = world.engine(emit=emit)
    with pytest.raises(ExceptionGroup) as caught:
        async with anyio.create_task_group() as group:
            await group.start(engine.run)
            await world.reaches(id, Status.PROCESSING)
            engine._stop_bell.ring()
    assert caught.group_contains(RuntimeError, match="a bug", depth=1)
    assert await world.status(id) is Status.PENDING
    assert await world.memory.workers() == []
