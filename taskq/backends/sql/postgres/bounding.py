"""Storing calls to bounded queues on PostgreSQL: several statements, one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from taskq.backends.changes import Changes
from taskq.backends.sql.bounding import Room
from taskq.backends.sql.postgres.submission import Rows
from taskq.backends.sql.postgres.submission import submit as steps_of
from taskq.model import Activity, Receipt


def submit(
    connection: Connection, now: datetime, activities: Sequence[Activity[object]]
) -> tuple[list[Receipt], Changes]:
    """See ``Backend.submit``, where some calls need room."""
    room = Room(connection, now, activities)
    receipts = _stored(connection, activities)
    room.keep(receipts)
    room.changes.ready = True
    return receipts, room.changes


def _stored(connection: Connection, activities: Sequence[Activity[object]]) -> list[Receipt]:
    """Take the steps here; what comes of them."""
    steps = steps_of(activities, ())
    answer: Rows | None = None
    while True:
        try:
            statement, values = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            receipts: list[Receipt] = end.value
            return receipts
        found = connection.execute(statement, values)
        answer = found.all() if found.returns_rows else ()
