"""Whatever is searched for, SQLite goes along the index that was made for it, window by window."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import Connection

from taskq.backends.sql import search_statements, searching, writer
from taskq.backends.sql.searching import Patience
from taskq.backends.sql.sqlite.connect import make_engine, transaction
from taskq.backends.sql.sqlite.schema import set_up
from taskq.clock import SystemClock
from taskq.filtering.reading import narrowed, parsed
from taskq.search import Cursor, Order
from taskq.snapshot import Filter
from taskq.testing.conformance.samples import call
from tests.sqlite_plans import plans, searches

NOW = datetime(2030, 1, 1, tzinfo=UTC)
QUEUES = ("q0", "q1")
BY_ID = "SEARCH taskq_activities USING INDEX sqlite_autoindex_1 (id=?)"
BY_IDS = "SEARCH taskq_activities USING INDEX sqlite_autoindex_1 (id>? AND id<?)"


@pytest.fixture(scope="module", params=["fresh", "analyzed"])
def filled(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Connection]:
    """Three thousand rows wait in two queues, some of them for later."""
    path = str(tmp_path_factory.mktemp("filled") / "taskq.db")
    with make_engine(path, lock_timeout=3.0).connect() as connection:
        set_up(connection, path)
        with transaction(connection):
            rows = [
                call(
                    f"t{number % 20}",
                    queue=QUEUES[number % 2],
                    delay=3600.0 if number % 10 == 0 else None,
                    correlation_id=f"c{number % 100}",
                )
                for number in range(3000)
            ]
            writer.submit(connection, NOW, rows)
        if request.param == "analyzed":
            with transaction(connection):
                connection.exec_driver_sql("ANALYZE")
        yield connection


SEARCHES: dict[str, tuple[str, Order, str]] = {
    "a type": ("type:none", Order.NEWEST, BY_IDS),
    "a state and a tag": (
        "status:pending tag.a:b",
        Order.NEWEST,
        "SEARCH taskq_activities USING INDEX listed (queue=? AND status=? AND id>? AND id<?)",
    ),
    "an argument": ("args.a:1", Order.OLDEST, BY_IDS),
    "a correlation and text": (
        "corr:c7 nowhere",
        Order.NEWEST,
        "SEARCH taskq_activities USING INDEX correlation (correlation_id=? AND id>? AND id<?)",
    ),
    "what is due, of a type": (
        "status:scheduled type:none",
        Order.DUE,
        "SEARCH taskq_activities USING INDEX due ((ready_at,id)>(?,?))",
    ),
}
AFTER = Cursor(UUID(int=0x01985E3C << 96))


@pytest.mark.parametrize("name", list(SEARCHES))
def test_a_search_goes_along_its_index_in_windows(filled: Connection, name: str) -> None:
    text, order, index = SEARCHES[name]
    filter = narrowed(Filter(), parsed(text))
    queues = QUEUES if filter.statuses and order is not Order.DUE else ()
    ground = search_statements.ground(filter, order, queues, NOW, postgres=False)
    after = Cursor(AFTER.id, NOW) if order is Order.DUE else AFTER

    def search() -> None:
        for statement in (
            search_statements.matches(ground, after, window=128, most=51),
            search_statements.edge(ground, after, window=128),
            search_statements.counted(ground, after, window=128, most=51),
        ):
            filled.execute(statement).all()

    own = {BY_ID, "USE TEMP B-TREE FOR ORDER BY", "SCAN looked", "SCAN found"}
    own.add("SCAN tag VIRTUAL TABLE INDEX 1:")
    for plan in plans(filled, search):
        assert searches(plan) - own == {index}


@pytest.mark.parametrize("text", ["type:none", "status:pending type:none", "queue:q1 nowhere"])
def test_a_window_is_read_whatever_a_filter_says_and_no_more(filled: Connection, text: str) -> None:
    """Counted by SQLite itself, in steps of its machine: to go over all takes 300 000."""
    driver = filled.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    filter = narrowed(Filter(), parsed(text))
    driver.set_progress_handler(tick, 100)
    try:
        with transaction(filled, "DEFERRED"):
            found = searching.search(
                filled,
                NOW,
                filter,
                order=Order.NEWEST,
                limit=50,
                after=None,
                patience=Patience(0.0, SystemClock().monotonic),
            )
    finally:
        driver.set_progress_handler(None, 0)

    assert (found.items, found.next is None) == ((), False)
    assert ticks * 100 < 30_000
