"""Walking over whom a bulk command is about, in the order of their ids, a chunk at a time.

It goes in one direction and takes only what was there before the command: so each is met once, also
one that fails again meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from taskq.backends import Inspector
from taskq.bulk.order import Order
from taskq.bulk.selection import wanted
from taskq.search import Cursor
from taskq.search import Order as Direction
from taskq.snapshot import ActivityInfo

SLICE: Final = 1.0
"""Seconds that one look into the store takes at the most, about."""

Those = Mapping[UUID, ActivityInfo | None]
"""A chunk, by id; None for one that is not there."""


class Walk:
    """Whom the bulk command ``bulk`` is about, those whose ids are above ``after``."""

    def __init__(self, order: Order, bulk: UUID, after: UUID | None) -> None:
        self._bulk = bulk
        self._named = sorted(id for id in order.ids if after is None or id > after)
        self._filter = wanted(order.filter, order.action) if order.filter else None
        self._after = None if after is None else Cursor(after)

    async def chunk(self, store: Inspector, size: int) -> Those:
        """The next ones, ``size`` at the most; none at the end. Beside the store."""
        if self._filter is not None:
            return {info.id: info for info in await self._found(store, size)}
        ids, self._named = self._named[:size], self._named[size:]
        if not ids:
            return {}
        infos = await store.get(ids)
        return {id: infos.get(id) for id in ids}

    async def _found(self, store: Inspector, size: int) -> Sequence[ActivityInfo]:
        found: list[ActivityInfo] = []
        while self._filter is not None and len(found) < size:
            part = await store.search(
                self._filter,
                order=Direction.OLDEST,
                limit=size - len(found),
                after=self._after,
                seconds=SLICE,
            )
            before = [info for info in part.items if info.id < self._bulk]
            found += before
            self._after = part.next
            if part.next is None or len(before) < len(part.items):
                self._filter = None
        return found
