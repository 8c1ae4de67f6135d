"""Operators' commands inside one transaction: recorded, decided on rows kept still, written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Update

from taskq.audit import Command, named
from taskq.backends.arrival import isolated
from taskq.backends.changes import Changes
from taskq.backends.instants import later
from taskq.backends.sql import auditing, operating_statements, rows, statements
from taskq.backends.sql.auditing import Written
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.keying import keys_kept_still
from taskq.backends.sql.rows import Record
from taskq.backends.storable import check_storable
from taskq.backends.timeline import retry_detail, who
from taskq.idempotency import renewed_digest
from taskq.lifecycle import (
    REORDERABLE_BY_OPERATOR,
    RESCHEDULABLE_BY_OPERATOR,
    RETRYABLE_BY_OPERATOR,
    STARTABLE_BY_OPERATOR,
    Note,
    rescheduled,
)
from taskq.model import Priority, Status

Answer = tuple[Mapping[UUID, Status], Changes]


def retry(
    connection: Connection,
    now: datetime,
    ids: Sequence[UUID],
    *,
    command: Command,
    arguments: Mapping[UUID, str],
    kept: Mapping[UUID, str],
    delay: float,
    spread: float,
) -> Answer:
    """See ``Operator.retry``."""
    different = list(dict.fromkeys(ids))
    old = _payloads(connection, set(arguments).intersection(different))
    edited = {str(id): hashlib.sha256(payload.encode()).hexdigest() for id, payload in old.items()}
    detail: dict[str, object] = {"edited": edited} if edited else {}
    written = recorded(connection, now, command, "retry", different, detail)
    if written is None:
        return _present(connection, different), Changes()
    found = _chosen(connection, different)
    again = [row for row in found if Status(row.status) in RETRYABLE_BY_OPERATOR]
    waits = {id: delay + spread * place / len(different) for place, id in enumerate(different)}
    _execute(
        connection,
        operating_statements.retry(),
        (_restart(row, now, waits[row.id]) for row in again),
    )
    _edit(connection, {row.id: arguments[row.id] for row in again if row.id in arguments})
    before = {**old, **{id: kept[id] for id in old if id in kept}}
    details = {
        row.id: retry_detail(
            command, Status(row.status), rows.error_of(row.error), before.get(row.id)
        )
        for row in again
    }
    _note(connection, now, Note.RETRIED, again, details)
    leave(connection, written, different, {row.id for row in again})
    return _before(found), Changes(ready=bool(again))


def reschedule(
    connection: Connection,
    now: datetime,
    ids: Sequence[UUID],
    when: datetime | None,
    *,
    command: Command,
) -> Answer:
    """See ``Operator.reschedule``, and ``Operator.run_now`` where ``when`` is None."""
    at = now if when is None else max(when, now)
    detail: dict[str, object] = {} if when is None else {"when": when.isoformat()}
    action = "run_now" if when is None else "reschedule"
    states = STARTABLE_BY_OPERATOR if when is None else RESCHEDULABLE_BY_OPERATOR

    def values(row: Record) -> dict[str, object]:
        status = rescheduled(Status(row.status), at, now)
        return {"new_status": status.value, "new_ready_at": at}

    def noted(row: Record) -> dict[str, object]:
        ready_at: datetime = row.ready_at
        return {**who(command), "ready_at": ready_at.isoformat()}

    written = recorded(connection, now, command, action, ids, detail)
    if written is None:
        return _present(connection, ids), Changes()
    found = _chosen(connection, ids)
    those = [row for row in found if Status(row.status) in states]
    _change(connection, operating_statements.reschedule(), those, values)
    _note(connection, now, Note.RESCHEDULED, those, {row.id: noted(row) for row in those})
    leave(connection, written, ids, {row.id for row in those})
    return _before(found), Changes(ready=bool(those))


def set_priority(
    connection: Connection,
    now: datetime,
    ids: Sequence[UUID],
    priority: Priority,
    *,
    command: Command,
) -> Answer:
    """See ``Operator.set_priority``."""
    detail = {"priority": priority.name}
    written = recorded(connection, now, command, "set_priority", ids, detail)
    if written is None:
        return _present(connection, ids), Changes()
    found = _chosen(connection, ids)
    those = [
        row
        for row in found
        if Status(row.status) in REORDERABLE_BY_OPERATOR and row.priority != priority.value
    ]
    statement = operating_statements.set_priority()
    _change(connection, statement, those, lambda _: {"new_priority": priority.value})
    details = {
        row.id: {**who(command), "from": Priority(row.priority).name, "to": priority.name}
        for row in those
    }
    _note(connection, now, Note.PRIORITY_CHANGED, those, details)
    leave(connection, written, ids, {row.id for row in those})
    return _before(found), Changes(ready=bool(those))


def recorded(
    connection: Connection,
    now: datetime,
    command: Command,
    action: str,
    ids: Sequence[UUID],
    more: Mapping[str, object] | None = None,
) -> Written | None:
    """The row of a command about these, if it is new. No command is about nothing."""
    if not ids:
        return None
    different = list(dict.fromkeys(ids))
    detail = {"ids": [str(id) for id in different], **(more or {})}
    target = named(different)
    return auditing.record(connection, now, command, action, target=target, detail=detail)


def leave(
    connection: Connection, written: Written, ids: Sequence[UUID], changed: Collection[UUID]
) -> None:
    """Of these the command has changed some only: its row says which it has not."""
    auditing.leave(connection, written, (id for id in dict.fromkeys(ids) if id not in changed))


# -- parts --


def _chosen(connection: Connection, ids: Collection[UUID]) -> list[Record]:
    """The rows of these, kept still; those whose state makes no sense are passed over."""
    found = chunked(connection, operating_statements.chosen(), "ids", sorted(set(ids)))
    return [row for row in found if rows.status_of(row.status) is not None]


def _before(found: Iterable[Record]) -> dict[UUID, Status]:
    return {row.id: Status(row.status) for row in found}


def _present(connection: Connection, ids: Collection[UUID]) -> dict[UUID, Status]:
    return _before(_chosen(connection, ids))


def _change(
    connection: Connection,
    statement: Update,
    those: Iterable[Record],
    values: Callable[[Record], Mapping[str, object]],
) -> None:
    changes = ({"of_id": row.id, "was": row.status, **values(row)} for row in those)
    _execute(connection, statement, changes)


def _execute(
    connection: Connection, statement: Update, values: Iterable[Mapping[str, object]]
) -> None:
    many = [dict(each) for each in values]
    if many:
        connection.execute(statement, many)


def _restart(row: Record, now: datetime, wait: float) -> dict[str, object]:
    status = Status.SCHEDULED if wait > 0 else Status.PENDING
    return {
        "of_id": row.id,
        "was": row.status,
        "now": now,
        "new_status": status.value,
        "new_ready_at": later(now, wait),
        "alone": isolated(row.max_crashes),
    }


def _payloads(connection: Connection, ids: Collection[UUID]) -> dict[UUID, str]:
    """What those of these that may be retried were called with."""
    found = chunked(connection, operating_statements.calls(), "ids", sorted(ids))
    return {
        row.id: row.payload for row in found if rows.status_of(row.status) in RETRYABLE_BY_OPERATOR
    }


def _edit(connection: Connection, payloads: Mapping[UUID, str]) -> None:
    """Let these have other payloads, and their keys stand for those."""
    for id, payload in payloads.items():
        check_storable(id, payload)
    found = list(chunked(connection, operating_statements.calls(), "ids", sorted(payloads)))
    edits = ({"of_id": row.id, "new_payload": payloads[row.id]} for row in found)
    _execute(connection, operating_statements.edit(), edits)
    keys_kept_still(connection, payloads)
    digests = (
        {
            "of_id": row.id,
            "new_digest": renewed_digest(row.type, payloads[row.id], step=row.step is not None),
        }
        for row in found
    )
    _execute(connection, operating_statements.renew_keys(), digests)


def _note(
    connection: Connection,
    now: datetime,
    kind: Note,
    those: Sequence[Record],
    details: Mapping[UUID, Mapping[str, object]],
) -> None:
    values = [
        rows.event_values(
            row.id,
            kind,
            now,
            attempt=None,
            claim=row.claim,
            worker=None,
            detail=details[row.id],
        )
        for row in those
    ]
    if values:
        connection.execute(statements.insert_events(), values)
