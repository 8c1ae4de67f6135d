"""Hints on SQLite: at once from this backend, within moments from others, and none for nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable

import pytest

from taskq.backends import ClaimRequest, Hint, Topic
from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.watching import INTERVAL
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
