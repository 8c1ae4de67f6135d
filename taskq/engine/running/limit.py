"""How long an attempt may run."""

from __future__ import annotations

import math
from collections.abc import Callable

import anyio


class TimeLimit:
    """A scope that ends after ``seconds`` of running time from now (None: never).

    ``now`` is the event loop's clock. The time stands still between ``pause`` and ``resume``, which
    nest.
    """

    def __init__(self, seconds: float | None, now: Callable[[], float]) -> None:
        self.left: float = math.inf if seconds is None else seconds
        self.scope = anyio.CancelScope(deadline=now() + self.left)
        self._now = now
        self._pauses = 0

    def pause(self) -> None:
        """The time stands still."""
        self._pauses += 1
        if self._pauses == 1:
            self.left = self.scope.deadline - self._now()
            self.scope.deadline = math.inf

    def resume(self) -> bool:
        """It runs on, unless there is another pause; whether it does."""
        self._pauses -= 1
        if self._pauses == 0:
            self.scope.deadline = self._now() + self.left
        return self._pauses == 0
