"""Where handlers keep their slots while they wait, they can wait for one another for ever.

Only with ``suspend_on_await=False``: every slot is held by a handler that waits for an activity
that none is left to run. It is found and said; only an operator or a timeout can end it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

import anyio

from taskq.engine.claiming.holdings import Held
from taskq.engine.ground import Ground
from taskq.engine.running.permits import Permits
from taskq.events import Blocked, Deadlocked
from taskq.model import Status
from taskq.snapshot import ActivityInfo, WorkerInfo

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

    @property
    def waiting(self) -> int:
        """How many handlers wait, each with a slot."""
        return len(self._awaited())

    def _awaited(self) -> Mapping[Held, frozenset[UUID]]:
        """The handlers that wait, and what for."""
        running = [held for held in self._holdings.all() if held.running]
        awaited = {held: held.context.awaited for held in running if held.context is not None}
        return {held: ids for held, ids in awaited.items() if ids}

    def _all_waiting(self) -> Mapping[Held, frozenset[UUID]]:
        """The same, if all slots are held by such."""
        waiting = self._awaited()
        return waiting if len(waiting) >= self._permits.count else {}

    async def _stuck(self, waiting: Mapping[Held, frozenset[UUID]]) -> bool:
        """Whether nothing that they wait for has ended, runs elsewhere, or can be run by another
        worker that does not only wait itself."""
        awaited = {id for ids in waiting.values() for id in ids}
        found = await self._access.call(self._store.get, awaited)
        workers = await self._access.call(self._store.workers)
        able = [
            worker
            for worker in workers
            if worker.id != self._worker and worker.suspended < worker.concurrency
        ]
        return not any(_goes_on(info, able) for info in found.values())


def _goes_on(info: ActivityInfo, able: Sequence[WorkerInfo]) -> bool:
    if info.status is Status.PROCESSING:
        return any(worker.id == info.worker for worker in able)
    return info.status.terminal or any(worker.serves(info.queue, info.type) for worker in able)


def _blocked(waiting: Mapping[Held, frozenset[UUID]]) -> tuple[Blocked, ...]:
    return tuple(
        Blocked(id=held.attempt.id, type=held.attempt.type, awaits=tuple(sorted(awaited)))
        for held, awaited in waiting.items()
    )
