"""The worker's end of one ``gather`` or ``as_completed`` of a handler in a process."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

import anyio

from taskq.context import waiting
from taskq.endings import Endings
from taskq.model import Ended

MOST_AT_ONCE: Final = 32
"""Ends in one answer at the most: results are large at times, and messages have a limit."""


class Series:
    """The ends of these activities, told from where the process has come to."""

    def __init__(self, endings: Endings, ids: Collection[UUID]) -> None:
        self._endings = endings
        self._awaited = set(ids)
        self._untold: list[tuple[UUID, Ended | None]] = []
        self._had = 0
        self._asking = anyio.Lock()

    async def after(self, had: int) -> list[tuple[UUID, Ended | None]]:
        """The ends that follow the first ``had``: one at least, unless these were all.

        The attempt gives its slot up while it waits. Being cancelled loses none of them. Raises
        BackendError.
        """
        del self._untold[: had - self._had]
        self._had = had
        if not self._untold and self._awaited:
            async with waiting(frozenset(self._awaited)), self._asking:
                if not self._untold:  # one that was abandoned may have come by it
                    await self._next()
        async with self._asking:
            while self._awaited and self._endings.ready and len(self._untold) < MOST_AT_ONCE:
                await self._next()
        return self._untold[:MOST_AT_ONCE]

    def close(self) -> None:
        """Wait no longer."""
        self._endings.close()

    async def _next(self) -> None:
        found = await anext(self._endings)
        self._awaited.discard(found[0])
        self._untold.append(found)
