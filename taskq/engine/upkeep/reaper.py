"""The reaper: returns what lost workers held (design 7.5), and ends what waits too long."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
from msgspec.structs import replace

from taskq.engine.claiming.returns import Returns
from taskq.engine.ground import Ground
from taskq.engine.keeping.contact import Contact
from taskq.engine.keeping.deadlines import Deadlines
from taskq.engine.recording.record import count_of
from taskq.engine.recording.rollup import Rollup
from taskq.engine.recording.settling import settle
from taskq.errors import BackendError, Unstorable
from taskq.events import Swept, WorkerLost
from taskq.hooks import with_hooks
from taskq.lifecycle import Crashed, Failed, Settlement, Transition, Verdict, decide
from taskq.model import Attempt, ErrorInfo, ErrorKind, Lease, Status


class Reaper:
    """Looks every ``reaper_interval`` seconds for leases that have ended, whoever held them, and
    for activities whose limits have passed, which it has ``deadlines`` end.

    It remembers nothing between two looks (bug:B13, B79). It acts only after the store has been
    reachable for one whole lease: after an outage, workers that are alive renew first. Several
    reapers do not disturb each other: the store lets only one of them have each activity (bug:B40).
    """

    def __init__(
        self,
        ground: Ground,
        *,
        contact: Contact,
        returns: Returns,
        rollup: Rollup,
        deadlines: Deadlines,
    ) -> None:
        self._ground = ground
        self._options = ground.options
        self._clock = ground.clock
        self._progress = partial(ground.supervisor.progress, "reaper")
        self._report = partial(ground.supervisor.report, "reaper")
        self._contact = contact
        self._returns = returns
        self._rollup = rollup
        self._deadlines = deadlines

    async def run(self) -> None:
        """Sweep for ever. Raises BackendError when the store cannot be reached."""
        while True:
            passed: set[Lease] = set()
            while self._contact.unbroken(self._clock.monotonic()) >= self._options.lease:
                if not await self._sweep(passed):
                    break
            await self._deadlines.sweep()
            self._progress()
            await anyio.sleep(self._options.reaper_interval * (0.8 + 0.2 * self._ground.random()))

    async def _sweep(self, passed: set[Lease]) -> bool:
        """Take back one batch; whether there may be more.

        What could not be taken back stands first each time one looks: it goes into ``passed``, and
        the next batch reaches beyond it (promise:G4).

        What this worker itself holds is the fence's business. What the store has in its name and
        nobody here knows of was never started: it is handed back, nothing counted. What it started
        and let go is as lost as another worker's.
        """
        ground = self._ground
        try:
            limit = ground.options.reaper_batch + len(passed)
            expired = await ground.access.call(ground.backend.expired, limit)
        except BackendError:
            self._contact.failed()
            raise
        fresh = [attempt for attempt in expired if attempt.lease not in passed]
        passed.update(attempt.lease for attempt in fresh)
        mine = [attempt.lease for attempt in fresh if attempt.worker == ground.worker]
        await self._returns.give_back_unknown(mine)
        taken = await self._take([attempt for attempt in fresh if self._is_lost(attempt)])
        passed.difference_update(taken)
        ground.emit(Swept(worker=ground.worker, count=len(taken)))
        return len(expired) == limit and bool(fresh)

    def _is_lost(self, attempt: Attempt) -> bool:
        mine = attempt.worker == self._ground.worker
        return not mine or self._ground.holdings.has_let_go(attempt.lease)

    async def _take(self, lost: Sequence[Attempt]) -> list[Lease]:
        """Take back; which were. What the store refuses ends as failed, if it takes that."""
        transitions = [self._crashed(attempt) for attempt in lost]
        answers = await settle(self._ground, transitions)
        taken = self._conclude(lost, transitions, answers)
        refused = [
            (attempt, answer)
            for attempt, answer in zip(lost, answers, strict=True)
            if isinstance(answer, Unstorable)
        ]
        ends = [_ended(attempt, error) for attempt, error in refused]
        again = [attempt for attempt, _ in refused]
        return taken + self._conclude(again, ends, await settle(self._ground, ends))

    def _crashed(self, attempt: Attempt) -> Transition:
        transition = decide(attempt, Crashed())
        return with_hooks(transition, attempt, now=self._clock.now(), new_id=self._ground.new_id)

    def _conclude(
        self,
        lost: Sequence[Attempt],
        transitions: Sequence[Transition],
        answers: Sequence[Settlement | Exception],
    ) -> list[Lease]:
        """Count and tell what was taken back; which."""
        taken: list[Lease] = []
        for attempt, transition, answer in zip(lost, transitions, answers, strict=True):
            if isinstance(answer, Exception):
                self._report(answer)
            elif answer.verdict is Verdict.APPLIED and transition.error is not None:
                taken.append(attempt.lease)
                count = count_of(attempt, transition, answer, waited=None, ran=None)
                self._rollup.add(self._clock.now(), [count])
                dead = answer.status is Status.DEAD_LETTER
                self._ground.emit(WorkerLost(attempt=attempt, error=transition.error, dead=dead))
        return taken


def _ended(attempt: Attempt, error: Exception) -> Transition:
    """The plainest end there is, without hooks: nothing of the odd row goes into another one."""
    lost = ErrorInfo(
        type="WorkerLost",
        message=f"its worker was lost, and it cannot be stored to run again: {error}",
        kind=ErrorKind.CRASHED,
        attempts=attempt.number,
    )
    transition = decide(attempt, Failed(error=lost, retryable=False))
    return replace(transition, hook_names=(), only_if_expired=True)
