"""Cancels of single rows and of all that is below one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from taskq.audit import Command
from taskq.backends.changes import Changes
from taskq.backends.memory.row import Row
from taskq.backends.memory.tables import Tables
from taskq.backends.timeline import who
from taskq.lifecycle import Note, cancelled_error
from taskq.model import Status


def cancel(
    tables: Tables,
    row: Row,
    now: datetime,
    changes: Changes,
    *,
    tree: bool,
    command: Command | None = None,
) -> None:
    """End what is not running, flag what is, leave what has ended; an operator's ``command`` is
    noted."""
    if command is not None and not row.status.terminal:
        row.note(Note.CANCEL_REQUESTED, now, who(command), None)
    if row.status is Status.PROCESSING:
        if row.cancel_requested_at is None:
            row.cancel_requested_at = now
            if command is None:
                row.note(Note.CANCEL_REQUESTED, now, {}, row.number)
        row.cancel_tree = row.cancel_tree or tree
        changes.cancel.add(row.id)
    elif not row.status.terminal:
        row.error = cancelled_error(row.number)
        tables.move(row, Status.CANCELLED, now)
        changes.moved(row.id, row.status)


def cancel_below(
    tables: Tables, top: UUID, now: datetime, changes: Changes, *, spared: Collection[UUID] = ()
) -> int:
    """Cancel what is below an activity, but not the ``spared``; how many had not ended."""
    live = [row for row in tables.below(top) if not row.status.terminal and row.id not in spared]
    for row in live:
        cancel(tables, row, now, changes, tree=True)
    return len(live)
