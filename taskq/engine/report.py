"""The background errors of a worker, for whoever wants to read them."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from itertools import count

from taskq.bridge import Doorbell
from taskq.events import BackgroundError

KEPT = 256
"""How many errors are kept at the most: the first half and the last half of them."""


class ErrorLog:
    """Background errors, oldest first (seed:W24).

    Of many it keeps the first 128 and the last 128: how it began and how it stands (D38).
    Errors may be added from any thread.

    ``async for error in log`` gives what is kept, then waits for more; it ends when the worker has
    stopped. Every loop over it reads for itself, from the first. A reader that is too slow misses
    what is dropped before it comes.
    """

    def __init__(self) -> None:
        self._numbers = count()
        self._first: list[tuple[int, BackgroundError]] = []
        self._last: deque[tuple[int, BackgroundError]] = deque(maxlen=KEPT // 2)
        self._total = 0
        self._closed = False
        self._readers: set[Doorbell] = set()

    @property
    def total(self) -> int:
        """How many errors there were."""
        return self._total

    @property
    def dropped(self) -> int:
        """How many of them are no longer kept."""
        return max(0, self._total - KEPT)

    def kept(self) -> list[BackgroundError]:
        """Those that are kept, oldest first."""
        return [error for _, error in self._entries()]

    def add(self, error: BackgroundError) -> None:
        """Keep one more, and wake the readers."""
        number = next(self._numbers)
        half = self._first if number < KEPT // 2 else self._last
        half.append((number, error))
        self._total = number + 1
        self._wake()

    def close(self) -> None:
        """The worker has stopped: readers end after what is kept."""
        self._closed = True
        self._wake()

    async def __aiter__(self) -> AsyncIterator[BackgroundError]:
        bell = Doorbell()
        self._readers.add(bell)
        try:
            seen = -1
            while True:
                bell.clear()
                closed = self._closed
                for number, error in self._entries():
                    if number > seen:
                        seen = number
                        yield error
                if closed:
                    return
                await bell.wait()
        finally:
            self._readers.discard(bell)

    def _entries(self) -> list[tuple[int, BackgroundError]]:
        return [*self._first, *self._last.copy()]

    def _wake(self) -> None:
        for bell in self._readers.copy():
            bell.ring()
