"""The parts of one running engine, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from anyio.lowlevel import current_token

from taskq.bridge import loop_time
from taskq.bridge.poster import Post
from taskq.engine.claiming.controls import Controls
from taskq.engine.claiming.dispatcher import Dispatcher
from taskq.engine.claiming.hints import Hints
from taskq.engine.claiming.pace import Pace
from taskq.engine.claiming.reserved import Reserved
from taskq.engine.claiming.returns import Returns
from taskq.engine.ground import Ground
from taskq.engine.keeping.canceller import Canceller
from taskq.engine.keeping.contact import Contact
from taskq.engine.keeping.deadlines import Deadlines
from taskq.engine.keeping.fence import Fence
from taskq.engine.keeping.keeper import Keeper
from taskq.engine.keeping.pulse import Pulse
from taskq.engine.recording.ledger import Ledger
from taskq.engine.recording.reporter import Reporter
from taskq.engine.recording.rollup import Rollup
from taskq.engine.running.attempt import Runner
from taskq.engine.running.deadlock import Deadlock
from taskq.engine.running.handler import Handler
from taskq.engine.running.permits import Permits
from taskq.engine.running.seat import Seating
from taskq.engine.running.slots import Slots
from taskq.engine.shutdown import Shutdown
from taskq.engine.upkeep.promoter import Promoter
from taskq.engine.upkeep.pruner import Pruner
from taskq.engine.upkeep.reaper import Reaper
from taskq.engine.upkeep.scheduler import Scheduler
from taskq.middleware import Middleware
from taskq.schedule import Schedule
from taskq.snapshot import WorkerInfo


class Parts:
    """Who does what::

        hints ──ring──▶ dispatcher ──hand over──▶ slots ──outcome──▶ ledger ──settle──▶ store
                        promoter, reaper,         runner, seats      keeper, fence, canceller,
                        scheduler, pruner,
                        controls
                                                  └─progress─▶ reporter      deadlines

    Made on the engine's event loop.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        handlers: Mapping[str, Handler],
        types: tuple[str, ...] | None,
        reserved: tuple[str, ...],
        middleware: Sequence[Middleware],
        schedules: Sequence[Schedule],
        owner: object,
        post: Post,
        describe: Callable[[], WorkerInfo],
        dump: Callable[[], None],
        stopping: Callable[[], bool],
    ) -> None:
        options = ground.options
        contact = Contact(patience=options.lease)
        rollup = Rollup()
        self.pace = Pace(options.concurrency, fixed=options.claim_ahead)
        returns = Returns(ground)
        self.pulse = Pulse(post=post, holdings=ground.holdings, dump=dump)
        self.keeper = Keeper(
            ground, contact=contact, rollup=rollup, pulse=self.pulse, describe=describe, post=post
        )
        self.fence = Fence(ground, renew=self.keeper.hurry)
        self.canceller = Canceller(ground)
        self.reporter = Reporter(ground)
        self.ledger = Ledger(ground, contact=contact, rollup=rollup, reporter=self.reporter)
        self.deadlines = Deadlines(ground, ledger=self.ledger, returns=returns)
        self.permits = Permits(options.concurrency)
        self.deadlock = Deadlock(ground, permits=self.permits)
        self.slots = Slots(
            ground,
            permits=self.permits,
            handlers=handlers,
            runner=Runner(
                ground,
                seating=self._seating(ground, post),
                middleware=middleware,
                owner=owner,
                stopping=stopping,
                report=self.reporter.take,
            ),
            ledger=self.ledger,
            returns=returns,
            deadlines=self.deadlines,
            pace=self.pace,
        )
        self.controls = self._controls(ground, types, reserved, returns)
        self.dispatcher = self._dispatcher(ground, types, reserved, returns)
        self.promoter = Promoter(ground, on_moved=self.dispatcher.ring)
        self.scheduler = Scheduler(ground, declared=schedules, on_fired=self.dispatcher.ring)
        self.reaper = Reaper(
            ground, contact=contact, returns=returns, rollup=rollup, deadlines=self.deadlines
        )
        self.pruner = Pruner(ground)
        self.hints = self._hints(ground, post)
        self.shutdown = Shutdown(
            ground, slots=self.slots, ledger=self.ledger, returns=returns, keeper=self.keeper
        )

    def _controls(
        self,
        ground: Ground,
        types: tuple[str, ...] | None,
        reserved: tuple[str, ...],
        returns: Returns,
    ) -> Controls:
        return Controls(ground, types=types, reserved=reserved, slots=self.slots, returns=returns)

    def _dispatcher(
        self,
        ground: Ground,
        types: tuple[str, ...] | None,
        reserved: tuple[str, ...],
        returns: Returns,
    ) -> Dispatcher:
        return Dispatcher(
            ground,
            types=types,
            slots=self.slots,
            pace=self.pace,
            returns=returns,
            ledger=self.ledger,
            controls=self.controls,
            reserved=Reserved(reserved, ground.clock),
        )

    def _hints(self, ground: Ground, post: Post) -> Hints:
        return Hints(
            ground,
            post=post,
            dispatcher=self.dispatcher,
            promoter=self.promoter,
            scheduler=self.scheduler,
            canceller=self.canceller,
            controls=self.controls,
        )

    def _seating(self, ground: Ground, post: Post) -> Seating:
        options = ground.options
        return Seating(
            permits=self.permits,
            threads=Permits(options.threads or options.concurrency),
            clock=ground.clock,
            lease=options.lease,
            suspends=options.suspend_on_await,
            measure=self.pace.measure,
            on_change=lambda: self.slots.seat_changed(),
            on_keep=lambda seat: self.slots.seat_kept(seat),
            post=post,
            now=loop_time(),
            home=current_token(),
        )
