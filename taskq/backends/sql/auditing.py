"""The record of operators' commands, in SQL. A command's row is written with what it changes."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Executable, bindparam, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from taskq.audit import AuditEntry, Command, unchanged
from taskq.backends.instants import FIRST
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.rows import Record, detail_text
from taskq.backends.sql.tables import audit


class Written(Struct, frozen=True):
    """The row of a command, by its number, with the ``detail`` that it has."""

    number: int
    detail: Mapping[str, object]


def record(
    connection: Connection,
    now: datetime,
    command: Command,
    action: str,
    *,
    target: str = "",
    detail: Mapping[str, object] | None = None,
) -> Written | None:
    """Write a command down, in the caller's transaction; None where its id is there already: then
    the caller changes nothing. Call it before anything else, so that one of two waits here."""
    values = {
        "at": now,
        "actor": command.actor,
        "action": action,
        "reason": command.reason or None,
        "target": target or None,
        "detail": detail_text(detail or {}),
        "command_id": command.id,
    }
    written = on_postgres() if connection.dialect.name == "postgresql" else on_sqlite()
    number = connection.execute(written, values).scalar()
    return None if number is None else Written(number, detail or {})


def leave(connection: Connection, written: Written, those: Iterable[object]) -> None:
    """A command left some of what it was about as it was: its row says which, if any."""
    names = [str(each) for each in those]
    if names:
        detail = detail_text(unchanged(written.detail, names))
        connection.execute(amended(), {"of_id": written.number, "new_detail": detail})


def entries(
    connection: Connection,
    limit: int,
    before: int | None,
    command_ids: Collection[UUID] | None = None,
) -> list[AuditEntry]:
    """See ``Inspector.audit``."""
    if command_ids is None:
        found = connection.execute(recorded(), {"limit": limit, "before": before})
        return [_entry(row) for row in found]
    wanted = sorted(set(command_ids))
    of_these = map(_entry, chunked(connection, of_commands(), "ids", wanted))
    older = (entry for entry in of_these if before is None or entry.number < before)
    return heapq.nlargest(limit, older, key=lambda entry: entry.number)


def _entry(row: Record) -> AuditEntry:
    return AuditEntry(
        number=row.id,
        at=row.at or FIRST,
        actor=row.actor,
        action=row.action,
        reason=row.reason or "",
        target=row.target or "",
        detail=_detail(row.detail),
        command_id=row.command_id,
    )


def _detail(text: str | None) -> Mapping[str, object]:
    """What another program wrote that is no JSON object is shown as it is."""
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        return {"unreadable": text}


@cache
def on_sqlite() -> Executable:
    """Insert a row, unless its ``command_id`` is there."""
    new = sqlite.insert(audit).on_conflict_do_nothing(index_elements=["command_id"])
    return new.returning(audit.c.id)


@cache
def on_postgres() -> Executable:
    """The same."""
    new = postgresql.insert(audit).on_conflict_do_nothing(index_elements=["command_id"])
    return new.returning(audit.c.id)


@cache
def amended() -> Executable:
    """The row ``of_id`` with another detail."""
    return (
        update(audit).where(audit.c.id == bindparam("of_id")).values(detail=bindparam("new_detail"))
    )


@cache
def recorded() -> Executable:
    """Up to ``limit`` rows below ``before`` (NULL: all), the newest first."""
    below = bindparam("before", type_=audit.c.id.type)
    return (
        select(audit)
        .where(or_(below.is_(None), audit.c.id < below))
        .order_by(audit.c.id.desc())
        .limit(bindparam("limit"))
    )


@cache
def of_commands() -> Executable:
    """The rows of the commands ``ids``, in no order."""
    return select(audit).where(audit.c.command_id.in_(bindparam("ids", expanding=True)))
