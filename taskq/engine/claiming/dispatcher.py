"""The dispatcher: keeps the slots supplied with claimed work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import anyio

from taskq.backends import ClaimRequest
from taskq.bridge import Doorbell
from taskq.engine.backoff import Backoff
from taskq.engine.claiming.admission import Reserve
from taskq.engine.claiming.aging import Aging
from taskq.engine.claiming.controls import Controls, narrowed
from taskq.engine.claiming.holdings import Held
from taskq.engine.claiming.pace import LOOK_AGAIN, PATIENCE, Pace, Running
from taskq.engine.claiming.reserved import Reserved
from taskq.engine.claiming.returns import Returns
from taskq.engine.ground import Ground
from taskq.engine.options import EngineOptions
from taskq.engine.recording.ledger import Ledger
from taskq.engine.running.orphans import Orphans
from taskq.engine.running.slots import Slots
from taskq.events import Claimed, Saturated

MOST = 1000
"""Activities in one claim at the most."""
MOMENT = 0.01
"""Seconds after a claim that brought less than was asked for until the next one."""
PROMOTED = 1000
"""Due activities moved at once when a burst looks whether anything is left."""
FIRST_HOLD, LAST_HOLD = 0.25, 10.0
"""Leases for which claims are held back for isolated activities: at first, and at the most."""
SHARE = 4
"""How many times as long as for them it then claims for everything else."""


class Dispatcher:
    """Wakes, claims, hands over.

    It claims when a slot is free or the claim-ahead allows it: at once after a full answer, when
    the store hints that there is something (``ring``), and otherwise after the poll interval, which
    grows while nothing comes. A claim is never given up half way; after one whose reply was lost it
    first gives back what the store thinks that this worker holds.

    What was claimed before gets rid of its orphans first; if that fails, nothing is started.

    Activities to be isolated are claimed when nothing else runs, and run with nothing beside them.
    Under constant load it looks about once a lease whether there are any, and only then lets the
    slots run empty for one of them. It holds back for a while only; if that was too short, it goes
    on with more patience the next time, or as soon as nothing happens to run.

    While too many handlers wait for others it claims only what has a parent; slots reserved for
    leaves it fills with those first (see ``admission``).

    What is paused it does not ask for, and for a burst that is empty.

    For the ``reserved`` queues it asks by themselves, once a second at the most; only for isolated
    activities it asks everywhere at once.

    With ``burst`` it returns when everything was recorded that it ran, and then nothing was due and
    nothing could be claimed. Errors of the store are raised: its supervisor starts it again.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        types: tuple[str, ...] | None,
        slots: Slots,
        pace: Pace,
        returns: Returns,
        ledger: Ledger,
        controls: Controls,
        reserved: Reserved,
    ) -> None:
        self.stopping = False
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._options = ground.options
        self._holdings = ground.holdings
        self._clock = ground.clock
        self._emit = ground.emit
        self._progress = partial(ground.supervisor.progress, "dispatcher")
        self._types = types
        self._slots = slots
        self._pace = pace
        self._returns = returns
        self._orphans = Orphans(ground)
        self._ledger = ledger
        self._controls = controls
        self._reserved = reserved
        self._poll = Backoff(
            ground.random, first=ground.options.poll_interval, last=ground.options.poll_max
        )
        self._bell = Doorbell()
        self._awaited: Callable[[], bool] | None = None
        self._hold = Backoff(
            ground.random,
            first=FIRST_HOLD * ground.options.lease,
            last=LAST_HOLD * ground.options.lease,
        )
        self._rhythm = Backoff(ground.random, first=ground.options.lease, last=ground.options.lease)
        self._look_at = ground.clock.monotonic() + self._rhythm.pause()
        self._owed = False
        self._full = False
        self._reserve = _reserve(ground.options)
        self._aging = Aging(ground)
        slots.on_free = self._slot_freed
        controls.on_change = self.ring

    def ring(self) -> None:
        """There may be something to claim. From any thread."""
        self._bell.ring()

    async def run(self) -> None:
        """Claim and hand over until cancelled; with ``burst``, until drained."""
        while True:
            await self._wait_for_room()
            await self._returns.reconcile()
            self._bell.clear()
            if self._clock.monotonic() >= self._look_at:
                await self._give_isolated_a_turn()
            calm = not self._slots.active and self._ledger.settled
            room = self._room
            found = await self._supplied(room) if room else 0
            if not found and self._full and not self._slots.busy:
                # Nothing runs and no child is there: what they wait for may be a root.
                found = await self._claim(1, roots=True)
            if not found and self._options.burst and self._reserved.names:
                found = await self._claim(1, reserved=True)
            if found == room or await self._run_alone():
                self._poll.reset()
            elif found:  # what begins now goes first; then look whether that was all
                self._poll.reset()
                await self._wait(MOMENT)
            elif not self._options.burst or self._slots.permits.suspended:
                await self._pause()
            elif not calm:
                await self._until(lambda: not self._slots.busy)
                await self._ledger.flush()
            elif not await self._promoted():
                return

    async def _wait_for_room(self) -> None:
        if not self._room:
            self._emit(Saturated(worker=self._worker))
        while not self._room:
            by = self._clock.monotonic() + self._pace.rhythm
            await self._until(lambda: self._room > 0, by=by)

    def _look(self) -> Iterator[Running]:
        """The handlers that have a slot."""
        now = self._clock.monotonic()
        for held in self._holdings.all():
            if held.started_at is not None and not held.finished and not held.suspended:
                yield Running(held.attempt.type, now - held.seated_at, held.resumed)

    @property
    def _room(self) -> int:
        """How many to claim now, 0 while it is not worth a call."""
        slots, ahead = self._slots, self._pace.ahead(self._look)
        if slots.free:
            return min(MOST, slots.free + ahead)
        room = slots.count + ahead - slots.permits.used - slots.waiting
        if slots.all_stuck or room * 2 < ahead:
            return 0
        return max(0, min(MOST, room))

    async def _supplied(self, room: int) -> int:
        """Claim for ``room`` slots, what is taskq's own first, then leaves where slots are reserved
        for them; how many."""
        own = await self._claim(1, reserved=True) if self._reserved.due() else 0
        return own + (await self._supplied_rest(room - own) if room > own else 0)

    async def _supplied_rest(self, room: int) -> int:
        reserve, aging = self._reserve, self._aging.due()
        if reserve is None:
            return await self._claim(room, aging=aging)
        reserved = reserve.for_leaves(room, self._holdings.all())
        leaves = await self._claim(reserved, types=reserve.types) if reserved else 0
        # What no leaf waits for is lent.
        rest = room - leaves if leaves < reserved else room - reserved
        return leaves + (await self._claim(rest, aging=aging) if rest else 0)

    async def _claim(
        self,
        limit: int,
        *,
        types: tuple[str, ...] | None = None,
        alone: bool = False,
        roots: bool = False,
        aging: float | None = None,
        reserved: bool = False,
    ) -> int:
        """Claim and hand over; how many. ``roots``: also where only children are to begin;
        ``reserved``: of the reserved queues alone."""
        attempts = await self._claimed(
            limit,
            types=types or self._types,
            alone=alone,
            roots=roots,
            aging=aging,
            reserved=reserved,
        )
        try:
            await self._orphans.cancel(attempts)
        except BaseException:  # cancelled too: what was claimed must not wait for its lease to end
            await self._returns.give_back(attempts)
            raise
        self._slots.hand_over(attempts)
        return len(attempts)

    async def _claimed(
        self,
        limit: int,
        *,
        types: tuple[str, ...] | None,
        alone: bool,
        roots: bool = False,
        aging: float | None = None,
        reserved: bool = False,
    ) -> list[Held]:
        """What a claim brings, entered as held. Without a reply it is in doubt what it did."""
        spare = self._options.max_suspended - self._slots.permits.suspended
        self._full = spare <= 0
        if not self._full:  # whatever is begun may come to wait
            limit = min(limit, max(1, spare - self._slots.waiting))
        own = self._reserved.names
        request = ClaimRequest(
            worker=self._worker,
            queues=own if reserved else (*self._options.queues, *(own if alone else ())),
            types=own if reserved else types and (*types, *(own if alone else ())),
            limit=limit,
            lease=self._options.lease,
            alone=alone,
            children=self._full and not roots and not reserved,
            aging=aging,
        )
        wanted = narrowed(request, self._controls.paused)
        if wanted is None:
            return []
        began = self._clock.monotonic()
        try:
            attempts = await self._access.call(self._backend.claim, wanted)
        except BaseException:  # cancelled too: the store may have given what nobody here knows of
            self._returns.in_doubt = True
            raise
        if alone:
            self._owed = bool(attempts)
        now = self._clock.monotonic()
        held = self._holdings.take(attempts, claimed_at=began, received_at=now)
        self._emit(Claimed(worker=self._worker, limit=limit, count=len(held), seconds=now - began))
        self._progress()
        if self.stopping:
            await self._returns.give_back(held)
            return []
        return await self._begun(held)

    async def _begun(self, held: list[Held]) -> list[Held]:
        """Give back what was paused while the claim was on its way; the rest."""
        paused = self._controls.paused
        late = [each for each in held if paused.holds(each.attempt.queue, each.attempt.type)]
        if not late:
            return held
        await self._returns.give_back(late)
        return [each for each in held if each not in late]

    async def _run_alone(self) -> bool:
        """If nothing runs, claim an isolated activity and wait until it has ended."""
        if self._slots.busy:
            return False
        if not await self._claim(1, alone=True):
            self._look_at = self._clock.monotonic() + self._rhythm.pause()
            return False
        self._hold.reset()
        await self._until(lambda: not self._slots.busy)
        return True

    async def _give_isolated_a_turn(self) -> None:
        """Let the slots run empty for one isolated activity, if any waits and for as long."""
        began = self._clock.monotonic()
        waits = await self._isolated_waits()
        if not waits:
            self._hold.reset()
            self._look_at = began + self._rhythm.pause()
            return
        end = began + self._hold.pause()
        while waits and self._slots.busy and self._clock.monotonic() < end:
            look_again = min(end, self._clock.monotonic() + self._options.poll_max)
            await self._until(lambda: not self._slots.busy, by=look_again)
            waits = not self._slots.busy or await self._isolated_waits()
        if waits:
            await self._run_alone()
        now = self._clock.monotonic()
        self._look_at = now + SHARE * (now - began)

    async def _isolated_waits(self) -> bool:
        """Whether there is one. It is put back at once: were it held while others still run, a
        crash of theirs would be its last."""
        found = await self._claimed(1, types=self._types, alone=True)
        await self._returns.put_back(found)
        return bool(found)

    async def _promoted(self) -> bool:
        """Whether anything was due."""
        promotion = await self._access.call(self._backend.promote, PROMOTED)
        return promotion.moved > 0

    async def _until(self, condition: Callable[[], bool], *, by: float = math.inf) -> None:
        """Wait for something that slots bring about, at most until ``by``. Doubts are cleared up
        meanwhile: what the store wrongly thinks is held here is not renewed."""
        self._awaited = lambda: condition() or self._returns.in_doubt
        while not condition() and (left := by - self._clock.monotonic()) > 0:
            self._bell.clear()
            await self._returns.reconcile()
            await self._wait(min(left, self._options.poll_max))
            self._progress()
        self._awaited = None

    async def _pause(self) -> None:
        """Wait for a ring, at most for the poll interval."""
        pause = min(self._poll.pause(), self._reserved.left)
        if await self._wait(pause):
            self._poll.reset()

    async def _wait(self, seconds: float) -> bool:
        """Wait for a ring; False when ``seconds`` have passed. Gives back what waits too long."""
        end = anyio.current_time() + seconds
        while (left := end - anyio.current_time()) > 0:
            with anyio.move_on_after(min(left, self._patience())):
                await self._bell.wait()
                return True
            await self._give_back_stale()
        return False

    def _patience(self) -> float:
        """Seconds until the first of those claimed ahead has waited too long."""
        oldest = self._slots.oldest()
        if oldest is None or not self._impatient:
            return math.inf
        left = oldest + PATIENCE - self._clock.monotonic()
        return left if left > 0 else LOOK_AGAIN

    async def _give_back_stale(self) -> None:
        """What has waited too long goes back, but for those that a slot is about to be free for."""
        if not self._impatient:
            return
        keep = 0 if self._slots.all_stuck else self._pace.starts(self._look)
        late = self._clock.monotonic() - PATIENCE
        stale = self._slots.withdraw(received_by=late, keep=keep)
        if stale:
            self._pace.block()
            await self._returns.give_back(stale)

    @property
    def _impatient(self) -> bool:
        return self._pace.adaptive or self._slots.all_stuck

    def _slot_freed(self) -> None:
        awaited = self._awaited is not None and self._awaited()
        if awaited or (self._owed and not self._slots.busy) or (self._full and self._admits):
            self._bell.ring()

    @property
    def _admits(self) -> bool:
        return self._slots.permits.suspended < self._options.max_suspended


def _reserve(options: EngineOptions) -> Reserve | None:
    if not options.reserve_slots_for_leaves:
        return None
    return Reserve(options.concurrency, options.reserve_slots_for_leaves, options.leaf_types)
