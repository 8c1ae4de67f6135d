"""The record of operators' commands, in SQL. A command's row is written with what it changes."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from uuid import UUID

import msgspec
from sqlalchemy import Connection, Executable, bindparam, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from taskq.audit import AuditEntry, Command
from taskq.backends.instants import FIRST
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.rows import Record, detail_text
from taskq.backends.sql.tables import audit


def record(
    connection: Connection,
    now: datetime,
    command: Command,
    action: str,
    *,
    target: str = "",
    detail: Mapping[str, object] | None = None,
) -> bool:
    """Write a command down, in the caller's transaction; False where its id is there already: then
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
    return connection.execute(written, values).rowcount > 0


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
    return sqlite.insert(audit).on_conflict_do_nothing(index_elements=["command_id"])


@cache
def on_postgres() -> Executable:
    """The same."""
    return postgresql.insert(audit).on_conflict_do_nothing(index_elements=["command_id"])


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
