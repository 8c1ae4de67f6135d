"""Cancels inside one transaction: of single activities, and of whole trees.

A tree is walked by parent_id, then what is alive in it is kept still, in the order of ids, and
ended or flagged. Where other connections write at the same time, an activity may have run, and made
children, after the walk had seen it and before it was kept still: then it is walked again. One that
runs when it is kept still is flagged, and what it makes follows when it is settled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from taskq.audit import Command
from taskq.backends import Cancellation
from taskq.backends.changes import Changes
from taskq.backends.sql import rows, statements
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.operating import leave, recorded
from taskq.backends.sql.rows import Record
from taskq.backends.sql.settling import Holding, holdings
from taskq.backends.timeline import who
from taskq.lifecycle import Note, cancelled_error
from taskq.model import Status


def cancel(
    connection: Connection,
    now: datetime,
    ids: Sequence[UUID],
    *,
    tree: bool,
    command: Command | None = None,
) -> tuple[Mapping[UUID, Cancellation], Changes]:
    """See ``Backend.cancel``."""
    changes = Changes()
    written = None if command is None else recorded(connection, now, command, "cancel", ids)
    if command is not None and written is None:
        known = holdings(connection, sorted(set(ids)))
        return {id: Cancellation(row.status) for id, row in known.items()}, changes
    met = _cancel(connection, now, ids, changes, tree=tree, command=command)
    before = {id: row.status for id, row in met.items()}
    below = _cancel_below(connection, now, before, changes) if tree else Counter[UUID]()
    if written is not None:
        done = {id for id, status in before.items() if below[id] or not status.terminal}
        leave(connection, written, ids, done)
    return {id: Cancellation(status, below[id]) for id, status in before.items()}, changes


def cancel_below(
    connection: Connection,
    now: datetime,
    tops: Sequence[UUID],
    changes: Changes,
    *,
    spared: Collection[UUID] = (),
) -> None:
    """Cancel what is below these, not they themselves and not the ``spared``."""
    before = dict.fromkeys([*tops, *spared], Status.CANCELLED)
    _cancel_below(connection, now, before, changes, tops=tops)


def _cancel_below(
    connection: Connection,
    now: datetime,
    before: Mapping[UUID, Status],
    changes: Changes,
    *,
    tops: Sequence[UUID] | None = None,
) -> Counter[UUID]:
    """How many were alive below each of ``tops``; ``before``: what is not to be touched again."""
    seen: dict[UUID, Status | None] = dict(before)
    tops = list(before) if tops is None else tops
    while True:
        found = list(chunked(connection, statements.descendants(), "tops", tops))
        fresh = [row for row in found if row.id not in seen and _is_live(row)]
        met = _cancel(connection, now, [row.id for row in fresh], changes, tree=True)
        seen.update((row.id, met[row.id].status if row.id in met else None) for row in fresh)
        ran = [row for row in fresh if _may_have_made_more(row, met.get(row.id))]
        if all(seen.get(row.parent_id) is Status.PROCESSING for row in ran):
            break
    alive = [row for row in found if row.id != row.top and _is_alive(seen.get(row.id))]
    return Counter(row.top for row in alive)


def _may_have_made_more(walked: Record, met: Holding | None) -> bool:
    """Whether it ran between the walk and the lock; None: it was gone by then.

    One that still runs tells of its children by its own end.
    """
    if met is None:
        return True
    if met.status is Status.PROCESSING:
        return False
    return met.claim != walked.claim or rows.status_of(walked.status) is Status.PROCESSING


def _is_alive(status: Status | None) -> bool:
    return status is not None and not status.terminal


def _is_live(row: Record) -> bool:
    return _is_alive(rows.status_of(row.status))


def _cancel(
    connection: Connection,
    now: datetime,
    ids: Collection[UUID],
    changes: Changes,
    *,
    tree: bool,
    command: Command | None = None,
) -> dict[UUID, Holding]:
    """End what is not running, flag what is; what they were before. A ``command`` is noted."""
    found = holdings(connection, sorted(set(ids)))
    done = [row for row in found.values() if _may_end(row.status)]
    flagged = [row for row in found.values() if row.status is Status.PROCESSING]
    fresh = [row for row in flagged if row.cancel_requested_at is None]
    unmarked = [row for row in flagged if tree and not row.cancel_tree]
    if done:
        connection.execute(statements.cancel(), [_cancelled(row, now) for row in done])
    if fresh:
        connection.execute(
            statements.request_cancel(), [{"of_id": row.id, "now": now} for row in fresh]
        )
    noted = fresh if command is None else [*done, *flagged]
    if noted:
        events = [_requested(row, now, command) for row in noted]
        connection.execute(statements.insert_events(), events)
    if unmarked:
        marks = [{"of_id": row.id} for row in unmarked]
        connection.execute(statements.request_cancel_of_tree(), marks)
    changes.done.update(row.id for row in done)
    changes.cancel.update(row.id for row in flagged)
    return found


def _may_end(status: Status) -> bool:
    return not status.terminal and status is not Status.PROCESSING


def _cancelled(row: Holding, now: datetime) -> dict[str, object]:
    error = cancelled_error(row.attempt)
    return {
        "of_id": row.id,
        "was": row.status.value,
        "now": now,
        "new_error": rows.error_text(error),
        "new_error_kind": error.kind.value,
    }


def _requested(row: Holding, now: datetime, command: Command | None) -> dict[str, object]:
    return rows.event_values(
        row.id,
        Note.CANCEL_REQUESTED,
        now,
        attempt=row.attempt if command is None else None,
        claim=row.claim,
        worker=row.worker if command is None else None,
        detail={} if command is None else who(command),
    )
