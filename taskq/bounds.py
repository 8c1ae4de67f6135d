"""``max_pending`` and ``overflow`` of a queue, checked where they are written (seed:E25)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from taskq.clock import Clock
from taskq.errors import ConfigurationError, QueueFull
from taskq.model import Activity, Bound, Overflow
from taskq.options import MOST, TaskOptionArguments

FIRST, LAST = 0.02, 1.0
"""Seconds between two looks for room: the first pause, and the longest."""


class QueueArguments(TaskOptionArguments, total=False):
    """The keywords of ``taskq.queue``, for type checkers.

    ``max_pending``: how many activities may wait there. ``overflow``: what a call gets beyond that:
    it waits for room for ``enqueue_timeout`` at the most (``"block"``, the default), raises
    QueueFull (``"error"``), or takes the place of the oldest one (``"drop_oldest"``).
    """

    max_pending: int
    overflow: Literal["block", "error", "drop_oldest"]


def checked_bound(where: str, given: dict[str, object]) -> Bound | None:
    """Take ``max_pending`` and ``overflow`` out of the keywords of a queue. Raises
    ConfigurationError; ``where`` begins the sentence."""
    overflow = given.pop("overflow", None)
    most = given.pop("max_pending", None)
    if most is None:
        if overflow is not None:
            raise ConfigurationError(f"{where}: overflow needs max_pending, how many may wait")
        return None
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST:
        raise ConfigurationError(
            f"{where}: max_pending must be a whole number, at least 1 and at most {MOST},"
            f" not {most!r}"
        )
    if overflow is None:
        return Bound(most)
    for choice in Overflow:
        if overflow == choice:
            return Bound(most, choice)
    choices = ", ".join(f'"{choice}"' for choice in Overflow)
    raise ConfigurationError(f"{where}: overflow must be one of {choices}, not {overflow!r}")


def check_batch(activities: Sequence[Activity[Any]]) -> None:
    """ValueError where one batch has more calls for a queue than may wait there at all."""
    counts = Counter(activity.queue for activity in activities if activity.needs_room)
    for activity in activities if counts else ():
        bound = activity.bound
        if bound is not None and counts[activity.queue] > bound.most:
            raise ValueError(
                f"{counts[activity.queue]} calls at once for queue {activity.queue!r}, whose"
                f" max_pending is {bound.most}: they can never have room together; send fewer at"
                " a time"
            )


def blocks(activities: Sequence[Activity[Any]], full: QueueFull) -> bool:
    """Whether these calls are to wait for room in that queue."""
    return any(
        activity.queue == full.queue
        and activity.bound is not None
        and activity.bound.overflow is Overflow.BLOCK
        for activity in activities
    )


class Patience:
    """How long these calls wait for room: with pauses that grow, ``seconds`` in all."""

    def __init__(self, clock: Clock, activities: Sequence[Activity[Any]], seconds: float) -> None:
        self._clock = clock
        self._activities = activities
        self._end = clock.monotonic() + seconds
        self._pause = FIRST

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._end - self._clock.monotonic())

    def after(self, full: QueueFull) -> float:
        """Seconds until the next try. Raises ``full`` where these calls do not wait, or no
        longer."""
        if not blocks(self._activities, full) or self.left <= self._pause:
            raise full
        pause, self._pause = self._pause, min(LAST, 2 * self._pause)
        return pause
