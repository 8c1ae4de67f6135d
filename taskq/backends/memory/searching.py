"""Searching in slices, over rows in memory. The caller holds the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, TypeAlias
from uuid import UUID

from taskq.backends.memory.row import Row
from taskq.search import Count, Cursor, Order, SearchSlice, check_search
from taskq.snapshot import Filter

Matches: TypeAlias = Callable[[Row], bool]
_Place: TypeAlias = tuple[datetime, UUID]

WINDOW: Final = 128
"""How many rows are looked at before the time is."""


def search(
    rows: Iterable[Row],
    filter: Filter,
    matches: Matches,
    *,
    order: Order,
    limit: int,
    after: Cursor | None,
    over: Callable[[], bool],
) -> SearchSlice:
    """See ``Inspector.search``; ``over``: whether the time is up."""
    check_search(filter, order, after)
    found: list[Row] = []
    last: Row | None = None
    following = _in_order(rows, order, after)
    for place, row in enumerate(following, start=1):
        if matches(row):
            found.append(row)
        if len(found) == limit or (place % WINDOW == 0 and over()):
            last = row if place < len(following) else None
            break
    return SearchSlice(
        items=tuple(row.info() for row in found),
        next=None if last is None else _cursor(order, last),
        searched_to=None if last is None else _instant(order, last),
    )


def count(rows: Sequence[Row], matches: Matches, *, cap: int, over: Callable[[], bool]) -> Count:
    """See ``Inspector.count``."""
    number, looked = 0, iter(rows)
    while window := list(islice(looked, WINDOW)):
        number += sum(map(matches, window))
        if number > cap:
            return Count(cap, exact=False)
        if over():
            break
    return Count(number, exact=next(looked, None) is None)


def _in_order(rows: Iterable[Row], order: Order, after: Cursor | None) -> list[Row]:
    """Those behind the cursor."""
    match order:
        case Order.NEWEST | Order.OLDEST:
            newest = order is Order.NEWEST
            behind = (
                row
                for row in rows
                if after is None or (row.id < after.id if newest else row.id > after.id)
            )
            return sorted(behind, key=lambda row: row.id, reverse=newest)
        case Order.DUE | Order.STARTED:
            place = None if after is None or after.at is None else (after.at, after.id)
            timed = (row for row in rows if row.status in order.statuses)
            late = (row for row in timed if place is None or _place(order, row) > place)
            return sorted(late, key=lambda row: _place(order, row))


def _place(order: Order, row: Row) -> _Place:
    return _instant(order, row), row.id


def _instant(order: Order, row: Row) -> datetime:
    match order:
        case Order.NEWEST | Order.OLDEST:
            return row.created_at
        case Order.DUE:
            return row.ready_at
        case Order.STARTED:
            return row.started_at or row.created_at


def _cursor(order: Order, row: Row) -> Cursor:
    timed = order in (Order.DUE, Order.STARTED)
    return Cursor(row.id, _instant(order, row) if timed else None)
