"""The reaper: returns what lost workers held (design 7.5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio

from taskq.engine.contact import Contact
from taskq.engine.ground import Ground
from taskq.engine.record import count_of
from taskq.engine.returns import Returns
from taskq.engine.rollup import Rollup
from taskq.engine.settling import settle
from taskq.errors import BackendError
from taskq.events import Swept, WorkerLost
from taskq.hooks import with_hooks
from taskq.lifecycle import Crashed, Settlement, Transition, Verdict, decide
from taskq.model import Attempt, Status


class Reaper:
    """Looks every ``reaper_interval`` seconds for leases that have ended, whoever held them.

    It remembers nothing between two looks (bug:B13, B79). It acts only after the store has been
    reachable for one whole lease: after an outage, workers that are alive renew first. Several
    reapers do not disturb each other: the store lets only one of them have each activity (bug:B40).
    """

    def __init__(
        self, ground: Ground, *, contact: Contact, returns: Returns, rollup: Rollup
    ) -> None:
        self._ground = ground
        self._options = ground.options
        self._clock = ground.clock
        self._progress = partial(ground.supervisor.progress, "reaper")
        self._report = partial(ground.supervisor.report, "reaper")
        self._contact = contact
        self._returns = returns
        self._rollup = rollup

    async def run(self) -> None:
        """Sweep for ever. Raises BackendError when the store cannot be reached."""
        while True:
            while self._contact.unbroken(self._clock.monotonic()) >= self._options.lease:
                if not await self._sweep():
                    break
            self._progress()
            await anyio.sleep(self._options.reaper_interval * (0.8 + 0.2 * self._ground.random()))

    async def _sweep(self) -> bool:
        """Take back one batch; whether there may be more.

        What this worker itself holds is the fence's business. What the store has in its name and
        nobody here knows of was never started: it is handed back, nothing counted. What it started
        and let go is as lost as another worker's.
        """
        ground = self._ground
        try:
            expired = await ground.access.call(ground.backend.expired, ground.options.reaper_batch)
        except BackendError:
            self._contact.failed()
            raise
        mine = [attempt.lease for attempt in expired if attempt.worker == ground.worker]
        await self._returns.give_back_unknown(mine)
        lost = [attempt for attempt in expired if self._is_lost(attempt)]
        transitions = [self._crashed(attempt) for attempt in lost]
        answers = await settle(ground, transitions)
        taken = self._conclude(lost, transitions, answers)
        ground.emit(Swept(worker=ground.worker, count=taken))
        return len(expired) == ground.options.reaper_batch and taken > 0

    def _is_lost(self, attempt: Attempt) -> bool:
        mine = attempt.worker == self._ground.worker
        return not mine or self._ground.holdings.has_let_go(attempt.lease)

    def _crashed(self, attempt: Attempt) -> Transition:
        transition = decide(attempt, Crashed())
        return with_hooks(transition, attempt, now=self._clock.now(), new_id=self._ground.new_id)

    def _conclude(
        self,
        lost: Sequence[Attempt],
        transitions: Sequence[Transition],
        answers: Sequence[Settlement | Exception],
    ) -> int:
        """Count and tell what was taken back; how many."""
        taken = 0
        for attempt, transition, answer in zip(lost, transitions, answers, strict=True):
            if isinstance(answer, Exception):
                self._report(answer)
            elif answer.verdict is Verdict.APPLIED and transition.error is not None:
                taken += 1
                count = count_of(attempt, transition, answer, waited=None, ran=None)
                self._rollup.add(self._clock.now(), [count])
                dead = answer.status is Status.DEAD_LETTER
                self._ground.emit(WorkerLost(attempt=attempt, error=transition.error, dead=dead))
        return taken
