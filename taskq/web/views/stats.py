"""How everything stands, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from taskq.snapshot import Stats

COUNTED_TO: Final = 10_000
"""Counts of the console stop here."""


class StatsView(Struct, frozen=True, kw_only=True):
    """Counts of activities, exact below ``cap``, where they stop.

    ``by_priority`` are the pending ones, ``by_queue`` those not ended. ``oldest_pending`` is the
    age in seconds of the pending activity that has been ready longest. ``workers`` are alive; they
    have ``slots``, of which ``slots_used`` run something.
    """

    by_status: Mapping[str, int]
    by_priority: Mapping[str, int]
    by_queue: Mapping[str, int]
    oldest_pending: float | None
    workers: int
    slots: int
    slots_used: int
    cap: int

    @classmethod
    def of(cls, stats: Stats) -> StatsView:
        """With names for keys."""
        return cls(
            by_status={status.value: count for status, count in stats.by_status.items()},
            by_priority={level.name: count for level, count in stats.by_priority.items()},
            by_queue=stats.by_queue,
            oldest_pending=stats.oldest_pending,
            workers=stats.workers,
            slots=stats.slots,
            slots_used=stats.slots_used,
            cap=stats.cap,
        )
