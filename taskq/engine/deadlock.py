"""Where handlers keep their slots while they wait, they can wait for one another for ever.

Only with ``suspend_on_await=False``: every slot is held by a handler that waits for an activity
that none is left to run. It is found and said; only an operator or a timeout can end it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from uuid import UUID

import anyio

from taskq.engine.ground import Ground
from taskq.engine.holdings import Held
from taskq.engine.permits import Permits
from taskq.events import Blocked, Deadlocked
from taskq.model import Status

LOOK = 1.0
"""Seconds between two looks."""
AFTER = 5.0
"""Seconds for which nothing may have changed."""
REMINDER = 30.0
"""Seconds until the same is said again."""


class Deadlock:
    """Looks whether all slots are held by handlers that wait for what runs nowhere else."""

    def __init__(self, ground: Ground, *, permits: Permits) -> None:
        self.found = False
        self._access = ground.access
        self._store = ground.backend
        self._worker = ground.worker
        self._holdings = ground.holdings
        self._clock = ground.clock
        self._emit = ground.emit
        self._progress = partial(ground.supervisor.progress, "deadlock")
        self._permits = permits
        self._waiting: Mapping[Held, frozenset[UUID]] = {}
        self._since = ground.clock.monotonic()
        self._said_at: float | None = None

    async def run(self) -> None:
        """Look for ever. Raises BackendError."""
        while True:
            await self._look()
            self._progress()
            await anyio.sleep(LOOK)

    async def _look(self) -> None:
        now = self._clock.monotonic()
        waiting = self._all_waiting()
        if not waiting or waiting != self._waiting:
            self._waiting, self._since = waiting, now
            self.found, self._said_at = False, None
            return
        if now - self._since < AFTER or not await self._stuck(waiting):
            return
        self.found = True
        if self._said_at is None or now - self._said_at >= REMINDER:
            self._said_at = now
            self._emit(Deadlocked(worker=self._worker, handlers=_blocked(waiting)))

    def _all_waiting(self) -> Mapping[Held, frozenset[UUID]]:
        """What each handler waits for, if all slots are held by handlers that wait."""
        running = [held for held in self._holdings.all() if held.running]
        waiting = {held: held.context.awaited for held in running if held.context is not None}
        if self._permits.used < self._permits.count or not all(waiting.values()):
            return {}
        return waiting

    async def _stuck(self, waiting: Mapping[Held, frozenset[UUID]]) -> bool:
        """Whether nothing that they wait for runs anywhere, or has ended."""
        awaited = {id for ids in waiting.values() for id in ids}
        found = await self._access.call(self._store.get, awaited)
        return all(
            not info.status.terminal
            and (info.status is not Status.PROCESSING or info.worker == self._worker)
            for info in found.values()
        )


def _blocked(waiting: Mapping[Held, frozenset[UUID]]) -> tuple[Blocked, ...]:
    return tuple(
        Blocked(id=held.attempt.id, type=held.attempt.type, awaits=tuple(sorted(awaited)))
        for held, awaited in waiting.items()
    )
