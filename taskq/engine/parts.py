"""The parts of one running engine, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from taskq.bridge.poster import Post
from taskq.engine.attempt import Runner
from taskq.engine.canceller import Canceller
from taskq.engine.contact import Contact
from taskq.engine.deadlines import Deadlines
from taskq.engine.dispatcher import Dispatcher
from taskq.engine.fence import Fence
from taskq.engine.ground import Ground
from taskq.engine.handler import Handler
from taskq.engine.hints import Hints
from taskq.engine.keeper import Keeper
from taskq.engine.ledger import Ledger
from taskq.engine.pace import Pace
from taskq.engine.promoter import Promoter
from taskq.engine.pulse import Pulse
from taskq.engine.reaper import Reaper
from taskq.engine.returns import Returns
from taskq.engine.rollup import Rollup
from taskq.engine.shutdown import Shutdown
from taskq.engine.slots import Slots
from taskq.middleware import Middleware
from taskq.snapshot import WorkerInfo


class Parts:
    """Who does what::

        hints ──ring──▶ dispatcher ──hand over──▶ slots ──outcome──▶ ledger ──settle──▶ store
                        promoter, reaper          runner             keeper, fence, canceller,
                                                                     deadlines

    Made on the engine's event loop.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        handlers: Mapping[str, Handler],
        types: tuple[str, ...] | None,
        middleware: Sequence[Middleware],
        owner: object,
        post: Post,
        describe: Callable[[], WorkerInfo],
        dump: Callable[[], None],
        stopping: Callable[[], bool],
    ) -> None:
        options = ground.options
        contact = Contact(patience=options.lease)
        rollup = Rollup()
        pace = Pace(options.concurrency, fixed=options.claim_ahead)
        returns = Returns(ground)
        self.pulse = Pulse(post=post, holdings=ground.holdings, dump=dump)
        self.keeper = Keeper(
            ground,
            contact=contact,
            rollup=rollup,
            pulse=self.pulse,
            describe=describe,
            post=post,
        )
        self.fence = Fence(ground, renew=self.keeper.hurry)
        self.canceller = Canceller(ground)
        self.ledger = Ledger(ground, contact=contact, rollup=rollup)
        self.deadlines = Deadlines(ground, ledger=self.ledger, returns=returns)
        self.slots = Slots(
            ground,
            handlers=handlers,
            runner=Runner(ground, middleware=middleware, owner=owner, stopping=stopping),
            ledger=self.ledger,
            returns=returns,
            deadlines=self.deadlines,
            pace=pace,
        )
        self.dispatcher = Dispatcher(
            ground, types=types, slots=self.slots, pace=pace, returns=returns, ledger=self.ledger
        )
        self.promoter = Promoter(ground, on_moved=self.dispatcher.ring)
        self.reaper = Reaper(
            ground, contact=contact, returns=returns, rollup=rollup, deadlines=self.deadlines
        )
        self.hints = Hints(
            ground,
            post=post,
            dispatcher=self.dispatcher,
            promoter=self.promoter,
            canceller=self.canceller,
        )
        self.shutdown = Shutdown(
            ground, slots=self.slots, ledger=self.ledger, returns=returns, keeper=self.keeper
        )
