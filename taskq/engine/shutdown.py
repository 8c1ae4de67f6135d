"""The shutdown, in order (design 7.11). This page is the whole of it.

1. Nothing more is claimed. A claim on its way is finished, and what it brings handed back.
2. What was claimed and not started is handed back.
3. Handlers may run for the grace, leases renewed as ever.
4. Those still running are cancelled; only what was really cancelled goes back to pending, nothing
   burnt. What finished first is kept.
5. Outcomes are written.
6. The keeper gives its last heartbeat.
7. Whatever the store still holds in this worker's name is handed back; the worker's row is removed.

Each step has its share of ``MARGIN`` beyond the grace, so the whole ends in time though the store
be gone. Only a handler that will not be cancelled can hold the engine's task: then all of the above
is done before, its activity is back in the queue, and it is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import anyio

from taskq.engine.backoff import Backoff
from taskq.engine.claiming.holdings import Held, Stop
from taskq.engine.claiming.returns import Returns
from taskq.engine.ground import Ground
from taskq.engine.keeping.keeper import Keeper
from taskq.engine.recording.ledger import Ledger
from taskq.engine.running.slots import Slots
from taskq.engine.supervisor import Loop
from taskq.errors import BackendError
from taskq.lifecycle import Interrupted

MARGIN = 3.0
"""Seconds beyond the grace after which everything has ended, whatever the store does."""
UNWOUND = 1.0
"""By then, within the margin, cancelled handlers have unwound."""
WRITTEN = 2.0
"""By then the outcomes are written, or given up."""
LAST_BEAT = 2.5
"""By then the keeper has ended."""


class Shutdown:
    """Ends what an engine has begun. Its times are the event loop's."""

    def __init__(
        self, ground: Ground, *, slots: Slots, ledger: Ledger, returns: Returns, keeper: Keeper
    ) -> None:
        self._ground = ground
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._holdings = ground.holdings
        self._report = partial(ground.supervisor.report, "shutdown")
        self._slots = slots
        self._ledger = ledger
        self._returns = returns
        self._keeper = keeper
        self._grace_end = math.inf
        self._phases: dict[anyio.CancelScope, float] = {}

    def allow(self, grace: float) -> None:
        """Handlers have ``grace`` seconds from now, or less if it was less before."""
        self._grace_end = min(self._grace_end, anyio.current_time() + grace)
        for phase, beyond in self._phases.items():
            phase.deadline = self._grace_end + beyond
        self._access.end_by(self._grace_end + MARGIN)

    async def finish(self, *, intake: Sequence[Loop], keeping: Loop) -> None:
        """Steps 1 to 7; ``allow`` was called. ``intake`` are the loops that take activities in."""
        for loop in intake:
            loop.end()
        self._slots.close()
        async with anyio.create_task_group() as group:
            group.start_soon(self._hand_back_unstarted)
            await self._finish_attempts()
        await self.flush()
        for loop in intake:
            await loop.ended.wait()
        self._keeper.stop()
        with self._phase(LAST_BEAT):
            await keeping.ended.wait()
        keeping.end()
        await keeping.ended.wait()
        await self.leave()

    async def flush(self) -> None:
        """Step 5, trying again until the time for it is up."""
        backoff = Backoff(self._ground.random, last=0.5)
        with self._phase(WRITTEN):
            while not self._ledger.settled:
                try:
                    await self._ledger.flush()
                except BackendError as error:
                    self._report(error)
                    await anyio.sleep(backoff.pause())

    async def leave(self) -> None:
        """Step 7: nothing stays in this worker's name, trying again until the time for it is up."""
        backoff = Backoff(self._ground.random, first=0.05, last=0.2)
        with self._phase(MARGIN), anyio.move_on_after(MARGIN):
            while True:
                try:
                    return await self._leave()
                except Exception as error:
                    self._report(error)
                await anyio.sleep(backoff.pause())

    async def _leave(self) -> None:
        held = await self._access.call(self._backend.held, self._worker)
        leases = [lease for lease in held if not self._holdings.has_let_go(lease)]
        if leases:
            await self._access.call(self._backend.hand_back, self._worker, leases)
        await self._access.call(self._backend.retire, self._worker)

    def _phase(self, beyond: float) -> anyio.CancelScope:
        """Ends ``beyond`` seconds after the grace, also if that is shortened meanwhile."""
        phase = anyio.CancelScope(deadline=self._grace_end + beyond)
        self._phases[phase] = beyond
        return phase

    async def _hand_back_unstarted(self) -> None:
        try:
            await self._returns.give_back(self._slots.withdraw(received_by=math.inf))
        except BackendError as error:
            self._report(error)

    async def _finish_attempts(self) -> None:
        with self._phase(0.0):
            await self._slots.quiet()
        for held in self._holdings.all():
            held.stop(Stop.SHUTDOWN)
        with self._phase(UNWOUND):
            await self._slots.quiet()
        for held in self._holdings.all():
            if held.running:
                self._report(_unstoppable(held))
                self._ledger.put(held, Interrupted(), 0.0)


def _unstoppable(held: Held) -> RuntimeError:
    attempt = held.attempt
    return RuntimeError(
        f"the handler of activity {attempt.id} ({attempt.type}) does not stop when cancelled:"
        " the activity was put back, and the worker waits for the handler"
    )
