"""How long to wait before trying again."""

from __future__ import annotations

from collections.abc import Callable

FIRST = 0.1
LAST = 5.0


class Backoff:
    """Pauses that double from ``first`` to ``last`` seconds, each spread over its upper half.

    ``random`` gives numbers in 0 to 1. Never negative (bug:B73).
    """

    def __init__(
        self, random: Callable[[], float], *, first: float = FIRST, last: float = LAST
    ) -> None:
        self._random = random
        self._first = first
        self._last = last
        self._middle = first

    def pause(self) -> float:
        """Seconds to wait now; the next answer is about twice as long."""
        middle = self._middle
        self._middle = min(self._last, middle * 2)
        return middle * (0.5 + self._random() / 2)

    def reset(self) -> None:
        """It worked: begin with the shortest pause again."""
        self._middle = self._first
