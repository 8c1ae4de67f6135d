"""Bounded queues: who needs room, and what is said where there is none (seed:E25).

What waits counts: pending, scheduled and retrying, ``pausing.WAITING``. Only roots with a ``bound``
need room; what else comes to wait (children, retries, what was handed back) counts, and may be more
than the bound. Room is made in order of the queues' names, so that producers never wait for each
other in a circle.

Of a large bound not every call is counted for. A count vouches, for ``VOUCHED`` seconds, for a
quarter as many calls as it found room for, and each call uses that up: so calls alone never get
beyond the bound. What else comes to wait is seen by the next count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from msgspec import Struct

from taskq.errors import QueueFull
from taskq.model import Activity, Bound, Receipt

TRIES = 3
"""How often room is looked for while others begin what was to make room."""

LARGE = 1000
"""The least bound that is not counted for every call."""
VOUCHED = 1.0
"""Seconds that a count is good for."""


class Demand(Struct, frozen=True):
    """Calls that need room in one queue."""

    queue: str
    bound: Bound
    ids: frozenset[UUID]

    @property
    def counted_to(self) -> int:
        """As far as it matters how many wait."""
        return self.bound.most + len(self.ids) + 1

    def shortage(self, waiting: int) -> int:
        """How many must go, of ``waiting`` with these calls among them."""
        return max(0, min(len(self.ids), waiting - self.bound.most))

    def vouched(self, waiting: int) -> int:
        """For how many more calls a count vouches that found ``waiting``."""
        return max(0, self.bound.most - waiting) // 4 if self.bound.most >= LARGE else 0

    def refused(self, waiting: int) -> QueueFull:
        """The error, where ``waiting`` counts these calls too."""
        others = waiting - len(self.ids)
        return QueueFull(
            f"queue {self.queue!r} is full: {others} wait there, and its max_pending is"
            f" {self.bound.most}",
            queue=self.queue,
            bound=self.bound.most,
            waiting=others,
        )


def bounded(activities: Sequence[Activity[object]]) -> bool:
    """Whether any of these calls may need room."""
    return any(activity.needs_room for activity in activities)


def demands(
    activities: Sequence[Activity[object]], receipts: Sequence[Receipt], stored: Collection[UUID]
) -> list[Demand]:
    """What the calls that are new need; ``stored`` were there before. In order of the queues."""
    bounds: dict[str, Bound] = {}
    ids: dict[str, set[UUID]] = {}
    for activity, receipt in zip(activities, receipts, strict=True):
        fresh = receipt.created and receipt.id == activity.id and activity.id not in stored
        if activity.bound is not None and activity.needs_room and fresh:
            bounds.setdefault(activity.queue, activity.bound)
            ids.setdefault(activity.queue, set()).add(activity.id)
    return [Demand(queue, bounds[queue], frozenset(ids[queue])) for queue in sorted(ids)]
