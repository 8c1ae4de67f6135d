"""Pauses in SQL, and how queues and types fare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Executable, bindparam, delete, false, func, select, true
from sqlalchemy.dialects import postgresql, sqlite

from taskq.audit import Command
from taskq.backends.changes import Changes
from taskq.backends.presence import ALIVE_WITHIN
from taskq.backends.sql import auditing, queries, rows, statements
from taskq.backends.sql.doors import Doors
from taskq.backends.sql.tables import activities, queues, spelled
from taskq.model import Priority, Status
from taskq.pausing import Kind, Load, Pause, serving
from taskq.snapshot import WorkerInfo

_KINDS = frozenset(kind.value for kind in Kind)
_activity = activities.c


class SqlQueues(Doors):
    """``taskq.backends.Queues``, over the two doors that each store has."""

    async def pauses(self) -> list[Pause]:
        """See ``Queues.pauses``."""
        return await self._ask(lambda connection, _: found(connection))

    async def pause(self, kind: Kind, name: str, *, command: Command) -> bool:
        """See ``Queues.pause``."""
        return await self._write(
            lambda connection, now: pause(connection, now, kind, name, command)
        )

    async def resume(self, kind: Kind, name: str, *, command: Command) -> bool:
        """See ``Queues.resume``."""
        return await self._write(
            lambda connection, now: resume(connection, now, kind, name, command)
        )

    async def loads(self, kind: Kind, *, cap: int = 10_000) -> list[Load]:
        """See ``Queues.loads``."""
        return await self._read(lambda connection, now: loads(connection, now, kind, cap))


def found(connection: Connection) -> list[Pause]:
    """See ``Queues.pauses``."""
    return read(connection.execute(pauses()))


def read(rows: Iterable[Iterable[Any]]) -> list[Pause]:
    """What the rows of ``pauses`` say."""
    return [
        Pause(kind=Kind(kind), name=name, since=since, by=by or "", reason=reason or "")
        for kind, name, since, by, reason, _ in rows
        if kind in _KINDS
    ]


def pause(
    connection: Connection, now: datetime, kind: Kind, name: str, command: Command
) -> tuple[bool, Changes]:
    """See ``Queues.pause``."""
    if not auditing.record(connection, now, command, f"{kind}.pause", target=name):
        return False, Changes()
    values = {
        "kind": kind.value,
        "name": name,
        "paused_at": now,
        "paused_by": command.actor,
        "reason": command.reason or None,
        "updated_at": now,
    }
    written = pause_on_postgres() if connection.dialect.name == "postgresql" else pause_on_sqlite()
    new = connection.execute(written, values).rowcount > 0
    return new, Changes(control=new)


def resume(
    connection: Connection, now: datetime, kind: Kind, name: str, command: Command
) -> tuple[bool, Changes]:
    """See ``Queues.resume``."""
    if not auditing.record(connection, now, command, f"{kind}.resume", target=name):
        return False, Changes()
    values = {"of_kind": kind.value, "of_name": name}
    ended = connection.execute(end_pause(), values).rowcount > 0
    return ended, Changes(control=ended)


class Seen(Struct, frozen=True):
    """What is known beside the counts: the store's instant, pauses, live workers; the cap."""

    now: datetime
    pauses: Mapping[str, Pause]
    workers: Sequence[WorkerInfo]
    cap: int


def loads(connection: Connection, now: datetime, kind: Kind, cap: int) -> list[Load]:
    """See ``Queues.loads``."""
    since = now - timedelta(seconds=ALIVE_WITHIN)
    seen = Seen(
        now,
        {each.name: each for each in found(connection) if each.kind is kind},
        [rows.worker(row) for row in connection.execute(queries.live_workers(), {"since": since})],
        cap,
    )
    stored: Sequence[str] = connection.scalars(queries.queues()).all()
    if kind is Kind.TYPE:
        return _loads_of_types(connection, stored, seen)
    served = {queue for worker in seen.workers for queue in worker.queues}
    names = {*stored, *seen.pauses, *served}
    return [_load_of_queue(connection, name, seen) for name in sorted(names)]


def _load_of_queue(connection: Connection, name: str, seen: Seen) -> Load:
    values = {"queue": name, "cap": seen.cap}
    counts = connection.execute(queries.count_by_status(), values).one()
    by_status = dict(zip(Status, counts, strict=True))
    firsts: list[datetime] = []
    if by_status[Status.PENDING]:
        row = connection.execute(queries.count_pending(), values).one()
        firsts = [first for first in row[len(row) // 2 :] if first is not None]
    return _load(Kind.QUEUE, name, by_status, firsts, (), seen)


def _loads_of_types(connection: Connection, stored: Sequence[str], seen: Seen) -> list[Load]:
    running: dict[str, dict[str, int]] = {}
    for row in connection.execute(held()):
        running.setdefault(row.type, {})[row.queue] = row.number
    where: dict[str, list[str]] = {}
    for queue, type in _waiting_types(connection, stored):
        where.setdefault(type, []).append(queue)
    names = {*running, *where, *seen.pauses}
    loads: list[Load] = []
    for name in sorted(names):
        counts = dict.fromkeys((each for each in Status if not each.terminal), 0)
        counts[Status.PROCESSING] = sum(running.get(name, {}).values())
        firsts: list[datetime] = []
        for queue in where.get(name, ()):
            firsts += _add_waiting(connection, queue, name, counts, seen.cap)
        queues = {*running.get(name, ()), *where.get(name, ())}
        loads.append(_load(Kind.TYPE, name, counts, firsts, queues, seen))
    return loads


def _waiting_types(connection: Connection, stored: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs of queue and type that have activities waiting, each once."""
    for queue in stored:
        types: set[str] = set(connection.scalars(statements.waiting_types(), {"queue": queue}))
        types.update(connection.scalars(queries.due_types(), {"queue": queue}))
        yield from ((queue, type) for type in sorted(types))


def _add_waiting(
    connection: Connection, queue: str, type: str, counts: dict[Status, int], cap: int
) -> list[datetime]:
    """Add what waits of a type in a queue; answers since when its first ones are ready."""
    values = {"queue": queue, "type": type, "cap": cap}
    pending, scheduled, retrying, *firsts = connection.execute(waiting_of_type(), values).one()
    counts[Status.PENDING] += pending
    counts[Status.SCHEDULED] += scheduled
    counts[Status.RETRYING] += retrying
    return [first for first in firsts if first is not None]


def _load(
    kind: Kind,
    name: str,
    by_status: Mapping[Status, int],
    firsts: Sequence[datetime],
    queues: Collection[str],
    seen: Seen,
) -> Load:
    return Load(
        kind=kind,
        name=name,
        paused=seen.pauses.get(name),
        by_status={status: min(seen.cap, count) for status, count in by_status.items()},
        oldest_pending=(seen.now - min(firsts)).total_seconds() if firsts else None,
        workers=serving(kind, name, queues, seen.workers),
        cap=seen.cap,
    )


# -- statements --


@cache
def pauses() -> Executable:
    """What is paused. The table has a row for each pause and for each bounded queue."""
    paused = select(queues).where(queues.c.paused_at.is_not(None))
    return paused.order_by(queues.c.kind, queues.c.name)


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


@cache
def held() -> Executable:
    """How many run of each type in each queue: all of what runs is read."""
    return (
        select(_activity.type, _activity.queue, func.count().label("number"))
        .where(_activity.status == spelled(Status.PROCESSING))
        .group_by(_activity.type, _activity.queue)
    )


@cache
def waiting_of_type() -> Executable:
    """How many of ``queue`` and ``type`` are pending, scheduled and retrying; then since when the
    first ones are ready, by isolation and priority."""
    pair = (_activity.queue == bindparam("queue"), _activity.type == bindparam("type"))
    pending = _activity.status == spelled(Status.PENDING)
    lines = [
        (pending, *pair, _activity.isolate == isolate, of_priority)
        for isolate in (false(), true())
        for of_priority in (_activity.priority == priority.value for priority in Priority)
    ]
    first = func.min(_activity.ready_at)
    both = [spelled(Status.SCHEDULED), spelled(Status.RETRYING)]
    # The index has them together: so many of both are read, not all of one to find the other.
    later = select(_activity.status).where(_activity.status.in_(both), *pair)
    seen = later.limit(bindparam("cap")).subquery()
    return select(
        queries.capped(pending, *pair),
        *(
            select(func.count()).select_from(seen).where(seen.c.status == status).scalar_subquery()
            for status in both
        ),
        *(select(first).where(*line).scalar_subquery() for line in lines),
    )
