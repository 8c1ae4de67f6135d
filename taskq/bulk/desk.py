"""Where bulk commands are given, and where it is told how they fare."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from taskq.backends import Inspector
from taskq.bulk.action import Action
from taskq.bulk.handler import Standing, standing_of
from taskq.bulk.order import Order, order_of
from taskq.bulk.selection import wanted
from taskq.errors import SerializationError
from taskq.model import Status
from taskq.reserved import BULK
from taskq.search import Cursor
from taskq.snapshot import ActivityInfo, Filter

T = TypeVar("T")

COUNTING = 0.5
"""Seconds for which the activities of one state are counted at the most, about."""


class Ask(Protocol):
    """Asks the store, from any event loop."""

    async def __call__(self, function: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """What it answers."""
        ...


class Preview(Struct, frozen=True, kw_only=True):
    """How many activities a bulk command would be about now: those that match in the states that
    its action is for. Counted up to ``cap`` for each state; not ``exact``: at least so many."""

    count: int
    exact: bool
    by_status: Mapping[Status, int]
    cap: int


class Bulk(Struct, frozen=True, kw_only=True):
    """A bulk command and how it fares: its activity, its order (None where it cannot be read), and
    how far it has come."""

    info: ActivityInfo
    order: Order | None
    standing: Standing

    @property
    def done(self) -> int:
        """To how many it was done."""
        return self.standing.met - self.standing.skipped


class Desk:
    """Looks by ``ask`` at ``reader``."""

    def __init__(self, reader: Inspector, ask: Ask) -> None:
        self._reader = reader
        self._ask = ask

    async def preview(self, action: Action, text: str, *, cap: int) -> Preview:
        """What a filter finds. Raises FilterError, ConfigurationError, see ``selection.wanted``."""
        found = wanted(text, action)
        if found is None:
            return Preview(count=0, exact=True, by_status={}, cap=cap)
        by_status: dict[Status, int] = {}
        exact = True
        for status in found.statuses:
            one = replace(found, statuses=(status,))
            look = partial(self._reader.count, one, cap=cap + 1, seconds=COUNTING)
            count = await self._ask(look)
            exact = exact and count.exact and count.number <= cap
            if count.number:
                by_status[status] = count.number
        return Preview(count=sum(by_status.values()), exact=exact, by_status=by_status, cap=cap)

    async def get(self, id: UUID) -> Bulk | None:
        """One bulk command; None for an id that is none."""
        info = (await self._ask(partial(self._reader.get, [id]))).get(id)
        return None if info is None or info.type != BULK else _bulk(info)

    async def latest(self, *, limit: int, after: Cursor | None) -> tuple[list[Bulk], Cursor | None]:
        """The newest ones, and where to go on."""
        every = Filter(queues=(BULK,), types=(BULK,))
        part = await self._ask(partial(self._reader.search, every, limit=limit, after=after))
        return [_bulk(info) for info in part.items], part.next

    async def reserved(self, ids: Sequence[UUID]) -> list[UUID]:
        """Which of these are bulk commands themselves."""
        found = await self._ask(partial(self._reader.get, ids))
        return [id for id, info in found.items() if info.type == BULK]


def _bulk(info: ActivityInfo) -> Bulk:
    progress = info.progress
    try:
        order = order_of(info.payload)
    except SerializationError:
        order = None
    standing = standing_of(progress.done, progress.note) if progress is not None else Standing()
    return Bulk(info=info, order=order, standing=standing)
