"""How SQLite goes about what a function has it do: the plan of each statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy import Connection, event

from taskq.backends.sql.sqlite.connect import transaction


class Undo(Exception):
    """Rolls a transaction back."""


def plans(connection: Connection, function: Callable[[], object]) -> list[list[str]]:
    """The query plans of what ``function`` executes, then rolled back."""
    seen: list[tuple[str, object]] = []

    def note(_: object, __: object, sql: str, values: object, ___: object, many: bool) -> None:
        if sql.startswith(("SELECT", "UPDATE", "WITH")):
            seen.append((sql, values[0] if many else values))

    event.listen(connection, "before_cursor_execute", note)
    try:
        with suppress(Undo), transaction(connection):
            function()
            raise Undo
    finally:
        event.remove(connection, "before_cursor_execute", note)
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return [
        [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        for sql, values in seen
    ]


def searches(plan: list[str]) -> set[str]:
    """What is read, without the parts that only say how results are put together."""
    parts = ("SEARCH", "SCAN", "USE TEMP")
    return {
        line.replace("taskq_activities_", "").replace("COVERING ", "")
        for line in plan
        if line.startswith(parts) and "anon_" not in line and "CONSTANT ROW" not in line
    }
