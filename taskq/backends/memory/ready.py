"""Where pending activities queue, and where those that are not due yet wait."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from taskq.aging import risen
from taskq.backends import ClaimRequest
from taskq.backends.memory.row import Row
from taskq.model import Status

_Place: TypeAlias = tuple[int, datetime, UUID]
"""Minus the priority, ready time, id: what is lower is claimed sooner."""


class ReadyLines:
    """Pending activities: a heap per queue, type and isolation.

    A row that leaves pending, or is deleted, stays in its heap and is dropped when it comes to the
    head; one that comes back is added again.
    """

    def __init__(self, rows: Mapping[UUID, Row]) -> None:
        self._rows = rows
        self._lines: dict[str, dict[tuple[str, bool], list[_Place]]] = {}

    def add(self, row: Row) -> None:
        """Queue a row that has become pending."""
        lines = self._lines.setdefault(row.activity.queue, {})
        line = lines.setdefault((row.activity.type, row.isolate), [])
        heapq.heappush(line, _place(row))

    def take(self, request: ClaimRequest, now: datetime) -> Iterator[Row]:
        """Remove and give the wanted rows in claim order, as long as the caller goes on."""
        if request.children:
            yield from self._take_children(request)
            return
        if request.aging is not None:
            yield from self._take_risen(request, now, request.aging)
            return
        heads = [
            (line[0], line) for line in self._wanted(request) if self._clean(line, request.alone)
        ]
        heapq.heapify(heads)
        while heads:
            (_, _, id), line = heads[0]
            heapq.heappop(line)
            yield self._rows[id]
            if self._clean(line, request.alone):
                heapq.heapreplace(heads, (line[0], line))
            else:
                heapq.heappop(heads)

    def _take_children(self, request: ClaimRequest) -> Iterator[Row]:
        """Those with a parent, the deepest first. They stay in their lines, to be dropped there."""
        children = [row for row in self._there(request) if row.activity.parent_id is not None]
        yield from sorted(children, key=lambda row: (-row.activity.depth, *_place(row)))

    def _take_risen(self, request: ClaimRequest, now: datetime, aging: float) -> Iterator[Row]:
        """By the priority that they have risen to. They stay in their lines, likewise."""

        def place(row: Row) -> _Place:
            waited = (now - row.ready_at).total_seconds()
            return -risen(row.activity.priority, waited, aging), row.ready_at, row.id

        yield from sorted(self._there(request), key=place)

    def _there(self, request: ClaimRequest) -> list[Row]:
        """The wanted rows, in no order."""
        places = {place for line in self._wanted(request) for place in line}
        rows = map(self._rows.get, {id for _, _, id in places})
        return [
            row
            for row in rows
            if row is not None and row.status is Status.PENDING and row.isolate is request.alone
        ]

    def _wanted(self, request: ClaimRequest) -> Iterator[list[_Place]]:
        for queue in dict.fromkeys(request.queues):
            lines = self._lines.get(queue, {})
            for type in dict.fromkeys(_types(lines) if request.types is None else request.types):
                if request.types is None and type in request.without:
                    continue
                line = lines.get((type, request.alone))
                if line is not None:
                    yield line

    def _clean(self, line: list[_Place], isolate: bool) -> bool:
        """Drop what is no longer pending at its place; whether anything is left."""
        while line:
            row = self._rows.get(line[0][2])
            if row is not None and _is_here(row, line[0], isolate):
                return True
            heapq.heappop(line)
        return False


class DueLine:
    """Scheduled and retrying activities by due time; stale entries are as in ReadyLines."""

    def __init__(self, rows: Mapping[UUID, Row]) -> None:
        self._rows = rows
        self._line: list[tuple[datetime, UUID]] = []

    def add(self, row: Row) -> None:
        """Queue a row that has become scheduled or retrying."""
        heapq.heappush(self._line, (row.ready_at, row.id))

    def head(self) -> Row | None:
        """The row that is due first, left where it is."""
        while self._line:
            ready_at, id = self._line[0]
            row = self._rows.get(id)
            if row is not None and row.status in _WAITING and row.ready_at == ready_at:
                return row
            heapq.heappop(self._line)
        return None


class LimitLine:
    """What waits and must have started, or ended, by some instant, in the order of these instants;
    stale entries are as in ReadyLines. ``limit_of`` is the one limit of a row that is meant."""

    def __init__(
        self, rows: Mapping[UUID, Row], limit_of: Callable[[Row], datetime | None]
    ) -> None:
        self._rows = rows
        self._limit_of = limit_of
        self._line: list[tuple[datetime, UUID]] = []

    def add(self, row: Row) -> None:
        """Queue a row that waits, if it has such a limit."""
        limit = self._limit_of(row)
        if limit is not None:
            heapq.heappush(self._line, (limit, row.id))

    def take(self, now: datetime) -> Row | None:
        """Remove and give the row whose limit has passed for the longest time."""
        while self._line and self._line[0][0] <= now:
            limit, id = heapq.heappop(self._line)
            row = self._rows.get(id)
            if row is None:
                continue
            waits = row.status is Status.PENDING or row.status in _WAITING
            if waits and self._limit_of(row) == limit:
                return row
        return None


_WAITING = frozenset({Status.SCHEDULED, Status.RETRYING})


def _place(row: Row) -> _Place:
    return -row.activity.priority, row.ready_at, row.id


def _is_here(row: Row, place: _Place, isolate: bool) -> bool:
    pending = row.status is Status.PENDING
    return pending and row.isolate is isolate and _place(row) == place


def _types(lines: Mapping[tuple[str, bool], object]) -> Iterator[str]:
    return (type for type, _ in lines)
