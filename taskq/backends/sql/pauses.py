"""Pauses in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from taskq.audit import Command
from taskq.backends.changes import Changes
from taskq.backends.sql import auditing
from taskq.backends.sql.tables import queues
from taskq.pausing import Kind, Pause

_KINDS = frozenset(kind.value for kind in Kind)


def found(connection: Connection) -> list[Pause]:
    """See ``Queues.pauses``."""
    return read(connection.execute(pauses()))


def read(rows: Iterable[Iterable[Any]]) -> list[Pause]:
    """What the rows of ``pauses`` say."""
    return [
        Pause(kind=Kind(kind), name=name, since=since, by=by or "", reason=reason or "")
        for kind, name, since, by, reason in rows
        if kind in _KINDS
    ]


def pause(
    connection: Connection, now: datetime, kind: Kind, name: str, command: Command
) -> tuple[bool, Changes]:
    """See ``Queues.pause``."""
    written = auditing.record(connection, now, command, f"{kind}.pause", target=name)
    if written is None:
        return False, Changes()
    values = {
        "kind": kind.value,
        "name": name,
        "paused_at": now,
        "paused_by": command.actor,
        "reason": command.reason or None,
        "updated_at": now,
    }
    begun = pause_on_postgres() if connection.dialect.name == "postgresql" else pause_on_sqlite()
    new = connection.execute(begun, values).rowcount > 0
    auditing.leave(connection, written, [] if new else [name])
    return new, Changes(control=new)


def resume(
    connection: Connection, now: datetime, kind: Kind, name: str, command: Command
) -> tuple[bool, Changes]:
    """See ``Queues.resume``."""
    written = auditing.record(connection, now, command, f"{kind}.resume", target=name)
    if written is None:
        return False, Changes()
    values = {"of_kind": kind.value, "of_name": name}
    ended = connection.execute(end_pause(), values).rowcount > 0
    auditing.leave(connection, written, [] if ended else [name])
    return ended, Changes(control=ended)


# -- statements --


@cache
def pauses() -> Executable:
    """What is paused. The table has a row for each pause and for each bounded queue."""
    row = queues.c
    paused = select(row.kind, row.name, row.paused_at, row.paused_by, row.reason)
    return paused.where(row.paused_at.is_not(None)).order_by(row.kind, row.name)


@cache
def pause_on_sqlite() -> Executable:
    """Write a pause, unless there is one."""
    return _unless_paused(sqlite.insert(queues))


@cache
def pause_on_postgres() -> Executable:
    """The same."""
    return _unless_paused(postgresql.insert(queues))


def _unless_paused(insert: Any) -> Executable:
    given = ("paused_at", "paused_by", "reason", "updated_at")
    written: Executable = insert.on_conflict_do_update(
        index_elements=["kind", "name"],
        set_={name: insert.excluded[name] for name in given},
        where=queues.c.paused_at.is_(None),
    )
    return written


@cache
def end_pause() -> Executable:
    """Delete the pause of ``of_name``."""
    return delete(queues).where(
        queues.c.kind == bindparam("of_kind"),
        queues.c.name == bindparam("of_name"),
        queues.c.paused_at.is_not(None),
    )
