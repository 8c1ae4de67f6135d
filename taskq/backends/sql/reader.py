"""What readers see, read in one transaction of its own. ``now`` is the store's instant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from sqlalchemy import Connection

from taskq.backends.presence import ALIVE_WITHIN
from taskq.backends.sql import queries, rows, statements
from taskq.backends.sql.chunks import CHUNK, chunked
from taskq.backends.sql.conditions import is_exact
from taskq.backends.timeline import entries
from taskq.filtering.matching import matches_inside
from taskq.filtering.terms import Term
from taskq.model import TERMINAL, Attempt, Ended, Priority, Status
from taskq.snapshot import (
    ActivityInfo,
    ActivityPage,
    Bucket,
    Filter,
    Page,
    Stats,
    TimelineEntry,
    Tree,
    UnservedType,
    WorkerInfo,
)
from taskq.tree import grown

WAITING_CAP = 100_000
"""How far waiting activities of one queue and type are counted."""
WALKED = CHUNK - 1
"""How many are looked into at a time for what SQL cannot decide."""


def outcomes(connection: Connection, ids: Collection[UUID]) -> dict[UUID, Ended | None]:
    """See ``Backend.outcomes``."""
    answers: dict[UUID, Ended | None] = dict.fromkeys(ids)
    for row in chunked(connection, queries.outcomes(), "ids", list(answers)):
        if row.status in TERMINAL:
            answers[row.id] = rows.ended(row)
        else:
            del answers[row.id]
    return answers


def expired(connection: Connection, now: datetime, limit: int) -> list[Attempt]:
    """See ``Backend.expired``."""
    found = connection.execute(statements.expired(), {"now": now, "limit": limit})
    return rows.attempts(found)


def get(connection: Connection, ids: Collection[UUID]) -> dict[UUID, ActivityInfo]:
    """See ``Inspector.get``."""
    found = chunked(connection, queries.get(), "ids", sorted(set(ids)))
    return {info.id: info for info in map(rows.info, found) if info is not None}


def timeline(connection: Connection, id: UUID) -> list[TimelineEntry]:
    """See ``Inspector.timeline``."""
    info = get(connection, [id]).get(id)
    if info is None:
        return []
    found = connection.execute(queries.timeline(), {"activity": id})
    return entries(info, [event for event in map(rows.event, found) if event is not None])


def tree(connection: Connection, id: UUID, limit: int) -> Tree:
    """See ``Inspector.tree``."""
    root: UUID = connection.execute(queries.root_of(), {"id": id}).scalar() or id
    values = {"root": root, "limit": limit + 1}
    found = connection.scalars(queries.of_tree(), values).all()
    infos = get(connection, [*found[:limit], id])
    return grown(root, infos.values(), cut=len(found) > limit)


def live_workers(connection: Connection, now: datetime, alive_within: float) -> list[WorkerInfo]:
    """See ``Inspector.workers``."""
    since = now - timedelta(seconds=alive_within)
    return [
        rows.worker(row) for row in connection.execute(queries.live_workers(), {"since": since})
    ]


def unserved(connection: Connection, now: datetime, alive_within: float) -> list[UnservedType]:
    """See ``Inspector.unserved``; in order of queue and type."""
    workers = live_workers(connection, now, alive_within)
    return [
        UnservedType(queue=queue, type=type, waiting=_waiting(connection, queue, type))
        for queue, type in sorted(set(_waiting_types(connection)))
        if not any(worker.serves(queue, type) for worker in workers)
    ]


def series(connection: Connection, since: datetime, until: datetime, span: int) -> list[Bucket]:
    """See ``Inspector.series``."""
    values = {"since": since, "until": until, "span": span}
    found = connection.execute(queries.series(), values)
    return [rows.bucket(row) for row in found if row.minute is not None]


def listed(connection: Connection, now: datetime, filter: Filter, page: Page) -> ActivityPage:
    """See ``Inspector.list``."""
    doubtful = tuple(term for term in filter.where if not is_exact(term))
    walked = _walk(connection, now, filter, page)
    found = list(islice(_looked_into(connection, walked, doubtful), page.limit + 1))
    ids = found[: page.limit]
    infos = get(connection, ids)
    items = tuple(infos[id] for id in ids if id in infos)
    return ActivityPage(items=items, next=ids[-1] if len(found) > len(ids) else None)


def matching(connection: Connection, now: datetime, filter: Filter) -> Iterator[UUID]:
    """The ids of all that match, newest first, read as far as somebody wants them."""
    doubtful = tuple(term for term in filter.where if not is_exact(term))
    walked = _walk(connection, now, filter, Page(limit=WALKED))
    return _looked_into(connection, walked, doubtful)


def _walk(
    connection: Connection, now: datetime, filter: Filter, page: Page
) -> Iterator[Sequence[UUID]]:
    """The ids that the filter's conditions let through, newest first, one more than a page holds;
    then those that follow, as far as somebody wants more."""
    queues = all_queues(connection) if filter.statuses and not filter.queues else ()
    limited = connection.dialect.name == "postgresql"
    while True:
        query = queries.listed(filter, page, queues, now=now, limited=limited)
        found = connection.scalars(query).all()
        readable = [id for id in found if id is not None]
        yield readable
        if len(found) <= page.limit or not readable:
            return
        page = Page(limit=WALKED, before=readable[-1])


def _looked_into(
    connection: Connection, walked: Iterable[Sequence[UUID]], terms: Sequence[Term]
) -> Iterator[UUID]:
    """Those of which the terms hold, too."""
    for ids in walked:
        if not terms:
            yield from ids
            continue
        found = chunked(connection, queries.inside(), "ids", ids)
        matching = {row.id for row in found if matches_inside(rows.inside(row), terms)}
        yield from (id for id in ids if id in matching)


def stats(connection: Connection, now: datetime, queues: Collection[str], cap: int) -> Stats:
    """See ``Inspector.stats``."""
    by_status = dict.fromkeys(Status, 0)
    by_priority = dict.fromkeys(Priority, 0)
    by_queue: dict[str, int] = {}
    firsts: list[datetime] = []
    for queue in dict.fromkeys(queues) if queues else all_queues(connection):
        counts = _by_status(connection, queue, cap)
        for status, count in counts.items():
            by_status[status] = min(cap, by_status[status] + count)
        active = sum(count for status, count in counts.items() if not status.terminal)
        if active:
            by_queue[queue] = min(cap, active)
        if counts[Status.PENDING]:
            firsts += _add_pending(connection, queue, cap, by_priority)
    workers = live_workers(connection, now, ALIVE_WITHIN)
    return Stats(
        by_status=by_status,
        by_priority=by_priority,
        by_queue=by_queue,
        oldest_pending=(now - min(firsts)).total_seconds() if firsts else None,
        workers=len(workers),
        slots=sum(worker.concurrency for worker in workers),
        slots_used=sum(worker.slots_used for worker in workers),
        cap=cap,
    )


def _by_status(connection: Connection, queue: str, cap: int) -> Mapping[Status, int]:
    counts = connection.execute(queries.count_by_status(), {"queue": queue, "cap": cap}).one()
    return dict(zip(Status, counts, strict=True))


def _add_pending(
    connection: Connection, queue: str, cap: int, by_priority: dict[Priority, int]
) -> list[datetime]:
    """Add a queue's pending ones; answers since when the first ones of each kind are ready."""
    row = connection.execute(queries.count_pending(), {"queue": queue, "cap": cap}).one()
    half = len(row) // 2
    for priority, count in zip(2 * list(Priority), row[:half], strict=True):
        by_priority[priority] = min(cap, by_priority[priority] + count)
    return [first for first in row[half:] if first is not None]


def all_queues(connection: Connection) -> Sequence[str]:
    """The queues that have any activity."""
    found: Sequence[str] = connection.scalars(queries.queues()).all()
    return found


def _waiting_types(connection: Connection) -> Iterator[tuple[str, str]]:
    """The pairs of queue and type that have activities waiting."""
    for queue in all_queues(connection):
        for query in (statements.waiting_types(), queries.due_types()):
            for type in connection.scalars(query, {"queue": queue}):
                yield queue, type


def _waiting(connection: Connection, queue: str, type: str) -> int:
    values = {"queue": queue, "type": type, "cap": WAITING_CAP}
    counts: tuple[int, int] = connection.execute(queries.count_waiting(), values).one()
    return min(WAITING_CAP, sum(counts))
