"""The deadlines: what is too late is not started, what runs is stopped, what waits is ended."""

from __future__ import annotations

import math
from functools import partial

import anyio

from taskq.bridge import Doorbell
from taskq.engine.claiming.holdings import Held, Stop
from taskq.engine.claiming.returns import Returns
from taskq.engine.ground import Ground
from taskq.engine.recording.ledger import Ledger
from taskq.engine.supervisor import IDLE
from taskq.lifecycle import Expired, Overdue, lateness

BATCH = 500
"""Activities ended at once that nobody is to start any more."""


class Deadlines:
    """Ends activities by the store's clock, whatever this host's shows.

    The store says at each claim how long there is until ``expires_at`` and ``deadline_at``; from
    then on it counts in the monotonic time that has passed since the reply.
    """

    def __init__(self, ground: Ground, *, ledger: Ledger, returns: Returns) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._holdings = ground.holdings
        self._clock = ground.clock
        self._progress = partial(ground.supervisor.progress, "deadlines")
        self._ledger = ledger
        self._returns = returns
        self._running: dict[Held, float] = {}
        self._next = math.inf
        self._bell = Doorbell()

    def late(self, held: Held) -> Expired | Overdue | None:
        """Why it must not be started any more; None: it may be."""
        return lateness(held.attempt, after=self._clock.monotonic() - held.received_at)

    def watch(self, held: Held) -> None:
        """It is started: stop it at its deadline, if it has one, unless ``forget`` comes before."""
        seconds = held.attempt.deadline_in
        if seconds is None:
            return
        at = self._running[held] = held.received_at + seconds
        if at < self._next:
            self._bell.ring()

    def forget(self, held: Held) -> None:
        """It has ended."""
        self._running.pop(held, None)

    async def run(self) -> None:
        """Stop what runs at its deadline, for ever."""
        while True:
            self._bell.clear()
            self._stop_late()
            self._progress()
            with anyio.move_on_after(self._pause()):
                await self._bell.wait()

    def _stop_late(self) -> None:
        now = self._clock.monotonic()
        for held in [held for held, at in self._running.items() if at <= now]:
            self.forget(held)
            held.stop(Stop.DEADLINE)
        self._next = min(self._running.values(), default=math.inf)

    def _pause(self) -> float:
        return max(0.0, min(IDLE, self._next - self._clock.monotonic()))

    async def sweep(self) -> None:
        """End what waits in the store beyond its limits. Raises BackendError."""
        while not self._ledger.full and await self._sweep_some() == BATCH:
            pass

    async def _sweep_some(self) -> int:
        """Take a batch into this worker's name, so that its end is fenced and its hooks last."""
        began = self._clock.monotonic()
        try:
            attempts = await self._access.call(
                self._backend.claim_overdue, self._worker, BATCH, self._holdings.lease
            )
        except BaseException:  # cancelled too: the store may have given what nobody here knows of
            self._returns.in_doubt = True
            raise
        now = self._clock.monotonic()
        early: list[Held] = []
        for held in self._holdings.take(attempts, claimed_at=began, received_at=now):
            late = self.late(held)
            if late is None:  # the store's clock has just been put back
                early.append(held)
            else:
                self._ledger.put(held, late, 0.0)
        if early:
            await self._returns.give_back(early)
        return len(attempts)
