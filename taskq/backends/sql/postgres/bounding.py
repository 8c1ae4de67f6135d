"""Storing calls to bounded queues on PostgreSQL: several statements, one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from taskq.backends.changes import Changes
from taskq.backends.sql.bounding import Room
from taskq.backends.sql.postgres.submission import submit as steps_of
from taskq.backends.sql.postgres.submission import taken
from taskq.model import Activity, Receipt


def submit(
    connection: Connection, now: datetime, activities: Sequence[Activity[object]]
) -> tuple[list[Receipt], Changes]:
    """See ``Backend.submit``, where some calls need room."""
    room = Room(connection, now, activities)
    receipts = taken(steps_of(activities, ()), connection.execute)
    room.keep(receipts)
    room.changes.ready = True
    return receipts, room.changes
