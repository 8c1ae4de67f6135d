"""Blocking functions in worker threads."""

from __future__ import annotations

import contextvars
import random
import threading
from collections.abc import Awaitable, Callable

import anyio
import pytest

from taskq.bridge import Doorbell, run_in_thread

Until = Callable[[Callable[[], bool]], Awaitable[None]]

word: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="none")


class Ends:
    """Counts ``on_end`` and notes the thread it was called in."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def __call__(self) -> None:
        self.threads.append(threading.get_ident())


async def test_the_value_comes_back_and_the_end_is_told_on_the_callers_loop(until: Until) -> None:
    ends = Ends()
    assert await run_in_thread(threading.get_ident, on_end=ends) != threading.get_ident()
    await until(lambda: bool(ends.threads))
    assert ends.threads == [threading.get_ident()]


async def test_an_exception_comes_back_and_the_end_is_told(until: Until) -> None:
    ends = Ends()
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 / 0, on_end=ends)
    await until(lambda: bool(ends.threads))
    assert len(ends.threads) == 1


async def test_the_function_sees_a_copy_of_the_callers_context() -> None:
    def change() -> str:
        seen = word.get()
        word.set("thread")
        return seen

    word.set("caller")
    assert await run_in_thread(change, on_end=lambda: None) == "caller"
    assert word.get() == "caller"


async def test_a_cancelled_caller_returns_at_once_and_the_end_is_told_when_it_comes(
    until: Until,
) -> None:
    ends, began, release = Ends(), Doorbell(), threading.Event()

    def work() -> None:
        began.ring()
        release.wait(30)

    async with anyio.create_task_group() as group:

        async def run() -> None:
            await run_in_thread(work, on_end=ends)

        group.start_soon(run)
        await began.wait()
        group.cancel_scope.cancel()
    assert not release.is_set()
    assert not ends.threads

    release.set()
    await until(lambda: bool(ends.threads))
    assert ends.threads == [threading.get_ident()]


async def test_the_end_is_told_when_the_function_never_began(until: Until) -> None:
    ends = Ends()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run_in_thread(lambda: pytest.fail("it began"), on_end=ends)
    assert scope.cancelled_caught
    await until(lambda: bool(ends.threads))
    assert ends.threads == [threading.get_ident()]


async def test_cancelled_at_any_instant_the_end_is_told_exactly_once(until: Until) -> None:
    ends = [Ends() for _ in range(300)]

    async def run(end: Ends) -> None:
        await run_in_thread(lambda: None, on_end=end)

    for end in ends:
        async with anyio.create_task_group() as group:
            group.start_soon(run, end)
            for _ in range(random.randrange(4)):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    await until(lambda: all(end.threads for end in ends))
    await run_in_thread(lambda: None, on_end=lambda: None)
    assert all(end.threads == [threading.get_ident()] for end in ends)


async def test_more_functions_run_at_once_than_the_default_limiter_allows() -> None:
    meeting = threading.Barrier(60)

    async def meet() -> None:
        await run_in_thread(lambda: meeting.wait(20), on_end=lambda: None)

    async with anyio.create_task_group() as group:
        for _ in range(60):
            group.start_soon(meet)


async def test_threads_are_reused() -> None:
    threads = {await run_in_thread(threading.get_ident, on_end=lambda: None) for _ in range(50)}
    assert len(threads) <= 3
