"""What waits long enough counts as one priority higher, and after as long again as two (D6)."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from taskq.model import Attempt, Priority

LEVELS: Final = max(Priority) - min(Priority)
"""How often the lowest can rise."""


def risen(priority: int, waited: float, aging: float) -> int:
    """The priority that counts after ``waited`` seconds, one level for each ``aging`` seconds."""
    return int(min(max(Priority), priority + max(0.0, waited) // aging))


def place(attempt: Attempt, aging: float) -> tuple[int, datetime, UUID]:
    """Where an attempt stands among those that were claimed with it: what is lower goes first."""
    since = attempt.claimed_at or attempt.ready_at
    waited = (since - attempt.ready_at).total_seconds()
    return -risen(attempt.priority, waited, aging), attempt.ready_at, attempt.id
