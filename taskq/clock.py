"""The one place where time is read."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Two clocks, never mixed: instants for what is stored, a monotonic one for durations."""

    def now(self) -> datetime:
        """The current instant, aware UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, the same on every thread; only differences mean something."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The current instant, aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """``time.monotonic()``: goes on while the process is stopped."""
        return time.monotonic()
