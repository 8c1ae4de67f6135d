"""What every worker serves besides the queues of its options, and when it asks for it."""

from __future__ import annotations

import math

from taskq.clock import Clock

EVERY = 1.0
"""Seconds between two claims for the reserved queues at the least: others shall not feel them."""


class Reserved:
    """The reserved ``names``: each is a queue, and the one type that is there.

    They have claims of their own, of one activity at a time, so that a claim for the worker's own
    queues stays what it is.
    """

    def __init__(self, names: tuple[str, ...], clock: Clock) -> None:
        self.names = names
        self._clock = clock
        self._next_at = clock.monotonic() if names else math.inf
        self._passed = False

    def due(self) -> bool:
        """Whether to ask now; if so, not again for ``EVERY``."""
        now = self._clock.monotonic()
        if now < self._next_at:
            self._passed = True
            return False
        self._next_at = now + EVERY
        self._passed = False
        return True

    @property
    def left(self) -> float:
        """Seconds until to ask again, where something may have come since that was not asked for;
        else infinite."""
        return max(0.0, self._next_at - self._clock.monotonic()) if self._passed else math.inf
