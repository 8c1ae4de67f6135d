"""What dead letters have failed of, read by cause: a step in an index for each, then its range."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import groupby, islice
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    FromClause,
    Select,
    bindparam,
    func,
    literal_column,
    select,
    true,
)

from taskq.backends.causes import FAILED, Share, cause, first_causes
from taskq.backends.instants import FIRST
from taskq.backends.sql import queries, reader, rows
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.conditions import is_exact
from taskq.backends.sql.rows import Record
from taskq.backends.sql.tables import activities
from taskq.snapshot import Cause, Filter

_activity = activities.c
_one: ColumnElement[int] = literal_column("1")

MOST_CAUSES = 10_000
"""So many are looked through at the most."""


class Tally(Struct, frozen=True):
    """What has failed of one cause, as far as it was counted; ``shares`` has at least one.
    ``newest`` is the newest of them, where it was met."""

    fingerprint: str
    shares: Sequence[Share]
    newest: UUID | None = None

    @property
    def rank(self) -> tuple[int, datetime, str]:
        """The greater, the sooner it is shown: see ``causes.first_causes``."""
        count = sum(share.count for share in self.shares)
        return count, max(share.last for share in self.shares), self.fingerprint


def dead_letters(
    connection: Connection, now: datetime, filter: Filter, limit: int, cap: int
) -> list[Cause]:
    """See ``Inspector.dead_letters``."""
    if all(is_exact(term) for term in filter.where):
        tallies = _counted(connection, now, filter, cap)
    else:
        tallies = _looked_into(connection, now, filter, cap)
    first = heapq.nlargest(limit, tallies, key=_rank)
    query = newest_of(filter, now)
    newest = {each.fingerprint: each.newest or _newest(connection, query, each) for each in first}
    infos = reader.get(connection, [id for id in newest.values() if id is not None])
    examples = {info.fingerprint: info for info in infos.values()}
    return first_causes(
        (
            cause(examples[each.fingerprint], each.shares, cap)
            for each in first
            if each.fingerprint in examples
        ),
        limit,
    )


def _newest(connection: Connection, query: Executable, tally: Tally) -> UUID | None:
    found: UUID | None = connection.scalar(query, {"cause": tally.fingerprint})
    return found


def _fingerprints(connection: Connection, filter: Filter) -> Sequence[str]:
    if filter.fingerprint is not None:
        return [filter.fingerprint]
    found: Sequence[str] = connection.scalars(fingerprints(), {"most": MOST_CAUSES}).all()
    return found


def _counted(connection: Connection, now: datetime, filter: Filter, cap: int) -> Iterator[Tally]:
    """Every cause: on PostgreSQL, which may be far away, by one statement."""
    if connection.dialect.name == "postgresql" and filter.fingerprint is None:
        counted = connection.execute(counted_each(filter, now), {"most": MOST_CAUSES, "cap": cap})
        for fingerprint, group in groupby(counted, key=_first):
            yield Tally(fingerprint, [_share(row[1:]) for row in group])
        return
    query = counted_of(filter, now)
    for each in _fingerprints(connection, filter):
        counts = connection.execute(query, {"cause": each, "cap": cap})
        shares = [_share(row) for row in counts]
        if shares:
            yield Tally(each, shares)


def _looked_into(
    connection: Connection, now: datetime, filter: Filter, cap: int
) -> Iterator[Tally]:
    """The same one by one, where SQL cannot decide what matches."""
    for each in _fingerprints(connection, filter):
        of_cause = replace(filter, fingerprint=each)
        ids = list(islice(reader.matching(connection, now, of_cause), cap))
        if ids:
            shares = [_share(row) for row in chunked(connection, ends(), "ids", ids)]
            yield Tally(each, shares, ids[0])


def _rank(tally: Tally) -> tuple[int, datetime, str]:
    return tally.rank


def _first(row: Record) -> str:
    found: str = row[0]
    return found


def _share(row: Sequence[Any]) -> Share:
    queue, status, count, first, last = row
    return Share(
        queue=queue or "",
        status=rows.status_of(status) or FAILED[0],
        count=count,
        first=first or FIRST,
        last=last or FIRST,
    )


@cache
def fingerprints() -> Select[*tuple[Any, ...]]:
    """The causes that there are, up to ``most``: a step in an index for each."""
    return queries.stepping(_activity.fingerprint, _activity.fingerprint.is_not(None)).limit(
        bindparam("most")
    )


def counted_of(filter: Filter, now: datetime) -> Executable:
    """How many match of ``cause``, by queue and state, and when the first and last ended; of the
    newest ``cap``."""
    newest = queries.of_cause(filter, now, bindparam("cause")).limit(bindparam("cap")).subquery()
    return _grouped(newest, newest.c.queue, newest.c.status)


def counted_each(filter: Filter, now: datetime) -> Executable:
    """The same of each cause that there is, up to ``most``, one after the other. PostgreSQL."""
    causes = fingerprints().subquery()
    newest = queries.of_cause(filter, now, causes.c.value).limit(bindparam("cap")).lateral()
    groups = (causes.c.value, newest.c.queue, newest.c.status)
    joined = causes.join(newest, true())
    return _grouped(newest, *groups).select_from(joined).order_by(causes.c.value)


def newest_of(filter: Filter, now: datetime) -> Executable:
    """The newest that matches of ``cause``."""
    matching = queries.of_cause(filter, now, bindparam("cause"))
    return matching.with_only_columns(_activity.id).limit(1)


def _grouped(newest: FromClause, *groups: ColumnElement[str]) -> Select[*tuple[Any, ...]]:
    at = newest.c.finished_at
    return select(*groups, func.count(), func.min(at), func.max(at)).group_by(*groups)


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
