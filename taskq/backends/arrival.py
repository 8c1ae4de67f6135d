"""How an activity begins: when it is ready, in which state, and whether it runs alone."""

from __future__ import annotations

from datetime import UTC, datetime

from taskq.backends.instants import FIRST, LAST, later
from taskq.errors import Unstorable
from taskq.model import Activity, Status


def ready_at(activity: Activity[object], now: datetime) -> datetime:
    """``run_at``, else ``now`` + ``delay``, else ``now``.

    Raises Unstorable for a ``run_at`` that cannot be stored; a delay ends at LAST.
    """
    at = activity.run_at
    if at is None:
        return now if activity.delay is None else later(now, activity.delay)
    if not FIRST <= at <= LAST:
        years = f"{FIRST.year} to {LAST.year}"
        raise Unstorable(f"activity {activity.id}: run_at {at} is not in the years {years}")
    return at.astimezone(UTC)


def expires_at(activity: Activity[object], now: datetime) -> datetime | None:
    """By when it must have started; None: no limit."""
    return _earlier(activity.expires_at, activity.expires_in, now)


def deadline_at(activity: Activity[object], now: datetime) -> datetime | None:
    """By when it must have ended; None: no limit."""
    return _earlier(activity.deadline_at, activity.deadline_in, now)


def _earlier(at: datetime | None, within: float | None, now: datetime) -> datetime | None:
    """An instant, or so many seconds from ``now``; of both the earlier. Within FIRST and LAST."""
    limits = [] if at is None else [min(max(at.astimezone(UTC), FIRST), LAST)]
    limits += [] if within is None else [later(now, within)]
    return min(limits, default=None)


def still(limit: datetime | None, now: datetime) -> datetime | None:
    """A limit for what an operator starts again at ``now``: one that has passed is lifted."""
    return limit if limit is not None and limit > now else None


def after_a_run(limit: datetime | None, claimed_at: datetime | None) -> datetime | None:
    """By when what an attempt has ended must start: no more, unless it had expired when claimed."""
    expired = limit is not None and claimed_at is not None and limit <= claimed_at
    return limit if expired else None


def first_status(ready_at: datetime, now: datetime) -> Status:
    """Scheduled for one that is ready after ``now``, else pending."""
    return Status.SCHEDULED if ready_at > now else Status.PENDING


def isolated(max_crashes: int) -> bool:
    """Whether the first crash would be the last, so that even the first run is alone."""
    return max_crashes <= 1
