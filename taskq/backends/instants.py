"""Which instants can be stored, and what lies so many seconds ahead; the same for every backend."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The earliest instant that can be stored."""
LAST: Final = datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
"""The latest one: what would be later is stored as this."""


def later(now: datetime, seconds: float) -> datetime:
    """``now`` + ``seconds``, within FIRST and LAST. Never raises, however long it is."""
    if not seconds < (LAST - now).total_seconds():
        return LAST
    if seconds < (FIRST - now).total_seconds():
        return FIRST
    return now + timedelta(seconds=seconds)
