"""How queues and types fare, in SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache

from msgspec import Struct
from sqlalchemy import Connection, Executable, bindparam, false, func, select, true

from taskq.backends.presence import ALIVE_WITHIN
from taskq.backends.sql import pauses, queries, rows, statements
from taskq.backends.sql.tables import activities, spelled
from taskq.model import Priority, Status
from taskq.pausing import Kind, Line, Load, Pause, serving
from taskq.snapshot import WorkerInfo

_activity = activities.c


class Seen(Struct, frozen=True):
    """What is known beside the counts: the store's instant, pauses, live workers; the cap."""

    now: datetime
    pauses: Mapping[str, Pause]
    workers: Sequence[WorkerInfo]
    cap: int

    def age(self, at: datetime) -> float:
        """The seconds since an instant."""
        return (self.now - at).total_seconds()


def loads(connection: Connection, now: datetime, kind: Kind, cap: int) -> list[Load]:
    """See ``Queues.loads``."""
    since = now - timedelta(seconds=ALIVE_WITHIN)
    seen = Seen(
        now,
        {each.name: each for each in pauses.found(connection) if each.kind is kind},
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
    lines: list[Line] = []
    if pending := by_status[Status.PENDING]:
        row = connection.execute(queries.count_pending(), values).one()
        ages = [seen.age(first) for first in row[len(row) // 2 :] if first is not None]
        lines = [Line(name, pending, max(ages))] if ages else []
    return _load(Kind.QUEUE, name, by_status, (), lines, seen)


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
        lines: list[Line] = []
        for queue in where.get(name, ()):
            lines += _add_waiting(connection, queue, name, counts, seen)
        queues = {*running.get(name, ()), *where.get(name, ())}
        loads.append(_load(Kind.TYPE, name, counts, queues, lines, seen))
    return loads


def _waiting_types(connection: Connection, stored: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs of queue and type that have activities waiting, each once."""
    for queue in stored:
        types: set[str] = set(connection.scalars(statements.waiting_types(), {"queue": queue}))
        types.update(connection.scalars(queries.due_types(), {"queue": queue}))
        yield from ((queue, type) for type in sorted(types))


def _add_waiting(
    connection: Connection, queue: str, type: str, counts: dict[Status, int], seen: Seen
) -> list[Line]:
    """Add what waits of a type in a queue; answers its line where some of it is pending."""
    values = {"queue": queue, "type": type, "cap": seen.cap}
    pending, scheduled, retrying, *firsts = connection.execute(waiting_of_type(), values).one()
    counts[Status.PENDING] += pending
    counts[Status.SCHEDULED] += scheduled
    counts[Status.RETRYING] += retrying
    ages = [seen.age(first) for first in firsts if first is not None]
    return [Line(queue, min(seen.cap, pending), max(ages))] if ages else []


def _load(
    kind: Kind,
    name: str,
    by_status: Mapping[Status, int],
    queues: Collection[str],
    lines: Sequence[Line],
    seen: Seen,
) -> Load:
    return Load(
        kind=kind,
        name=name,
        paused=seen.pauses.get(name),
        by_status={status: min(seen.cap, count) for status, count in by_status.items()},
        oldest_pending=max((line.oldest for line in lines), default=None),
        workers=serving(kind, name, queues, seen.workers),
        cap=seen.cap,
        lines=tuple(lines) if kind is Kind.TYPE else (),
    )


# -- statements --


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
