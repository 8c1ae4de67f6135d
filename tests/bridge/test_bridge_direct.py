"""The direct bridge."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest
import trio
from trio.testing import MockClock

from taskq.bridge import DirectBridge


async def where() -> int:
    return threading.get_ident()


async def add(left: int, right: int) -> int:
    return left + right


async def suspend() -> None:
    await anyio.lowlevel.checkpoint()


async def divide_by_zero() -> float:
    return 1 / 0


async def test_a_call_runs_on_the_callers_own_loop() -> None:
    assert await DirectBridge().call(where) == threading.get_ident()


async def test_a_call_may_suspend() -> None:
    await DirectBridge().call(suspend)


def test_a_blocking_call_runs_the_function_to_its_end() -> None:
    assert DirectBridge().call_sync(add, 1, 2) == 3


async def test_a_blocking_call_works_beside_a_running_loop() -> None:
    assert DirectBridge().call_sync(add, 1, 2) == 3


def test_a_blocking_call_refuses_a_function_that_suspends_and_names_it() -> None:
    async def pause() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="pause suspended"):
        DirectBridge().call_sync(pause)


def test_exceptions_arrive() -> None:
    with pytest.raises(ZeroDivisionError):
        DirectBridge().call_sync(divide_by_zero)
    with pytest.raises(ZeroDivisionError):
        DirectBridge().spawn(divide_by_zero)


def test_spawn_runs_the_function_at_once() -> None:
    ran: list[int] = []

    async def note(number: int) -> None:
        ran.append(number)

    DirectBridge().spawn(note, 7)
    assert ran == [7]


async def test_closing_changes_nothing() -> None:
    bridge = DirectBridge()
    bridge.close()
    await bridge.aclose()
    assert await bridge.call(add, 1, 2) == 3


def test_under_a_virtual_clock_an_hour_passes_at_once_and_no_deadline_fires() -> None:
    bridge = DirectBridge()

    async def an_hour() -> float:
        await trio.sleep(3600)
        return trio.current_time()

    async def main() -> float:
        began = trio.current_time()
        ended = await bridge.call(an_hour, deadline=1.0)
        bridge.call_sync(add, 1, 2)
        return ended - began

    assert trio.run(main, clock=MockClock(autojump_threshold=0)) == pytest.approx(3600)
