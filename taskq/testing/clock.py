"""Clocks for tests: one that moves when told, one that follows the event loop's own time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
"""Where test clocks start, unless told otherwise."""


class ManualClock:
    """A clock that moves only by ``advance``. ``start`` is aware; the default is ``EPOCH``.

    Reading it is safe on any thread; advance it on one thread at a time.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._start = _aware(start)
        self._elapsed = timedelta()

    def now(self) -> datetime:
        """``start`` plus all that it was advanced by, aware UTC."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """All the seconds that it was advanced by, from 0.0."""
        return self._elapsed.total_seconds()

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds``, to the microsecond. ValueError when negative."""
        if seconds < 0:
            raise ValueError(f"a clock cannot be advanced by {seconds!r} seconds")
        self._elapsed += timedelta(seconds=seconds)


class LoopClock:
    """A clock that follows the running event loop's clock: virtual time under trio's MockClock.

    The first reading is ``start`` (aware; the default is ``EPOCH``). Every reading must be made on
    a thread that runs an event loop; elsewhere anyio raises its own error. So it suits memory and
    async handlers only.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._start = _aware(start)
        self._zero: float | None = None

    def now(self) -> datetime:
        """``start`` plus the loop's seconds since the first reading, aware UTC."""
        return self._start + timedelta(seconds=self._since(anyio.current_time()))

    def monotonic(self) -> float:
        """The loop's own clock, in seconds."""
        time = anyio.current_time()
        self._since(time)
        return time

    def _since(self, time: float) -> float:
        if self._zero is None:
            self._zero = time
        return time - self._zero


def _aware(start: datetime | None) -> datetime:
    if start is None:
        return EPOCH
    if start.tzinfo is None:
        raise ValueError(f"a clock's start must be aware, not {start!r}")
    return start.astimezone(UTC)
