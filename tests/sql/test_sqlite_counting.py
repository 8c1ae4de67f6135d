"""When a bounded queue is counted, and when an earlier count vouches for a call (seed:E25)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from taskq.backends.bounding import LARGE, VOUCHED
from taskq.backends.sql import writer
from taskq.backends.sql.sqlite.connect import make_engine, transaction
from taskq.backends.sql.sqlite.schema import set_up
from taskq.errors import QueueFull
from taskq.model import Bound, Overflow
from taskq.testing.conformance.samples import call

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=VOUCHED)
BOUND = Bound(LARGE, Overflow.ERROR)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with make_engine(str(tmp_path / "taskq.db"), lock_timeout=3.0).connect() as connection:
        set_up(connection, "taskq.db")
        yield connection


def counted(connection: Connection, now: datetime, number: int = 1, bound: Bound = BOUND) -> bool:
    """Store so many calls; whether their queue was counted."""
    told: list[str] = []

    def note(*statement: object) -> None:
        told.append(str(statement[2]))

    event.listen(connection, "before_cursor_execute", note)
    try:
        with transaction(connection):
            writer.submit(connection, now, [call(bound=bound) for _ in range(number)])
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return any("count(*)" in each for each in told)


def test_a_count_vouches_for_a_quarter_of_the_room_that_it_found(connection: Connection) -> None:
    assert counted(connection, NOW, LARGE - 100)
    assert not any(counted(connection, NOW) for _ in range(25))
    assert counted(connection, NOW)
    assert not counted(connection, NOW, 18)
    assert counted(connection, NOW, 1)


def test_a_count_vouches_for_a_second_and_for_its_bound_only(connection: Connection) -> None:
    assert counted(connection, NOW)
    assert not counted(connection, LATER - timedelta(milliseconds=1))
    assert counted(connection, LATER)
    assert counted(connection, NOW)  # the clock was set back
    assert counted(connection, NOW, bound=Bound(LARGE + 1))


def test_a_small_bound_is_counted_for_each_call(connection: Connection) -> None:
    small = Bound(LARGE - 1)

    assert counted(connection, NOW, bound=small)
    assert counted(connection, NOW, bound=small)


def test_what_comes_to_wait_without_a_turn_is_seen_within_a_second(connection: Connection) -> None:
    assert counted(connection, NOW)
    with transaction(connection):
        writer.submit(connection, NOW, [call() for _ in range(LARGE)])
    assert not counted(connection, NOW)

    with pytest.raises(QueueFull):
        counted(connection, LATER)
