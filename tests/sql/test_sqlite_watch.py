"""Hints on SQLite: at once from this backend, within moments from others, and none for nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pytest
from sqlalchemy import Engine, PoolProxiedConnection

from taskq.backends import ClaimRequest, Hint, Topic
from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.sqlite.watching import ASKING_INTERVAL, INTERVAL
from taskq.bridge import ResidentBridge
from taskq.identifiers import new_id
from taskq.testing.conformance.samples import call

MakeBackend = Callable[..., SQLiteBackend]


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def poll_twice(bridge: ResidentBridge) -> None:
    """Let the poller look at least once more, with what it then asks of the writer."""
    for _ in range(5):
        bridge.call_sync(asyncio.sleep, INTERVAL)


@pytest.fixture
def hints(backend: SQLiteBackend, bridge: ResidentBridge) -> list[Hint]:
    """What a watch of every topic hears."""
    hints: list[Hint] = []
    bridge.call_sync(backend.watch, list(Topic), hints.append)
    return hints


def test_its_own_commits_give_one_hint_each(
    backend: SQLiteBackend, bridge: ResidentBridge, hints: list[Hint]
) -> None:
    """Otherwise a busy worker would wake itself a hundred times a second for nothing."""
    other = new_id()
    poll_twice(bridge)
    hints.clear()

    for _ in range(3):
        bridge.call_sync(backend.submit, [call()])
        poll_twice(bridge)
    request = ClaimRequest(worker=other, queues=("default",), types=None, limit=9, lease=30.0)
    assert len(bridge.call_sync(backend.claim, request)) == 3
    poll_twice(bridge)

    assert hints == 3 * [Hint(Topic.READY)]


def test_a_commit_of_another_program_gives_hints(
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    hints: list[Hint],
    foreign: sqlite3.Connection,
) -> None:
    foreign.execute(
        "INSERT INTO taskq_activities (id, type, payload) VALUES (randomblob(16), 'work', '{}')"
    )

    eventually(lambda: {hint.topic for hint in hints} == set(Topic))
    assert {hint.ids for hint in hints} == {None}


def test_a_commit_of_another_program_is_seen_beside_ones_own(
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    hints: list[Hint],
    foreign: sqlite3.Connection,
) -> None:
    """Ours and theirs between two looks: theirs must not be taken for ours."""
    for _ in range(20):
        poll_twice(bridge)
        hints.clear()

        bridge.call_sync(backend.submit, [call()])
        foreign.execute("UPDATE taskq_activities SET progress = '1'")
        bridge.call_sync(backend.submit, [call()])

        eventually(lambda: Topic.DONE in {hint.topic for hint in hints})


def test_all_watches_share_one_poller_that_ends_with_the_last(
    backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    async def pollers() -> int:
        return sum(task.get_name() == "taskq-data-version" for task in asyncio.all_tasks())

    heard: list[Hint] = []
    watches = [bridge.call_sync(backend.watch, [Topic.READY], heard.append) for _ in range(3)]

    assert bridge.call_sync(pollers) == 1
    for watch in watches:
        bridge.call_sync(watch.close)
    bridge.call_sync(watches[0].close)
    poll_twice(bridge)
    assert bridge.call_sync(pollers) == 0
    again = bridge.call_sync(backend.watch, [Topic.READY], heard.append)
    assert bridge.call_sync(pollers) == 1
    bridge.call_sync(again.close)


def test_own_commits_are_seldom_asked_about(
    backend: SQLiteBackend, bridge: ResidentBridge, hints: list[Hint]
) -> None:
    """The question goes through the writer's thread, where it holds up what is written."""
    asked: list[float] = []
    elsewhere = backend._watches._elsewhere

    async def counted() -> bool:
        asked.append(time.monotonic())
        return await elsewhere()

    backend._watches._elsewhere = counted
    end = time.monotonic() + 10 * ASKING_INTERVAL
    while time.monotonic() < end:
        bridge.call_sync(backend.submit, [call()])
    bridge.call_sync(asyncio.sleep, 2 * ASKING_INTERVAL)

    assert asked
    assert all(two - one > 0.9 * ASKING_INTERVAL for one, two in pairwise(asked))


class Outage:
    """An engine whose connections cannot be made until it is over."""

    def __init__(self, backend: SQLiteBackend, error: Exception) -> None:
        self.tries = 0
        self.over = False
        self._error = error
        self._poller = backend._watches._poller
        self._engine = self._poller._engine

    async def begin(self) -> None:
        self._poller._drop()
        self._poller._engine = cast("Engine", self)

    def raw_connection(self) -> PoolProxiedConnection:
        self.tries += 1
        if not self.over:
            raise self._error
        return self._engine.raw_connection()


@pytest.mark.parametrize("error", [MemoryError("odd"), sqlite3.OperationalError("cannot open")])
def test_no_error_ends_the_poller(
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    hints: list[Hint],
    foreign: sqlite3.Connection,
    error: Exception,
) -> None:
    """It looks less and less often, says once what is wrong, and hints when it is over."""
    reports: list[dict[str, Any]] = []

    async def listen() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))

    bridge.call_sync(listen)
    poll_twice(bridge)
    outage = Outage(backend, error)
    bridge.call_sync(outage.begin)
    eventually(lambda: outage.tries > 3)
    bridge.call_sync(asyncio.sleep, 30 * INTERVAL)

    assert outage.tries < 10
    assert [report["exception"] for report in reports] == [error]

    hints.clear()
    outage.over = True
    foreign.execute("UPDATE taskq_activities SET progress = '1'")
    eventually(lambda: {hint.topic for hint in hints} == set(Topic))


def test_the_poller_never_waits_for_a_lock_on_the_storage_loop(
    make_backend: MakeBackend,
) -> None:
    """Not even while it opens the file."""
    backend = make_backend(lock_timeout=30.0)
    connection = backend._watches._poller._engine.raw_connection()
    driver = connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)

    [milliseconds] = driver.execute("PRAGMA busy_timeout").fetchone()

    connection.close()
    assert milliseconds == 0


def test_a_broken_poll_connection_mends_and_says_so_once(
    backend: SQLiteBackend, bridge: ResidentBridge, hints: list[Hint]
) -> None:
    async def break_it() -> None:
        connection = backend._watches._poller._connection
        assert connection is not None
        driver = connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.close()

    poll_twice(bridge)
    hints.clear()

    bridge.call_sync(break_it)
    eventually(lambda: len(hints) >= len(Topic))
    poll_twice(bridge)

    assert sorted(hint.topic for hint in hints) == sorted(Topic)
