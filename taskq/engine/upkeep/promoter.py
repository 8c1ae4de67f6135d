"""The promoter: moves what is due to pending, at the instant it is due (design 7.4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio

from taskq.bridge import Doorbell
from taskq.engine.ground import Ground
from taskq.events import Promoted

BATCH = 1000
"""Activities moved at once."""
SHORTEST = 0.001
BREATH = 0.05
"""Seconds between two looks at the least, and between two looks for the sake of hints."""


class Promoter:
    """Moves due activities, then sleeps until the next one is due.

    A ring means that a sooner due time may have been stored. Without one it looks at least every
    ``poll_max`` seconds. ``on_moved`` is called after something became pending.
    """

    def __init__(self, ground: Ground, *, on_moved: Callable[[], None]) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._emit = ground.emit
        self._longest = ground.options.poll_max
        self._progress = partial(ground.supervisor.progress, "promoter")
        self._on_moved = on_moved
        self._bell = Doorbell()

    def ring(self) -> None:
        """A sooner due time may have been stored. From any thread."""
        self._bell.ring()

    async def run(self) -> None:
        """Promote for ever. Raises BackendError when the store cannot be reached."""
        while True:
            self._bell.clear()
            promotion = await self._access.call(self._backend.promote, BATCH)
            self._progress()
            self._emit(Promoted(worker=self._worker, count=promotion.moved))
            if promotion.moved:
                self._on_moved()
            if promotion.moved < BATCH:
                await self._sleep(promotion.next_due)

    async def _sleep(self, next_due: float | None) -> None:
        """Until the next due instant or a ring; never negative (bug:B73)."""
        longest = self._longest if next_due is None else min(next_due, self._longest)
        with anyio.move_on_after(max(longest, SHORTEST)):
            await anyio.sleep(BREATH)
            await self._bell.wait()
