"""The doorbell and the poster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import anyio
import pytest
import trio

from taskq.bridge import Doorbell, loop_poster

RINGS = 10_000


async def test_a_ring_from_a_thread_wakes_a_task() -> None:
    bell = Doorbell()
    thread = threading.Thread(target=bell.ring)
    async with anyio.create_task_group() as group:
        group.start_soon(bell.wait)
        await anyio.wait_all_tasks_blocked()
        thread.start()
    thread.join()


async def test_a_rung_bell_stays_rung_until_it_is_cleared() -> None:
    bell = Doorbell()
    bell.ring()
    with anyio.fail_after(10):
        await bell.wait()
        await bell.wait()
    assert bell.rung

    bell.clear()
    with anyio.move_on_after(0.01) as scope:
        await bell.wait()
    assert scope.cancelled_caught


async def test_waiting_on_a_rung_bell_is_a_checkpoint() -> None:
    bell = Doorbell()
    bell.ring()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await bell.wait()
    assert scope.cancelled_caught


async def test_a_waiter_is_woken_although_the_bell_is_cleared_before_it_runs() -> None:
    bell = Doorbell()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(bell.wait)
        await anyio.wait_all_tasks_blocked()
        bell.ring()
        bell.clear()


async def test_cancelled_waiters_leave_nothing_behind() -> None:
    bell = Doorbell()
    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(bell.wait)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert not bell._waiters


def test_a_thread_waits_as_long_as_it_says() -> None:
    bell = Doorbell()
    assert not bell.wait_sync(0)
    assert not bell.wait_sync(-1)
    assert not bell.wait_sync(0.01)
    assert not bell._waiters
    threading.Timer(0.01, bell.ring).start()
    assert bell.wait_sync(float("inf"))
    assert bell.wait_sync(None)


def test_a_waiter_whose_loop_is_gone_is_ignored() -> None:
    bell = Doorbell()

    async def leave_waiting() -> None:
        waiting = bell.wait()
        waiting.send(None)
        left.append(waiting)  # neither cancelled nor closed before its loop is

    left: list[object] = []
    asyncio.run(leave_waiting())
    assert bell._waiters
    bell.ring()
    assert not bell._waiters


class Listener:
    """Clears, looks, waits, until it has seen everything; a lost ring leaves it waiting."""

    def __init__(self, posted: list[int]) -> None:
        self.posted = posted
        self.bell = Doorbell()
        self.done = False

    def look(self) -> bool:
        self.bell.clear()
        self.done = len(self.posted) == RINGS
        return self.done

    async def watch(self) -> None:
        while not self.look():
            await self.bell.wait()

    def watch_sync(self) -> None:
        while not self.look() and self.bell.wait_sync(60):
            pass


async def watch_all(*listeners: Listener) -> None:
    with anyio.move_on_after(60):
        async with anyio.create_task_group() as group:
            for listener in listeners:
                group.start_soon(listener.watch)


def test_ten_thousand_rings_reach_waiters_on_two_loops_and_in_threads() -> None:
    posted: list[int] = []
    listeners = [Listener(posted) for _ in range(8)]
    threads = [
        threading.Thread(target=lambda: anyio.run(watch_all, *listeners[:2])),
        threading.Thread(target=lambda: anyio.run(watch_all, *listeners[2:4], backend="trio")),
        *(threading.Thread(target=listener.watch_sync) for listener in listeners[4:]),
    ]
    for thread in threads:
        thread.start()
    for number in range(RINGS):
        posted.append(number)
        for listener in listeners:
            listener.bell.ring()
    for thread in threads:
        thread.join(70)
    assert all(listener.done for listener in listeners)
    assert not any(listener.bell._waiters for listener in listeners)


async def test_a_poster_runs_callbacks_on_its_own_loop_in_order() -> None:
    post = loop_poster()
    home = threading.get_ident()
    ran: list[tuple[int, int]] = []
    done = anyio.Event()

    def send() -> None:
        for number in range(100):
            post(lambda number=number: ran.append((number, threading.get_ident())))
        post(done.set)

    thread = threading.Thread(target=send)
    thread.start()
    with anyio.fail_after(10):
        await done.wait()
    thread.join()
    assert ran == [(number, home) for number in range(100)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_poster_is_quiet_when_its_loop_is_gone(backend: str) -> None:
    async def make() -> Callable[[Callable[[], object]], None]:
        return loop_poster()

    post = anyio.run(make, backend=backend)
    post(lambda: pytest.fail("ran on a loop that is gone"))


def test_a_poster_needs_a_loop() -> None:
    with pytest.raises(RuntimeError):
        loop_poster()


def test_a_bell_rung_in_trio_wakes_an_asyncio_waiter() -> None:
    bell, waiting = Doorbell(), Doorbell()

    async def wait() -> None:
        waiting.ring()
        async with asyncio.timeout(10):
            await bell.wait()

    async def ring() -> None:
        with trio.fail_after(10):
            await waiting.wait()
        bell.ring()

    thread = threading.Thread(target=asyncio.run, args=(wait(),))
    thread.start()
    trio.run(ring)
    thread.join()
