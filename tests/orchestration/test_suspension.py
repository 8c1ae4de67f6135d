"""A handler that waits for other activities keeps no slot meanwhile (design 7.10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from taskq import (
    ActivityCancelled,
    ActivityFuture,
    Status,
    TaskQ,
)
from taskq.task import AsyncTask
from tests.engine.world import until
from tests.orchestration.conftest import permits_are_whole

Gathering = Callable[[list[ActivityFuture[int]]], Awaitable[int]]


async def by_tasks(futures: list[ActivityFuture[int]]) -> int:
    """Wait for all in tasks of a group."""
    results: list[int] = []

    async def one(future: ActivityFuture[int]) -> None:
        results.append(await future)

    async with anyio.create_task_group() as group:
        for future in futures:
            group.start_soon(one, future)
    return sum(results)


async def by_asyncio(futures: list[ActivityFuture[int]]) -> int:
    """Wait for all by ``asyncio.gather``."""
    return sum(await asyncio.gather(*futures))


async def in_turn(futures: list[ActivityFuture[int]]) -> int:
    """Wait for one after the other."""
    return sum([await future for future in futures])


def parents(app: TaskQ, gathering: Gathering, children: int) -> AsyncTask[[], int]:
    """A task whose handler makes children and waits for all."""

    @app.activity
    async def child(value: int) -> int:
        await anyio.lowlevel.checkpoint()
        return value

    @app.activity
    async def parent() -> int:
        futures = [await child.adelay(value) for value in range(children)]
        return await gathering(futures)

    return parent


async def test_a_parent_gives_its_only_slot_to_its_child(stored: TaskQ) -> None:
    """seed:S7"""
    parent = parents(stored, in_turn, 1)

    async with stored.worker(concurrency=1) as worker:
        assert await (await parent.adelay()) == 0
        await permits_are_whole(worker)


async def test_a_recursion_needs_one_slot(app: TaskQ) -> None:
    """fault:C13"""

    @app.activity
    async def fib(n: int) -> int:
        if n < 2:
            return n
        one, other = await fib.adelay(n - 1), await fib.adelay(n - 2)
        return await one + await other

    async with app.worker(concurrency=1) as worker:
        assert await (await fib.adelay(8)) == 21
        await permits_are_whole(worker)


@pytest.mark.parametrize("gathering", [by_tasks, by_asyncio, in_turn])
async def test_any_number_of_waits_in_one_handler_is_one(
    app: TaskQ, gathering: Gathering, anyio_backend_name: str
) -> None:
    """seed:S14, D18: five handlers that wait for twenty each, on two slots."""
    if gathering is by_asyncio and anyio_backend_name != "asyncio":
        pytest.skip("asyncio.gather is asyncio's")
    parent = parents(app, gathering, 20)

    async with app.worker(concurrency=2) as worker:
        with anyio.fail_after(30):
            futures = [await parent.adelay() for _ in range(5)]
            assert [await future for future in futures] == [190] * 5
        await permits_are_whole(worker)


async def test_no_more_handlers_run_at_once_than_there_are_slots(app: TaskQ) -> None:
    """seed:S10"""
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.001)
        running -= 1

    @app.activity
    async def leaf() -> None:
        await work()

    @app.activity
    async def parent() -> None:
        await work()
        for _ in range(3):
            await (await leaf.adelay())
            await work()

    async with app.worker(concurrency=3) as worker:
        futures = [await parent.adelay() for _ in range(20)]
        for future in futures:
            await future
        await permits_are_whole(worker)
    assert most == 3


async def test_sync_parents_give_up_slot_and_thread(app: TaskQ) -> None:
    """Fifty parents in threads, two slots and one thread of a handler at a time."""

    @app.activity
    def child(value: int) -> int:
        return value

    @app.activity
    def parent() -> int:
        return sum(child.delay(value).result(timeout=30) for value in (1, 2))

    async with app.worker(concurrency=2, threads=1) as worker:
        futures = [await parent.adelay() for _ in range(50)]
        with anyio.fail_after(30):
            assert {await future for future in futures} == {3}
        await permits_are_whole(worker)


async def test_at_the_cap_only_children_are_begun(app: TaskQ) -> None:
    """seed:S16: a hundred roots, of which five at a time may wait, as health counts them."""
    most = 0

    @app.activity
    async def child(value: int) -> int:
        return value

    @app.activity
    async def root() -> int:
        return await (await child.adelay(1)) + await (await child.adelay(2))

    futures = [await root.adelay() for _ in range(100)]
    async with app.worker(concurrency=2, max_suspended=5) as worker:

        async def look() -> None:
            nonlocal most
            while True:
                most = max(most, worker.health().suspended)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(look)
            with anyio.fail_after(30):
                assert {await future for future in futures} == {3}
            group.cancel_scope.cancel()
        await permits_are_whole(worker)
    assert 0 < most < 10  # those that had begun when the fifth came to wait


async def test_at_the_cap_an_awaited_root_is_begun_when_nothing_else_can_be(app: TaskQ) -> None:
    """``as_root`` makes an activity that has no parent, and that may be awaited too."""

    @app.activity
    async def detached() -> int:
        return 7

    @app.activity
    async def parent() -> int:
        return await (await detached.options(as_root=True).adelay())

    async with app.worker(concurrency=1, max_suspended=1, poll_interval=0.05) as worker:
        futures = [await parent.adelay() for _ in range(3)]
        with anyio.fail_after(20):
            assert [await future for future in futures] == [7] * 3
        await permits_are_whole(worker)


async def test_a_limit_of_the_handlers_own_ends_its_wait_and_it_goes_on(app: TaskQ) -> None:
    @app.activity
    async def never() -> None:
        await anyio.sleep_forever()

    @app.activity
    async def impatient() -> str:
        future = await never.adelay()
        with anyio.move_on_after(0.05):
            await future
        await future.acancel()
        return "went on"

    async with app.worker(concurrency=1) as worker:
        with anyio.fail_after(10):
            # The child has the only slot when the parent wants it back.
            assert await (await impatient.options(timeout=30).adelay()) == "went on"
        await permits_are_whole(worker)


async def test_a_wait_of_the_handlers_own_task_may_end_before_those_beside_it(app: TaskQ) -> None:
    """Then it stands at the end of its task group, and no event loop tells."""

    @app.activity
    async def child(value: int) -> int:
        return value

    @app.activity
    async def parent() -> int:
        results: list[int] = []

        async def one(future: ActivityFuture[int]) -> None:
            results.append(await future)

        first, *others = await app.aenqueue([child.build(value) for value in range(4)])
        async with anyio.create_task_group() as group:
            for future in others:
                group.start_soon(one, future)
            results.append(await first)
        return sum(results)

    async with app.worker(concurrency=1) as worker:
        with anyio.fail_after(10):
            assert await (await parent.adelay()) == 6
        await permits_are_whole(worker)


async def test_a_wait_that_is_cancelled_as_it_returns_keeps_no_slot(app: TaskQ) -> None:
    """Its task ends; what the others wait for still has to run."""
    began = anyio.Event()

    @app.activity
    async def quick() -> None: ...

    @app.activity
    async def busy() -> None:
        began.set()
        await anyio.sleep(0.4)

    @app.activity
    async def parent() -> None:
        one, other, last = await quick.adelay(), await busy.adelay(), await busy.adelay()

        async def impatient() -> None:
            with anyio.CancelScope() as scope:
                group.start_soon(give_up, scope)
                await one

        async def give_up(scope: anyio.CancelScope) -> None:
            await began.wait()  # the only slot is taken when ``one`` comes back
            scope.cancel()

        async def patient() -> None:
            await other
            await last

        async with anyio.create_task_group() as group:
            group.start_soon(impatient)
            group.start_soon(patient)

    async with app.worker(concurrency=1) as worker:
        with anyio.fail_after(10):
            await (await parent.adelay())
        await permits_are_whole(worker)


async def test_a_cancelled_parent_that_waits_ends_cancelled(app: TaskQ) -> None:
    began = anyio.Event()

    @app.activity
    async def never() -> None:
        began.set()
        await anyio.sleep_forever()

    @app.activity
    async def parent() -> None:
        await (await never.adelay())

    async with app.worker(concurrency=1) as worker:
        future = await parent.adelay()
        await began.wait()
        await future.acancel()
        with pytest.raises(ActivityCancelled):
            await future
        assert worker.health().suspended == 0
        assert worker.health().slots_used == 1
        worker.stop(0)


async def test_a_worker_that_stops_puts_back_a_parent_that_waits(app: TaskQ) -> None:
    """promise:G14"""
    began = anyio.Event()

    @app.activity
    async def never() -> None:
        began.set()
        await anyio.sleep_forever()

    @app.activity
    async def parent() -> None:
        await (await never.adelay())

    async with app.worker(concurrency=1, shutdown_grace=0.05):
        future = await parent.adelay()
        await began.wait()

    info = await future.ainfo()
    assert (info.status, info.retry_count, info.crash_count) == (Status.PENDING, 0, 0)


async def test_with_suspension_off_a_parent_keeps_its_slot(app: TaskQ) -> None:
    """seed:S8, E12"""
    parent = parents(app, in_turn, 1)

    async with app.worker(concurrency=1, suspend_on_await=False) as worker:
        future = await parent.adelay()
        await until(lambda: worker.health().slots_used == 1)
        stats = await app.astats()
        assert stats.by_status[Status.COMPLETED] == 0
        assert worker.health().suspended == 0
        worker.stop(0)
    assert (await future.ainfo()).status is Status.PENDING


async def test_a_burst_ends_when_the_parents_have(app: TaskQ) -> None:
    parent = parents(app, by_tasks, 5)
    futures = [await parent.adelay() for _ in range(3)]

    with anyio.fail_after(10):
        await app.run_worker(burst=True, concurrency=1)

    assert {(await future.ainfo()).status for future in futures} == {Status.COMPLETED}


async def test_an_isolated_parent_has_its_slot_to_itself_again(app: TaskQ) -> None:
    """promise:G8: with ``max_crashes=1`` its next crash is its last."""
    beside: list[int] = []
    running = 0

    @app.activity
    async def other() -> None:
        nonlocal running
        running += 1
        await anyio.sleep(0.005)
        running -= 1

    @app.activity(max_crashes=1)
    async def careful() -> None:
        for _ in range(3):
            await (await other.adelay())
            beside.append(running)
            await anyio.sleep(0.01)
            beside.append(running)

    async with app.worker(concurrency=4) as worker:
        await app.aenqueue([other.build() for _ in range(50)])
        future = await careful.adelay()
        await app.aenqueue([other.build() for _ in range(50)])
        with anyio.fail_after(30):
            await future
        await until(lambda: worker.health().slots_used == 0)
    assert beside == [0] * 6
