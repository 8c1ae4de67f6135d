"""When a claim lets waiting count."""

from __future__ import annotations

from taskq.engine.ground import Ground

LONGEST = 1.0
PARTS = 4


class Aging:
    """About once a second, and four times in each interval at least, a claim is by the priorities
    that activities have risen to; the others between them cost what they always do. So what has
    risen gets through a stream of higher ones, and does not stop it where a backlog has risen."""

    def __init__(self, ground: Ground) -> None:
        self._seconds = ground.options.priority_aging
        self._clock = ground.clock
        self._next = ground.clock.monotonic()

    def due(self) -> float | None:
        """Seconds after which an activity rises, where the claim that follows is such a one."""
        now = self._clock.monotonic()
        if self._seconds is None or now < self._next:
            return None
        self._next = now + min(LONGEST, self._seconds / PARTS)
        return self._seconds
