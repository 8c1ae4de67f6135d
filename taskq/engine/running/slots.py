"""The slots: standing tasks that carry attempts, one after the other (design 7.9)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio
from anyio.lowlevel import checkpoint

from taskq.bridge.leftover import drop_leftover_cancel
from taskq.engine.claiming.holdings import Held, Stop
from taskq.engine.claiming.pace import Pace
from taskq.engine.claiming.returns import Returns
from taskq.engine.ground import Ground
from taskq.engine.keeping.deadlines import Deadlines
from taskq.engine.recording.ledger import Ledger
from taskq.engine.running.attempt import Runner
from taskq.engine.running.handler import Handler
from taskq.engine.running.permits import Permits
from taskq.engine.running.seat import KEPT, Seat
from taskq.events import LeaseLost, ThreadOverran
from taskq.lifecycle import Cancelled, Overdue, TimedOut, Unstarted
from taskq.model import Attempt

UNKNOWN_TYPE_PAUSE = 5.0
"""Seconds for which an activity of a type without handler is put back (seed:W21)."""
TURN = 0.01
"""Seconds after which a carrier lets other tasks run, if its handlers never do."""


class Slots:
    """The permits to run one attempt each, and what was claimed but has none yet.

    A permit is kept until the handler is done, threads included: one that is past its timeout is
    counted as ``stuck`` (design 7.15). A handler that waits for other activities gives it up
    meanwhile, and stays on its carrier: others are added for those that run instead, and leave when
    there are too many. ``on_free`` is called whenever a permit was given back or up.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        permits: Permits,
        handlers: Mapping[str, Handler],
        runner: Runner,
        ledger: Ledger,
        returns: Returns,
        deadlines: Deadlines,
        pace: Pace,
    ) -> None:
        self.permits = permits
        self.count = permits.count
        self.on_free: Callable[[], None] | None = None
        self._handlers = handlers
        self._runner = runner
        self._ledger = ledger
        self._returns = returns
        self._deadlines = deadlines
        self._pace = pace
        self._holdings = ground.holdings
        self._clock = ground.clock
        self._emit = ground.emit
        self._report = partial(ground.supervisor.report, "slots")
        self._waiting: deque[Held] = deque()
        self._carriers = 0
        self._wanted = 0
        self._wanting = anyio.Event()
        self._keeping: set[Seat] = set()
        self._idle: list[anyio.Event] = []
        self._closing = False
        self._quiet = anyio.Event()
        self._turn_began = 0.0

    @property
    def waiting(self) -> int:
        """How many were handed over and have no slot yet."""
        return len(self._waiting)

    @property
    def free(self) -> int:
        """Permits that nobody has or is about to take."""
        return max(0, self.permits.free - len(self._waiting))

    @property
    def busy(self) -> bool:
        """Whether a handler runs or waits for a permit here. Threads past their timeout do not
        count: they may last for ever, and nothing is to wait for them."""
        return self.permits.running or bool(self._waiting)

    @property
    def active(self) -> bool:
        """Whether there are handlers here, those included that wait for other activities."""
        return self.busy or self.permits.suspended > 0

    @property
    def all_stuck(self) -> bool:
        """Whether every permit is held by a thread past its timeout: nothing can run here."""
        return self.permits.stuck >= self.count

    async def run(self) -> None:
        """Have carriers until cancelled, with all that they carry."""
        async with anyio.create_task_group() as group:
            self._wanted = self.count
            while True:
                self._wanting = anyio.Event()
                for _ in range(self._wanted):
                    self._carriers += 1
                    group.start_soon(self._carry)
                self._wanted = 0
                with anyio.move_on_after(KEPT / 2 if self._keeping else math.inf):
                    await self._wanting.wait()
                now = self._clock.monotonic()
                self._keeping -= {seat for seat in self._keeping if seat.tire(now)}

    def hand_over(self, attempts: Sequence[Held]) -> None:
        """Run these, as soon as there are slots, in this order."""
        self._waiting.extend(attempts)
        self._supply()

    def seat_changed(self) -> None:
        """A handler has begun to wait for other activities, or goes on."""
        self._supply()
        self._freed()

    def seat_kept(self, seat: Seat) -> None:
        """A handler goes on beside waits of its own; whether it does, only time tells."""
        self._keeping.add(seat)
        self._wanting.set()

    def withdraw(self, *, received_by: float, keep: int = 0) -> list[Held]:
        """Take back what was received by then and has not started, but for the first ``keep``."""
        withdrawn: list[Held] = []
        kept = [self._waiting.popleft() for _ in range(min(keep, len(self._waiting)))]
        while self._waiting and self._waiting[0].received_at <= received_by:
            withdrawn.append(self._waiting.popleft())
        self._waiting.extendleft(reversed(kept))
        return withdrawn

    def take_back(self, unwanted: Callable[[Attempt], bool]) -> list[Held]:
        """Take back what has not started, where it is not wanted any more."""
        back = [held for held in self._waiting if unwanted(held.attempt)]
        if back:
            self._waiting = deque(held for held in self._waiting if held not in back)
        return back

    def oldest(self) -> float | None:
        """When the first of those that wait was received; None when nothing waits."""
        return self._waiting[0].received_at if self._waiting else None

    def close(self) -> None:
        """From now on nothing is started, and nobody waits for a thread."""
        self._closing = True

    async def quiet(self) -> None:
        """Wait until there is no handler; threads past their timeout are not waited for."""
        while self._unquiet:
            self._quiet = anyio.Event()
            await self._quiet.wait()

    async def _carry(self) -> None:
        """One carrier: takes what was handed over and runs it, until it is cancelled or idle beside
        enough others.

        On asyncio a handler can leave its task cancelled behind, as by a timeout of its own
        that fires as it returns. That must not end the carrier.
        """
        task = anyio.get_current_task().id
        try:
            while not self._surplus:
                try:
                    await self._carry_next(task)
                except anyio.get_cancelled_exc_class():
                    if anyio.current_effective_deadline() == -math.inf:
                        raise
                    await drop_leftover_cancel()
        finally:
            self._carriers -= 1

    @property
    def _surplus(self) -> bool:
        startable = bool(self._waiting) and self.permits.free > 0
        return not startable and self._carriers - self.permits.suspended > self.count

    async def _carry_next(self, task: int) -> None:
        """Idle carriers wait one by one, the latest is woken first, so that a claim of three wakes
        three and not all."""
        if not self._waiting or not self.permits.free:
            event = anyio.Event()
            self._idle.append(event)
            try:
                await event.wait()
            finally:
                if not event.is_set():
                    self._idle.remove(event)
            return
        held = self._waiting.popleft()
        held.task = task
        alone = held.attempt.isolate
        self.permits.take(alone=alone)
        try:
            await self._run(held)
        finally:
            self.permits.give_back(alone=alone)
            if alone:
                self._supply()
            self._freed()

    def _supply(self) -> None:
        """See that somebody carries what can start now. Also called where no task may be started:
        carriers are only asked for."""
        for _ in range(min(len(self._waiting), self.permits.free)):
            if self._idle:
                self._idle.pop().set()
            elif self._carriers + self._wanted - self.permits.suspended < self.count:
                self._wanted += 1
                self._wanting.set()
            else:  # one that is just finishing takes it
                return

    async def _run(self, held: Held) -> None:
        """Run one attempt, or say why not; it always leaves the slots finished."""
        now = self._clock.monotonic()
        try:
            await self._attempt(held, now)
        except Exception as error:
            self._report(error)
            if not held.finished:  # no handler's doing: it is left to its lease, and runs again
                held.finish()
                self._holdings.let_go(held)
        await drop_leftover_cancel()
        if held.threads:
            await self._outwait_thread(held)
        if self._ledger.full:
            await self._ledger.room()
        await self._yield_turn()

    async def _attempt(self, held: Held, now: float) -> None:
        if held.elder is not None:
            await self._outwait_elder(held, held.elder)
            now = self._clock.monotonic()
        if held.reason is Stop.LEASE_LOST:
            held.finish()
            self._holdings.release(held)
            self._emit(LeaseLost(attempt=held.attempt))
            return
        if held.reason is Stop.CANCELLED:
            self._ledger.put(held, Cancelled(), 0.0)
            return
        if self._closing or held.elder is not None or not self._holdings.startable(held, now):
            await self._returns.give_back([held])
            return
        limited = held.attempt.limited
        if limited and (late := self._deadlines.late(held)) is not None:
            self._ledger.put(held, late, 0.0)
            return
        handler = self._handlers.get(held.attempt.type)
        if handler is None:
            self._ledger.put(held, Unstarted(UNKNOWN_TYPE_PAUSE), 0.0)
            return
        if limited:
            self._deadlines.watch(held)
        try:
            outcome = await self._runner.run(held, handler)
        finally:
            if limited:
                self._deadlines.forget(held)
        ended = self._clock.monotonic()
        seconds = ended - now
        self._measure(held, since=now, until=ended)
        if held.lease_lost:
            self._emit(LeaseLost(attempt=held.attempt))
        if held.threads and isinstance(outcome, (TimedOut, Overdue)):
            self._emit(ThreadOverran(attempt=held.attempt))
        if not held.finished:
            self._ledger.put(held, outcome, seconds)

    def _measure(self, held: Held, *, since: float, until: float) -> None:
        if held.started_at is not None:  # else its arguments did not fit
            self._pace.measure(held.attempt.type, until - max(since, held.seated_at))

    async def _outwait_elder(self, held: Held, elder: Held) -> None:
        """Two attempts of one activity never run beside each other here (fault:A4)."""
        with anyio.move_on_after(self._holdings.lease):
            await elder.gone()
            held.elder = None

    async def _outwait_thread(self, held: Held) -> None:
        """Keep the permit of an attempt that is over until its thread is."""
        if self._closing:
            return
        self.permits.stuck += 1
        self.permits.pass_on()
        self._settle_quiet()
        try:
            await held.gone()
        finally:
            self.permits.stuck -= 1

    async def _yield_turn(self) -> None:
        """Handlers that never wait would keep everything else from running."""
        now = self._clock.monotonic()
        if now - self._turn_began > TURN:
            await checkpoint()
            self._turn_began = self._clock.monotonic()

    def _freed(self) -> None:
        self._settle_quiet()
        if self.on_free is not None:
            self.on_free()

    def _settle_quiet(self) -> None:
        if not self._unquiet:
            self._quiet.set()

    @property
    def _unquiet(self) -> bool:
        return self.permits.running or self.permits.suspended > 0
