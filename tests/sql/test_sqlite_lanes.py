"""The writer's and the reader's thread: whole transactions, whatever becomes of the caller."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.bridge.lane import Lane
from taskq.model import Status
from taskq.testing.conformance.samples import call


def test_a_write_that_has_begun_ends_although_its_caller_is_cancelled(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection
) -> None:
    """fault:DB11: the writer waits for a lock when the cancellation comes."""
    begun = [call() for _ in range(50)]
    waiting = [call()]
    foreign.execute("BEGIN IMMEDIATE")

    async def cancel_both() -> None:
        first = asyncio.create_task(backend.submit(begun))
        second = asyncio.create_task(backend.submit(waiting))
        await asyncio.sleep(0.05)
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)

    bridge.call_sync(cancel_both)
    foreign.execute("ROLLBACK")

    held = bridge.call_sync(backend.held, call().id)
    found = bridge.call_sync(backend.get, [each.id for each in begun + waiting])
    assert held == []
    assert set(found) == {each.id for each in begun}


AT_EXIT = """
import atexit, sys
from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.testing.conformance.samples import call

bridge = ResidentBridge()
backend = SQLiteBackend(sys.argv[1])
bridge.call_sync(backend.open)
atexit.register(lambda: bridge.call_sync(backend.submit, [call()]))
"""


def test_a_call_while_the_interpreter_exits_is_stored(path: Path, backend: SQLiteBackend) -> None:
    """Executors of the standard library refuse that: their threads are joined before atexit."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", AT_EXIT, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT status FROM taskq_activities").fetchall() == [
            (Status.PENDING.value,)
        ]
    connection.close()


CLOSES_UNDER_LOAD = """
import sys, threading
from taskq import TaskQ

taskq = TaskQ("sqlite:///" + sys.argv[1])

@taskq.activity
def work(number: int) -> None: ...

stored, stop = [], threading.Event()

def run() -> None:
    while not stop.is_set():
        stored.append(work.delay(1).id)

threads = [threading.Thread(target=run, daemon=True) for _ in range(8)]
for thread in threads:
    thread.start()
for _ in range(8):
    stop.wait(0.05)
    taskq.close()
stop.set()
for thread in threads:
    thread.join(20)
assert len(stored) == taskq.stats().by_status["pending"] > 0
taskq.close()
"""


def test_a_close_while_threads_submit_harms_nothing(path: Path) -> None:
    """Two threads on one connection ended the interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CLOSES_UNDER_LOAD, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")


class Resource:
    """Counts what is open."""

    open = 0

    def __init__(self) -> None:
        Resource.open += 1

    def close(self) -> None:
        Resource.open -= 1


@pytest.fixture
def lane() -> Lane[Resource]:
    Resource.open = 0
    return Lane("lane-under-test", open=Resource, close=Resource.close, spoils=ZeroDivisionError)


def threads() -> int:
    return sum(thread.name == "lane-under-test" for thread in threading.enumerate())


def test_one_thread_and_one_resource_serve_all_calls(
    lane: Lane[Resource], bridge: ResidentBridge
) -> None:
    async def many() -> list[tuple[Resource, int]]:
        return await asyncio.gather(
            *(lane.run(lambda resource: (resource, threading.get_ident())) for _ in range(20))
        )

    answers = bridge.call_sync(many)

    assert len(set(answers)) == 1
    assert (Resource.open, threads()) == (1, 1)
    bridge.call_sync(lane.close)
    bridge.call_sync(lane.close)
    assert Resource.open == 0
    bridge.call_sync(lane.run, lambda _: None)
    assert Resource.open == 1
    bridge.call_sync(lane.close)


def test_an_error_that_spoils_the_resource_has_it_made_anew(
    lane: Lane[Resource], bridge: ResidentBridge
) -> None:
    first = bridge.call_sync(lane.run, lambda resource: resource)

    with pytest.raises(KeyError):
        bridge.call_sync(lane.run, lambda _: {}["missing"])
    assert bridge.call_sync(lane.run, lambda resource: resource) is first
    with pytest.raises(ZeroDivisionError):
        bridge.call_sync(lane.run, lambda _: 1 / 0)
    assert Resource.open == 0
    assert bridge.call_sync(lane.run, lambda resource: resource) is not first
    assert Resource.open == 1
    bridge.call_sync(lane.close)


def test_a_lane_that_is_dropped_without_close_leaves_no_thread(bridge: ResidentBridge) -> None:
    lane = Lane("lane-under-test", open=Resource, close=Resource.close, spoils=ZeroDivisionError)
    bridge.call_sync(lane.run, lambda _: None)
    assert threads() == 1

    del lane
    deadline = time.monotonic() + 5.0
    while threads():
        gc.collect()
        assert time.monotonic() < deadline
        time.sleep(0.002)
