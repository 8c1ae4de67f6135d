"""Calls through the resident bridge, from both loops and from threads."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.to_thread
import pytest

import taskq.bridge.resident as resident
from taskq.bridge import Doorbell, ResidentBridge
from taskq.errors import BackendUnavailable

Until = Callable[[Callable[[], bool]], Awaitable[None]]
UntilSync = Callable[[Callable[[], bool]], None]

word: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="none")


async def add(left: int, right: int) -> int:
    await asyncio.sleep(0)
    return left + right


async def where() -> int:
    return threading.get_ident()


async def divide_by_zero() -> float:
    return 1 / 0


async def never() -> None:
    await asyncio.Event().wait()


async def test_a_call_returns_the_value_of_a_function_run_on_another_thread(
    bridge: ResidentBridge,
) -> None:
    """bug:B171: drivers that know asyncio only are used from trio all the same."""
    assert await bridge.call(add, 1, 2) == 3
    assert await bridge.call(where) != threading.get_ident()


def test_a_thread_calls_too(bridge: ResidentBridge) -> None:
    assert bridge.call_sync(add, 1, 2) == 3
    assert bridge.call_sync(where) != threading.get_ident()


async def test_a_thread_with_a_running_loop_may_call_and_blocks(bridge: ResidentBridge) -> None:
    assert bridge.call_sync(add, 1, 2) == 3


def test_fifty_threads_at_the_first_start_share_one_storage_thread(bridge: ResidentBridge) -> None:
    gate = threading.Barrier(50)

    def enter() -> int:
        gate.wait(10)
        return bridge.call_sync(where)

    with ThreadPoolExecutor(50) as pool:
        homes = {future.result(10) for future in [pool.submit(enter) for _ in range(50)]}
    assert len(homes) == 1


async def test_many_calls_at_once_each_get_their_own_value(bridge: ResidentBridge) -> None:
    values: dict[int, int] = {}

    async def one(number: int) -> None:
        values[number] = await bridge.call(add, number, number)

    async with anyio.create_task_group() as group:
        for number in range(500):
            group.start_soon(one, number)
    assert values == {number: 2 * number for number in range(500)}


async def test_an_exception_arrives_with_its_traceback(bridge: ResidentBridge) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        await bridge.call(divide_by_zero)
    assert "divide_by_zero" in [frame.name for frame in traceback.extract_tb(caught.tb)]


def test_an_exception_arrives_in_a_thread_with_its_traceback(bridge: ResidentBridge) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        bridge.call_sync(divide_by_zero)
    assert "divide_by_zero" in [frame.name for frame in traceback.extract_tb(caught.tb)]


async def test_a_wrong_call_is_the_callers_error(bridge: ResidentBridge) -> None:
    with pytest.raises(TypeError, match="add"):
        await bridge.call(add, 1)


async def test_the_function_sees_the_callers_context(bridge: ResidentBridge) -> None:
    async def read() -> str:
        return word.get()

    word.set("caller")
    assert await bridge.call(read) == "caller"


async def test_the_function_may_use_anyio_whatever_loop_the_caller_runs_on(
    bridge: ResidentBridge,
) -> None:
    async def threads() -> set[int]:
        return {await anyio.to_thread.run_sync(threading.get_ident) for _ in range(5)}

    first = await bridge.call(threads)
    assert await bridge.call(threads) == first, "worker threads are kept between calls"


async def test_a_call_made_beside_the_store_runs_there(bridge: ResidentBridge) -> None:
    async def nested() -> tuple[int, int]:
        return threading.get_ident(), await bridge.call(where)

    outer, inner = await bridge.call(nested)
    assert outer == inner


def test_a_blocking_call_beside_the_store_is_refused(bridge: ResidentBridge) -> None:
    async def nested() -> int:
        return bridge.call_sync(where)

    with pytest.raises(RuntimeError, match="would wait for itself"):
        bridge.call_sync(nested)


async def test_a_call_in_a_cancelled_scope_is_never_begun(bridge: ResidentBridge) -> None:
    ran: list[bool] = []

    async def note() -> None:
        ran.append(True)

    with anyio.CancelScope() as scope:
        scope.cancel()
        await bridge.call(note)
    assert scope.cancelled_caught
    assert await bridge.call(add, 1, 1) == 2
    assert not ran


class Patient:
    """A function beside the store that counts its cancellations and ends only when released."""

    def __init__(self, error: Exception | None = None) -> None:
        self.began = Doorbell()
        self.cancelled = Doorbell()
        self.released = Doorbell()
        self.cancellations = 0
        self.ended = False
        self.error = error

    async def run(self) -> str:
        self.began.ring()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancellations += 1
            self.cancelled.ring()
        while not self.released.rung:
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.cancellations += 1
        self.ended = True
        if self.error is not None:
            raise self.error
        return "done in spite of it"


async def test_a_cancelled_caller_cancels_the_function_once_and_awaits_its_real_end(
    bridge: ResidentBridge,
) -> None:
    """fault:J9: nothing is left half done by a cancelled caller."""
    patient = Patient()
    returned: list[bool] = []

    async def caller() -> None:
        try:
            await bridge.call(patient.run)
        finally:
            returned.append(patient.ended)

    async with anyio.create_task_group() as group:
        group.start_soon(caller)
        await patient.began.wait()
        group.cancel_scope.cancel()
        with anyio.fail_after(10, shield=True):
            await patient.cancelled.wait()
            for _ in range(20):
                await bridge.call(add, 1, 1)
            assert not returned, "the caller came back before the function had ended"
            patient.released.ring()
    assert returned == [True]
    assert patient.cancellations == 1


async def test_a_function_that_finishes_in_spite_of_cancel_does_not_stop_the_cancellation(
    bridge: ResidentBridge,
) -> None:
    patient = Patient()
    patient.released.ring()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await patient.began.wait()
                scope.cancel()

            group.start_soon(cancel)
            await bridge.call(patient.run)
            pytest.fail("the cancellation was lost")
    assert scope.cancelled_caught
    assert patient.ended


async def test_a_close_after_the_callers_cancellation_does_not_cancel_again(
    bridge: ResidentBridge,
) -> None:
    patient = Patient()
    async with anyio.create_task_group() as group:
        group.start_soon(bridge.call, patient.run)
        await patient.began.wait()
        group.cancel_scope.cancel()
        with anyio.fail_after(10, shield=True):
            await patient.cancelled.wait()
            async with anyio.create_task_group() as closing:
                closing.start_soon(bridge.aclose, 0)
                await anyio.wait_all_tasks_blocked()
                patient.released.ring()
    assert (patient.ended, patient.cancellations) == (True, 1)


async def test_an_error_after_the_callers_cancellation_is_reported_not_lost(
    bridge: ResidentBridge, caplog: pytest.LogCaptureFixture, until: Until
) -> None:
    patient = Patient(error=ValueError("could not roll back"))
    patient.released.ring()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(bridge.call, patient.run)
            await patient.began.wait()
            scope.cancel()
    await until(lambda: bool(caplog.records))
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("asyncio", logging.ERROR)
    assert record.exc_info is not None and record.exc_info[1] is patient.error


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_second_native_cancel_does_not_cut_the_wait_short(bridge: ResidentBridge) -> None:
    patient = Patient()
    task = asyncio.create_task(bridge.call(patient.run))
    await patient.began.wait()
    task.cancel()
    await patient.cancelled.wait()
    task.cancel()
    for _ in range(20):
        await bridge.call(add, 1, 1)
    assert not task.done()

    patient.released.ring()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (patient.ended, patient.cancellations) == (True, 1)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_native_timeout_becomes_a_timeout_error(bridge: ResidentBridge) -> None:
    """bug:B169: native asyncio scopes around a call have their usual outcome."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await bridge.call(never)
    assert await bridge.call(add, 1, 1) == 2


async def test_a_call_closed_from_outside_stops_its_function(
    bridge: ResidentBridge, until: Until
) -> None:
    patient = Patient()
    patient.released.ring()
    call = bridge.call(patient.run, deadline=None)
    call.send(None)
    await patient.began.wait()
    call.close()
    await until(lambda: patient.ended)
    assert patient.cancellations == 1


async def test_past_its_deadline_a_call_fails_and_its_function_is_stopped(
    bridge: ResidentBridge, until: Until
) -> None:
    patient = Patient()

    async def run() -> None:
        try:
            await never()
        finally:
            patient.ended = True

    with pytest.raises(BackendUnavailable, match=r"did not answer within 0\.05 s"):
        await bridge.call(run, deadline=0.05)
    assert patient.ended


def test_past_its_deadline_a_blocking_call_fails_and_its_function_is_stopped(
    bridge: ResidentBridge,
) -> None:
    ended = Doorbell()

    async def run() -> None:
        try:
            await never()
        finally:
            ended.ring()

    with pytest.raises(BackendUnavailable, match=r"did not answer within 0\.05 s"):
        bridge.call_sync(run, deadline=0.05)
    assert ended.rung


async def test_a_value_that_comes_in_spite_of_the_deadline_is_kept(bridge: ResidentBridge) -> None:
    patient = Patient()
    patient.released.ring()
    assert await bridge.call(patient.run, deadline=0.05) == "done in spite of it"
    assert patient.cancellations == 1


async def test_an_error_caused_by_the_deadline_is_kept_as_the_cause(
    bridge: ResidentBridge,
) -> None:
    patient = Patient(error=ValueError("interrupted"))
    patient.released.ring()
    with pytest.raises(BackendUnavailable) as caught:
        await bridge.call(patient.run, deadline=0.05)
    assert caught.value.__cause__ is patient.error


async def test_the_deadline_holds_when_the_storage_thread_is_stuck(
    bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "STOP_PATIENCE", 0.05)
    stuck = threading.Event()

    async def block() -> None:
        stuck.wait(30)

    bridge.spawn(block)
    with pytest.raises(BackendUnavailable):
        await bridge.call(add, 1, 1, deadline=0.05)
    with pytest.raises(BackendUnavailable):
        bridge.call_sync(add, 1, 1, deadline=0.05)
    stuck.set()
    assert await bridge.call(add, 1, 1) == 2


async def test_without_a_deadline_a_call_waits(bridge: ResidentBridge) -> None:
    patient = Patient()

    async def slow() -> str:
        await patient.released.wait()
        return "late"

    async with anyio.create_task_group() as group:

        async def release() -> None:
            await anyio.sleep(0.05)
            patient.released.ring()

        group.start_soon(release)
        assert await bridge.call(slow, deadline=None) == "late"


def test_an_interrupted_blocking_call_stops_its_function(
    bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = Patient()
    patient.released.ring()
    waits: list[float | None] = []
    wait_sync = Doorbell.wait_sync

    def interrupted(self: Doorbell, timeout: float | None) -> bool:
        waits.append(timeout)
        if len(waits) == 1:
            assert wait_sync(patient.began, 10)
            raise KeyboardInterrupt
        return wait_sync(self, timeout)

    monkeypatch.setattr(Doorbell, "wait_sync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bridge.call_sync(patient.run)
    assert (patient.ended, patient.cancellations) == (True, 1)


async def test_spawn_does_not_wait(bridge: ResidentBridge) -> None:
    patient = Patient()
    bridge.spawn(patient.run)
    await patient.began.wait()
    assert not patient.ended
    patient.released.ring()


def test_what_a_spawned_function_raises_goes_to_the_loops_exception_handler(
    bridge: ResidentBridge, caplog: pytest.LogCaptureFixture, until_sync: UntilSync
) -> None:
    bridge.spawn(divide_by_zero)
    until_sync(lambda: bool(caplog.records))
    (record,) = caplog.records
    assert record.name == "asyncio"
    assert record.exc_info is not None and record.exc_info[0] is ZeroDivisionError


async def test_a_function_beside_the_store_may_spawn(bridge: ResidentBridge) -> None:
    patient = Patient()

    async def start() -> None:
        bridge.spawn(patient.run)

    await bridge.call(start)
    await patient.began.wait()
    patient.released.ring()
