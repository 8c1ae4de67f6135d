"""The ledger: writes outcomes to the store, many at once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import islice

import anyio
from msgspec import Struct

from taskq.engine.claiming.holdings import Held
from taskq.engine.ground import Ground
from taskq.engine.keeping.contact import Contact
from taskq.engine.recording.record import count_of, event_of
from taskq.engine.recording.reporter import Reporter
from taskq.engine.recording.rollup import Rollup
from taskq.engine.recording.settling import BATCH, settle
from taskq.engine.running.failure import unstorable
from taskq.engine.supervisor import IDLE
from taskq.errors import BackendError, Unstorable
from taskq.events import OutcomesCaughtUp, OutcomesDelayed
from taskq.hooks import with_hooks
from taskq.lifecycle import Outcome, Settlement, Transition, Verdict, decide

ROOM = 2000
"""Unsettled outcomes beyond which no further attempt is started."""


class Entry(Struct, frozen=True):
    """An outcome on its way to the store, of a run of ``seconds`` that was over at ``ended_at``. A
    ``substitute`` replaces one that was refused."""

    held: Held
    transition: Transition
    seconds: float
    ended_at: float
    substitute: bool = False


class Ledger:
    """Takes outcomes from the slots and settles them in batches, in the order in which they came.

    An outcome stays until the store has answered for it, however often that has to be tried. Its
    activity stays held meanwhile, and its lease is renewed, but no longer than one further lease
    from the first try on; then it is let go (bug:B16).
    """

    def __init__(
        self, ground: Ground, *, contact: Contact, rollup: Rollup, reporter: Reporter
    ) -> None:
        self._ground = ground
        self._holdings = ground.holdings
        self._clock = ground.clock
        self._contact = contact
        self._rollup = rollup
        self._reporter = reporter
        self._progress = partial(ground.supervisor.progress, "ledger")
        self._report = partial(ground.supervisor.report, "ledger")
        self._entries: deque[Entry] = deque()
        self._lock = anyio.Lock()
        self._written = anyio.Event()
        self._room = anyio.Event()

    @property
    def settled(self) -> bool:
        """Whether every outcome has been settled."""
        return not self._entries

    @property
    def full(self) -> bool:
        """Whether so much is unsettled that nothing more should be started."""
        return len(self._entries) >= ROOM

    def put(self, held: Held, outcome: Outcome, seconds: float) -> None:
        """Take down how an attempt that ran for ``seconds`` ended; its handler is done."""
        self._append(held, outcome, seconds, ended_at=self._clock.monotonic())
        held.forsaken_at = math.inf
        held.finish()

    async def run(self) -> None:
        """Settle whatever comes, for ever. Raises BackendError when the store cannot be reached."""
        while True:
            if self._entries:
                await self._settle_some()
            else:
                self._progress()
                self._written = anyio.Event()
                with anyio.move_on_after(IDLE):
                    await self._written.wait()

    async def flush(self) -> None:
        """Settle all there is now. Raises BackendError when the store cannot be reached."""
        while self._entries:
            await self._settle_some()

    async def room(self) -> None:
        """Wait until the ledger is no longer full."""
        while self.full:
            if self._room.is_set():  # one event for all who wait: none is replaced before it is set
                self._room = anyio.Event()
            await self._room.wait()

    async def _settle_some(self) -> None:
        async with self._lock:
            batch = list(islice(self._entries, BATCH))
            began = self._clock.monotonic()
            try:
                await self._reporter.save(entry.held.attempt.lease for entry in batch)
                answers = await settle(self._ground, [entry.transition for entry in batch])
            except BackendError:
                self._delay(batch)
                self._give_time(batch, began)
                self._let_go(began)
                raise
            for _ in batch:
                self._entries.popleft()
            self._conclude(batch, answers)
            self._keep(batch, answers, began)
        self._progress()
        if not self.full:
            self._room.set()

    def _append(
        self,
        held: Held,
        outcome: Outcome,
        seconds: float,
        *,
        ended_at: float,
        substitute: bool = False,
    ) -> None:
        transition = decide(held.attempt, outcome, chance=self._ground.random())
        if transition.hook_names:
            transition = with_hooks(
                transition, held.attempt, now=self._clock.now(), new_id=self._ground.new_id
            )
        self._entries.append(Entry(held, transition, seconds, ended_at, substitute))
        self._written.set()

    def _conclude(self, batch: Sequence[Entry], answers: Sequence[Settlement | Exception]) -> None:
        """All bookkeeping first, then the events."""
        settled: list[tuple[Entry, Settlement]] = []
        for entry, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Settlement):
                self._holdings.release(entry.held)
                settled.append((entry, answer))
            elif isinstance(answer, Unstorable):
                self._refused(entry, answer)
        self._rollup.add(
            self._clock.now(),
            [
                count_of(
                    entry.held.attempt,
                    entry.transition,
                    answer,
                    waited=entry.held.waited,
                    ran=entry.seconds,
                )
                for entry, answer in settled
                if answer.verdict is not Verdict.LOST
            ],
        )
        now = self._clock.monotonic()
        for entry, answer in settled:
            recording = max(0.0, now - entry.ended_at)
            self._ground.emit(
                event_of(
                    entry.held.attempt,
                    entry.transition,
                    answer,
                    seconds=entry.seconds,
                    recording=recording,
                )
            )
        self._catch_up([entry for entry, _ in settled])

    def _keep(
        self, batch: Sequence[Entry], answers: Sequence[Settlement | Exception], began: float
    ) -> None:
        """What failed for another reason than its value may be stored yet: that says nothing about
        the outcome. It is tried again while its lease lasts; raises that reason."""
        failed = [
            (entry, answer)
            for entry, answer in zip(batch, answers, strict=True)
            if not isinstance(answer, (Settlement, Unstorable))
        ]
        if not failed:
            return
        entries = [entry for entry, _ in failed]
        self._entries.extend(entries)
        self._delay(entries)
        self._give_time(entries, began)
        self._let_go(began)
        _, reason = failed[0]
        raise BackendError(f"{len(failed)} outcomes could not be stored yet: {reason}") from reason

    def _refused(self, entry: Entry, error: Exception) -> None:
        """The store will never take this one; its neighbours are kept."""
        self._report(error)
        if entry.substitute:
            self._holdings.let_go(entry.held)
            return
        attempt = entry.held.attempt
        outcome = unstorable(attempt, error, hide=partial(self._ground.hide, attempt))
        self._append(entry.held, outcome, entry.seconds, ended_at=entry.ended_at, substitute=True)

    def _delay(self, batch: Sequence[Entry]) -> None:
        """Tell which outcomes were not taken, once for each."""
        late = [entry.held for entry in batch if not entry.held.delayed]
        for held in late:
            held.delayed = True
        if late:
            self._ground.emit(OutcomesDelayed(worker=self._ground.worker, count=len(late)))

    def _catch_up(self, batch: Sequence[Entry]) -> None:
        """Tell that those of them that were delayed have been answered for."""
        late = [entry.held for entry in batch if entry.held.delayed]
        for held in late:
            held.delayed = False
        if late:
            self._ground.emit(OutcomesCaughtUp(worker=self._ground.worker, count=len(late)))

    def _give_time(self, batch: Sequence[Entry], began: float) -> None:
        """What could not be settled is kept for one more lease, from the first try on."""
        for entry in batch:
            end = began + self._holdings.lease
            entry.held.forsaken_at = min(entry.held.forsaken_at, end)

    def _let_go(self, began: float) -> None:
        """Drop what the store does not settle although it answers, once the lease is over."""
        answered = self._contact.latest
        if answered is None or answered > began:
            return
        kept: deque[Entry] = deque()
        for entry in self._entries:
            if entry.held.renewed_at + self._holdings.lease >= answered:
                kept.append(entry)
                continue
            self._holdings.let_go(entry.held)
            self._report(_let_go_of(entry))
        self._entries = kept


def _let_go_of(entry: Entry) -> BackendError:
    attempt = entry.held.attempt
    return BackendError(
        f"the outcome of activity {attempt.id} ({attempt.type}) could not be stored while its lease"
        " lasted; it will run again"
    )
