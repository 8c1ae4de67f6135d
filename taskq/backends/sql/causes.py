"""What dead letters have failed of, read by cause: a step in an index for each, then its range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import islice

from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    bindparam,
    func,
    literal_column,
    select,
)

from taskq.backends.causes import FAILED, Share, cause, first_causes
from taskq.backends.instants import FIRST
from taskq.backends.sql import queries, reader, rows
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.conditions import is_exact
from taskq.backends.sql.rows import Record
from taskq.backends.sql.tables import activities
from taskq.snapshot import Cause, Filter, Page

_activity = activities.c
_one: ColumnElement[int] = literal_column("1")

MOST_CAUSES = 10_000
"""So many are looked through at the most."""


def dead_letters(
    connection: Connection, now: datetime, filter: Filter, limit: int, cap: int
) -> list[Cause]:
    """See ``Inspector.dead_letters``."""
    found = (
        _cause(connection, now, replace(filter, fingerprint=each), cap)
        for each in _fingerprints(connection, filter)
    )
    return first_causes((each for each in found if each is not None), limit)


def _fingerprints(connection: Connection, filter: Filter) -> Sequence[str]:
    if filter.fingerprint is not None:
        return [filter.fingerprint]
    found: Sequence[str] = connection.scalars(fingerprints(), {"most": MOST_CAUSES}).all()
    return found


def _cause(connection: Connection, now: datetime, filter: Filter, cap: int) -> Cause | None:
    """One cause; None where nothing of it matches."""
    newest = reader.listed(connection, now, filter, Page(limit=1)).items
    if not newest:
        return None
    if all(is_exact(term) for term in filter.where):
        shares = [_share(row) for row in connection.execute(counted(filter, now, cap))]
    else:
        shares = list(_looked_into(connection, now, filter, cap))
    return cause(newest[0], shares, cap)


def _looked_into(
    connection: Connection, now: datetime, filter: Filter, cap: int
) -> Iterator[Share]:
    """The same one by one, where SQL cannot decide what matches."""
    ids = list(islice(reader.matching(connection, now, filter), cap))
    for row in chunked(connection, ends(), "ids", ids):
        yield _share(row)


def _share(row: Record) -> Share:
    queue, status, count, first, last = row
    return Share(
        queue=queue or "",
        status=rows.status_of(status) or FAILED[0],
        count=count,
        first=first or FIRST,
        last=last or FIRST,
    )


@cache
def fingerprints() -> Executable:
    """The causes that there are, up to ``most``: a step in an index for each."""
    return queries.stepping(_activity.fingerprint, _activity.fingerprint.is_not(None)).limit(
        bindparam("most")
    )


def counted(filter: Filter, now: datetime, cap: int) -> Executable:
    """How many match, by queue and state, and when the first and last ended; of the newest."""
    newest = queries.of_cause(filter, now).limit(cap).subquery()
    at = newest.c.finished_at
    return select(
        newest.c.queue, newest.c.status, func.count(), func.min(at), func.max(at)
    ).group_by(newest.c.queue, newest.c.status)


@cache
def ends() -> Executable:
    """As ``counted``, each of ``ids`` by itself."""
    return select(
        _activity.queue,
        _activity.status,
        _one,
        _activity.finished_at.label("first"),
        _activity.finished_at.label("last"),
    ).where(_activity.id.in_(bindparam("ids", expanding=True)))
