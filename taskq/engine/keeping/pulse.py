"""The pulse: whether the engine's event loop still answers (design 7.5)."""

from __future__ import annotations

import math
from collections.abc import Callable

from taskq.bridge.poster import Post
from taskq.engine.claiming.holdings import Holdings

LEAST = 60.0
"""Seconds for which an event loop may be silent, whatever the timeouts of what runs there."""


class Pulse:
    """Asks the event loop from outside, and sees whether it answers.

    A handler that blocks the loop is no reason to let go of what it does, for as long as its
    timeout allows. Beyond the longest timeout of what runs, and a minute, the loop counts as stuck:
    ``dump`` writes the stacks of all threads somewhere, once for each time.
    """

    def __init__(self, *, post: Post, holdings: Holdings, dump: Callable[[], None]) -> None:
        self._post = post
        self._holdings = holdings
        self._dump = dump
        self._asked_at: float | None = None
        self.stuck = False

    def feel(self, now: float) -> bool:
        """Ask, and say whether the loop was found stuck just now. ``now`` is monotonic."""
        if self._asked_at is None:
            self._asked_at = now
            self._post(self._answer)
            return False
        if self.stuck or now - self._asked_at <= self.patience:
            return False
        self.stuck = True
        self._dump()
        return True

    def _answer(self) -> None:
        """On the event loop."""
        self._asked_at = None
        self.stuck = False

    @property
    def patience(self) -> float:
        """Seconds for which the loop may be silent as of now; infinite where something runs that
        has no timeout. From any thread."""
        timeouts = [held.attempt.timeout for held in self._holdings.all() if held.running]
        return max(LEAST, *(math.inf if timeout is None else timeout for timeout in timeouts), 0.0)
