"""Waits of a handler in its threads, and in event loops of its own (design 7.10)."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from taskq import (
    ActivityCancelled,
    ActivityFailed,
    AttemptStopped,
    ResultTimeout,
    TaskQ,
    current,
)
from tests.orchestration.conftest import permits_are_whole


async def test_a_loop_of_the_handlers_own_gives_the_slot_up_too(app: TaskQ) -> None:
    @app.activity
    async def child() -> int:
        return 7

    @app.activity
    def parent() -> int:
        async def wait() -> int:
            return await (await child.adelay())

        return anyio.run(wait, backend="asyncio")

    async with app.worker(concurrency=1) as worker:
        assert await (await parent.adelay()) == 7
        await permits_are_whole(worker)


async def test_a_sync_handlers_limit_ends_its_wait_though_every_slot_is_taken(app: TaskQ) -> None:
    """promise:G13: it waits a second for a slot at the most."""

    @app.activity
    async def never() -> None:
        await anyio.sleep_forever()

    @app.activity
    def blocking() -> str:
        future = never.delay()
        try:
            future.result(timeout=0.1)
        except ResultTimeout:
            future.cancel()
        return "went on"

    @app.activity
    def own_loop() -> str:
        async def wait() -> str:
            future = await never.adelay()
            with anyio.move_on_after(0.1):
                await future
            await future.acancel()
            return "went on"

        return anyio.run(wait, backend="asyncio")

    async with app.worker(concurrency=1) as worker:
        for task in (blocking, own_loop):
            with anyio.fail_after(10):
                assert await (await task.adelay()) == "went on"
        await permits_are_whole(worker)


async def gather_in_own_loop(app: TaskQ) -> int:
    futures = await app.aenqueue([app.tasks["child"].build(value) for value in range(4)])
    return sum(await asyncio.gather(*futures))


def in_two_threads(app: TaskQ) -> int:
    futures = app.enqueue([app.tasks["child"].build(value) for value in range(2)])
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(copy_context().run, future.result) for future in futures]
        return sum(job.result() for job in jobs)


@pytest.mark.parametrize("shape", ["own loop", "threads"])
async def test_several_waits_elsewhere_are_one_too(app: TaskQ, shape: str) -> None:
    """In a loop of the handler's own, or in threads of its own, with one slot."""

    @app.activity
    async def child(value: int) -> int:
        return value

    @app.activity
    def parent() -> int:
        if shape == "threads":
            return in_two_threads(app)
        return asyncio.run(gather_in_own_loop(app))

    async with app.worker(concurrency=1) as worker:
        with anyio.fail_after(15):
            assert await (await parent.adelay()) == (1 if shape == "threads" else 6)
        await permits_are_whole(worker)


async def test_result_in_an_async_handler_says_to_await(app: TaskQ) -> None:
    """It would block the very loop that is to give the result."""

    @app.activity
    async def child() -> None: ...

    @app.activity(max_retries=0)
    async def parent() -> None:
        (await child.adelay()).result(timeout=5)

    async with app.worker(concurrency=2) as worker:
        with anyio.fail_after(10), pytest.raises(ActivityFailed) as caught:
            await (await parent.adelay())
        await permits_are_whole(worker)
    assert "await it" in caught.value.error.message


async def test_a_wait_in_a_loop_of_the_handlers_own_hears_a_cancel(app: TaskQ) -> None:
    began, told = threading.Event(), threading.Event()

    @app.activity
    async def never() -> None:
        began.set()
        await anyio.sleep_forever()

    @app.activity
    def parent() -> None:
        async def wait() -> None:
            future = await never.adelay()
            try:
                await future
            except AttemptStopped:
                told.set()
                raise

        asyncio.run(wait())

    async with app.worker(concurrency=1) as worker:
        future = await parent.adelay()
        await anyio.to_thread.run_sync(partial(began.wait, 10))
        await future.acancel()
        with anyio.fail_after(5), pytest.raises(ActivityCancelled):
            await future
        assert told.is_set()
        worker.stop(0)


async def test_calls_and_waits_go_through_asyncio_to_thread(
    app: TaskQ, anyio_backend_name: str
) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("asyncio.to_thread is asyncio's")

    @app.activity
    async def child() -> int:
        return 7

    @app.activity
    async def parent() -> int:
        future = await asyncio.to_thread(child.delay)
        return await asyncio.to_thread(future.result, 10)

    async with app.worker(concurrency=1) as worker:
        with anyio.fail_after(10):
            assert await (await parent.adelay()) == 7
        await permits_are_whole(worker)


async def test_what_was_told_to_stop_waits_for_no_thread(app: TaskQ) -> None:
    """promise:G13"""
    began, go = threading.Event(), threading.Event()

    @app.activity
    def busy() -> None:
        began.set()
        go.wait(20)

    @app.activity
    def parent() -> None:
        busy.delay().result()

    async with app.worker(concurrency=2, threads=1) as worker:
        future = await parent.adelay()
        await anyio.to_thread.run_sync(partial(began.wait, 10))
        await future.acancel()
        with anyio.fail_after(3), pytest.raises(ActivityCancelled):
            await future
        go.set()
        await permits_are_whole(worker)


async def test_a_sync_parent_that_was_cancelled_waits_no_longer(app: TaskQ) -> None:
    began, told = threading.Event(), threading.Event()

    @app.activity
    async def never() -> None:
        began.set()
        await anyio.sleep_forever()

    @app.activity
    def parent() -> None:
        try:
            never.delay().result()
        finally:
            if current().cancelled:
                told.set()

    async with app.worker(concurrency=1) as worker:
        future = await parent.adelay()
        await anyio.to_thread.run_sync(partial(began.wait, 10))
        await future.acancel()
        with anyio.fail_after(10), pytest.raises(ActivityCancelled):
            await future
        assert told.is_set()
        worker.stop(0)
