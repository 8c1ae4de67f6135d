"""Searching in slices, in one transaction each. ``now`` is the store's instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from taskq.backends.sql import queries, reader, rows
from taskq.backends.sql.chunks import CHUNK, chunked
from taskq.backends.sql.conditions import is_exact
from taskq.backends.sql.search_statements import (
    Ground,
    along_indexes,
    counted,
    edge,
    ground,
    matches,
)
from taskq.filtering.matching import matches_inside
from taskq.filtering.terms import Term
from taskq.search import Count, Cursor, Order, SearchSlice, check_search
from taskq.snapshot import Filter

FIRST_WINDOW: Final = 128
"""How many rows are looked at first: they may be large."""
LARGEST_WINDOW: Final = 4096
"""And at the most, once it has shown that it is quick."""
QUICK: Final = 0.02
"""A window that took fewer seconds is followed by one four times as large."""
MERGED_ROWS: Final = 16_384
"""The rows of a window, summed over all ranges that are merged, at the most: each may be read so
far."""


def search(
    connection: Connection,
    now: datetime,
    filter: Filter,
    *,
    order: Order,
    limit: int,
    after: Cursor | None,
    patience: Patience,
) -> SearchSlice:
    """See ``Inspector.search``."""
    check_search(filter, order, after)
    walk = _walk(connection, now, filter, order, after, patience)
    found: list[Cursor] = []
    while not walk.ended and len(found) < limit:
        found += walk.step(limit - len(found))
        if patience.over:
            break
    infos = reader.get(connection, [each.id for each in found])
    return SearchSlice(
        items=tuple(infos[each.id] for each in found if each.id in infos),
        next=None if walk.ended else walk.position,
        searched_to=None if walk.ended else walk.searched_to,
    )


def count(
    connection: Connection, now: datetime, filter: Filter, *, cap: int, patience: Patience
) -> Count:
    """See ``Inspector.count``."""
    walk = _walk(connection, now, filter, Order.NEWEST, None, patience)
    number = 0
    while not walk.ended and number <= cap:
        number += walk.counted(cap + 1 - number)
        if patience.over:
            break
    return Count(min(number, cap), exact=walk.ended and number <= cap)


class Patience:
    """For how long to go on: ``seconds`` from its making, by this monotonic clock."""

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self._until = monotonic() + seconds

    @property
    def over(self) -> bool:
        """Whether they have passed."""
        return self.monotonic() >= self._until


class Walk:
    """Goes over the ground window by window. ``position`` is the last row that was looked at,
    ``searched_to`` its instant; ``ended``: there are no more."""

    def __init__(
        self,
        connection: Connection,
        ground: Ground,
        after: Cursor | None,
        patience: Patience,
        doubtful: Sequence[Term],
    ) -> None:
        self.position = after
        self.searched_to: datetime | None = None
        self.ended = False
        self._connection = connection
        self._ground = ground
        self._monotonic = patience.monotonic
        self._doubtful = doubtful
        self._largest = max(1, min(LARGEST_WINDOW, MERGED_ROWS // len(ground.ranges)))
        self._window = min(FIRST_WINDOW, self._largest)

    def step(self, most: int) -> list[Cursor]:
        """Those of the next window that match, up to ``most``; it then stands behind them."""
        began = self._monotonic()
        wanted = CHUNK if self._doubtful else most
        query = matches(self._ground, self.position, window=self._window, most=wanted + 1)
        found = [
            (self._cursor(id, at), at)
            for id, at in self._connection.execute(query)
            if id is not None and (at is not None or not self._timed)
        ]
        whole = len(found) <= wanted
        found = found[:wanted]
        last = None if whole else found[-1]
        found = self._looked_into(found)
        if len(found) > most:
            found, last = found[:most], found[most - 1]
        if last is not None:
            self.position, self.searched_to = last
        else:
            self._go_on()
        self._adapt(began)
        return [cursor for cursor, _ in found]

    def counted(self, most: int) -> int:
        """How many of the next window match, counted up to ``most``: then it stands nowhere."""
        if self._doubtful:
            return len(self.step(most))
        began = self._monotonic()
        query = counted(self._ground, self.position, window=self._window, most=most)
        number: int = self._connection.execute(query).scalar_one()
        if number < most:
            self._go_on()
        self._adapt(began)
        return number

    def _go_on(self) -> None:
        """Stand at the window's edge."""
        if not self._ground.windowed:
            self.ended = True
            return
        query = edge(self._ground, self.position, window=self._window)
        row = self._connection.execute(query).first()
        if row is None or row[0] is None or row[2] < self._window:
            self.ended = True
            return
        id, self.searched_to, _ = row
        if self._timed and self.searched_to is None:
            self.ended = True
            return
        self.position = self._cursor(id, self.searched_to)

    def _looked_into(
        self, found: list[tuple[Cursor, datetime | None]]
    ) -> list[tuple[Cursor, datetime | None]]:
        """Those of which the terms hold, too, that SQL cannot decide."""
        if not self._doubtful:
            return found
        ids = [cursor.id for cursor, _ in found]
        read = chunked(self._connection, queries.inside(), "ids", ids)
        kept = {row.id for row in read if matches_inside(rows.inside(row), self._doubtful)}
        return [each for each in found if each[0].id in kept]

    def _adapt(self, began: float) -> None:
        if self._monotonic() - began < QUICK:
            self._window = min(self._largest, 4 * self._window)

    @property
    def _timed(self) -> bool:
        return self._ground.order in (Order.DUE, Order.STARTED)

    def _cursor(self, id: UUID, at: datetime | None) -> Cursor:
        return Cursor(id, at if self._timed else None)


def _walk(
    connection: Connection,
    now: datetime,
    filter: Filter,
    order: Order,
    after: Cursor | None,
    patience: Patience,
) -> Walk:
    postgres = connection.dialect.name == "postgresql"
    needed = filter.statuses and not filter.queues and order in (Order.NEWEST, Order.OLDEST)
    queues = reader.all_queues(connection) if needed else ()
    if postgres:
        connection.execute(along_indexes())
    along = ground(filter, order, queues, now, postgres=postgres)
    doubtful = [term for term in filter.where if not is_exact(term)]
    return Walk(connection, along, after, patience, doubtful)
