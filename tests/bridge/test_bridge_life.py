"""How the storage thread ends, dies and comes back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

import taskq.bridge.resident as resident
from taskq.bridge import Doorbell, ResidentBridge
from taskq.errors import BackendUnavailable

Until = Callable[[Callable[[], bool]], Awaitable[None]]


async def add(left: int, right: int) -> int:
    return left + right


async def home() -> threading.Thread:
    return threading.current_thread()


async def never() -> None:
    await asyncio.Event().wait()


class Work:
    """A function beside the store that ends when released."""

    def __init__(self) -> None:
        self.began = Doorbell()
        self.released = Doorbell()
        self.finished = False

    async def run(self) -> str:
        self.began.ring()
        await self.released.wait()
        self.finished = True
        return "finished"


def test_close_ends_the_thread_and_the_next_call_starts_anew(bridge: ResidentBridge) -> None:
    first = bridge.call_sync(home)
    bridge.close()
    assert not first.is_alive()

    second = bridge.call_sync(home)
    assert second is not first and second.is_alive()


def test_close_is_idempotent_and_needs_no_start(bridge: ResidentBridge) -> None:
    bridge.close()
    bridge.call_sync(add, 1, 1)
    bridge.close()
    bridge.close()


async def test_aclose_ends_the_thread_without_blocking_the_loop(bridge: ResidentBridge) -> None:
    work = Work()
    results: list[str] = []

    async def caller() -> None:
        results.append(await bridge.call(work.run))

    async def closer() -> None:
        await bridge.aclose()
        assert not thread.is_alive()
        assert work.finished

    thread = await bridge.call(home)
    async with anyio.create_task_group() as group:
        group.start_soon(caller)
        await work.began.wait()
        group.start_soon(closer)
        await anyio.wait_all_tasks_blocked()
        work.released.ring()
    assert results == ["finished"]
    await bridge.aclose()


async def test_a_cancelled_aclose_lets_the_closing_go_on(
    bridge: ResidentBridge, until: Until
) -> None:
    thread = await bridge.call(home)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await bridge.aclose()
    await until(lambda: not thread.is_alive())


def test_close_lets_running_calls_end_within_the_grace(bridge: ResidentBridge) -> None:
    work = Work()
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(bridge.call_sync, work.run)
        assert work.began.wait_sync(10)
        closing = pool.submit(bridge.close, 10)
        work.released.ring()
        assert running.result(10) == "finished"
        closing.result(10)


async def test_close_cancels_what_runs_on_after_the_grace(bridge: ResidentBridge) -> None:
    work = Work()

    async def caller() -> None:
        with pytest.raises(BackendUnavailable, match="closed meanwhile"):
            await bridge.call(work.run)

    async with anyio.create_task_group() as group:
        group.start_soon(caller)
        await work.began.wait()
        bridge.close(grace=0.01)


def test_close_also_ends_tasks_that_a_function_left_behind(bridge: ResidentBridge) -> None:
    ended = Doorbell()
    kept: list[asyncio.Task[None]] = []

    async def linger() -> None:
        try:
            await never()
        finally:
            ended.ring()

    async def leave_behind() -> None:
        kept.append(asyncio.create_task(linger()))
        await asyncio.sleep(0)

    bridge.call_sync(leave_behind)
    bridge.close(grace=0)
    assert ended.rung


def test_close_beside_the_store_ends_the_thread_after_the_caller(bridge: ResidentBridge) -> None:
    async def close() -> threading.Thread:
        bridge.close()
        assert await bridge.call(home) is threading.current_thread()
        await bridge.aclose()
        return threading.current_thread()

    thread = bridge.call_sync(close)
    thread.join(10)
    assert not thread.is_alive()


def test_while_closing_the_store_may_still_spawn_its_last_words(bridge: ResidentBridge) -> None:
    words: list[threading.Thread] = []

    async def last_words() -> None:
        words.append(threading.current_thread())

    async def close() -> threading.Thread:
        bridge.close()
        bridge.spawn(last_words)
        return threading.current_thread()

    thread = bridge.call_sync(close)
    thread.join(10)
    assert words == [thread]


def test_calls_during_a_close_start_anew(bridge: ResidentBridge) -> None:
    work = Work()
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(bridge.call_sync, work.run)
        assert work.began.wait_sync(10)
        first = bridge.call_sync(home)
        closing = pool.submit(bridge.close, 10)
        while bridge.call_sync(home) is first:
            time.sleep(0)
        work.released.ring()
        assert running.result(10) == "finished"
        closing.result(10)


def test_close_and_calls_in_a_race_never_hang(bridge: ResidentBridge) -> None:
    def call(number: int) -> None:
        for _ in range(50):
            try:
                assert bridge.call_sync(add, number, 1, deadline=10) == number + 1
            except BackendUnavailable as error:
                assert "closed meanwhile" in str(error)

    def close() -> None:
        for _ in range(50):
            bridge.close(grace=0)

    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(call, number) for number in range(4)]
        futures += [pool.submit(close) for _ in range(2)]
        for future in futures:
            future.result(30)


def test_close_does_not_wait_for_a_stuck_thread_and_releases_its_callers(
    bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "END_PATIENCE", 0.05)
    began, stuck = Doorbell(), threading.Event()

    async def block() -> None:
        began.ring()
        stuck.wait(30)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(bridge.call_sync, block, deadline=10)
        assert began.wait_sync(10)
        bridge.close(grace=0)
        with pytest.raises(BackendUnavailable, match="ended before"):
            running.result(10)
        assert bridge.call_sync(add, 1, 1) == 2
        stuck.set()


def test_a_task_that_refuses_to_end_does_not_hold_up_the_close(
    bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("taskq.bridge.storage.CANCEL_PATIENCE", 0.05)
    began, released = Doorbell(), asyncio.Event()

    async def refuse() -> None:
        began.ring()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(bridge.call_sync, refuse, deadline=10)
        assert began.wait_sync(10)
        bridge.close(grace=0)
        with pytest.raises(BackendUnavailable, match="ended before"):
            running.result(10)


async def stop_the_loop() -> None:
    asyncio.get_running_loop().stop()
    await never()


async def leave_the_interpreter() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize("accident", [stop_the_loop, leave_the_interpreter])
async def test_a_dead_storage_thread_fails_running_calls_and_the_next_call_restarts_it(
    bridge: ResidentBridge,
    accident: Callable[[], Awaitable[None]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """fault:J9: bridge thread death."""
    work = Work()

    async def caller() -> None:
        with pytest.raises(BackendUnavailable, match="ended before") as caught:
            await bridge.call(work.run, deadline=10)
        assert caught.value.__cause__ is not None

    first = await bridge.call(home)
    async with anyio.create_task_group() as group:
        group.start_soon(caller)
        await work.began.wait()
        bridge.spawn(accident)
    assert await bridge.call(home) is not first
    assert "the storage thread ended by accident" in caplog.text


def test_a_thread_that_cannot_start_is_the_stores_unavailability(
    bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(BackendUnavailable, match="could not start"):
        bridge.call_sync(add, 1, 1)
    monkeypatch.undo()
    assert bridge.call_sync(add, 1, 1) == 2
