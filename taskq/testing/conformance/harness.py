"""How the tests reach a backend, whatever loop it lives on and whatever its clock is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar, TypeVarTuple
from uuid import UUID

import anyio
import pytest
from msgspec.structs import replace

from taskq.audit import Command
from taskq.backends import Cancellation, ClaimRequest, Hint, Renewal, Store, Topic, Watch
from taskq.bridge import Bridge, DirectBridge, ResidentBridge
from taskq.hooks import with_hooks
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Outcome, Settlement, Succeeded, Transition, decide
from taskq.model import Activity, Attempt, Lease, Receipt, Status
from taskq.snapshot import ActivityInfo, Tree, WorkerInfo
from taskq.testing.clock import ManualClock
from taskq.testing.conformance.samples import DAY, beat, call, error

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

QUEUES = ("default",)


class Harness:
    """A backend under test, reached through a bridge.

    ``clock`` is the one that the backend was made with. For a backend whose time is its database's
    own, subclass it and override ``now`` and ``advance`` (for example by moving every stored
    instant back); tests allow for real time going on, see ``near``.
    """

    def __init__(self, backend: Store, bridge: Bridge, clock: ManualClock) -> None:
        self.backend = backend
        self.bridge = bridge
        self._clock = clock

    async def now(self) -> datetime:
        """The store's current instant."""
        return self._clock.now()

    async def advance(self, seconds: float) -> None:
        """Let so much of the store's time pass."""
        self._clock.advance(seconds)

    async def call(self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """Run a method of the backend beside it."""
        return await self.bridge.call(function, *args)

    def require(self, capability: str) -> None:
        """Skip the test, by name, where the backend does not declare this capability."""
        if not getattr(self.backend.capabilities, capability):
            pytest.skip(f"{type(self.backend).__name__} is not {capability}")

    async def submit(self, *activities: Activity[object]) -> list[Receipt]:
        """Submit one batch."""
        return await self.call(self.backend.submit, activities)

    async def claim(
        self,
        worker: UUID,
        *,
        queues: tuple[str, ...] = QUEUES,
        types: tuple[str, ...] | None = None,
        limit: int = 100,
        lease: float = 30.0,
        alone: bool = False,
        children: bool = False,
        without: tuple[str, ...] = (),
        aging: float | None = None,
    ) -> list[Attempt]:
        """Claim for this worker."""
        request = ClaimRequest(
            worker=worker,
            queues=queues,
            types=types,
            limit=limit,
            lease=lease,
            alone=alone,
            children=children,
            without=without,
            aging=aging,
        )
        return await self.call(self.backend.claim, request)

    async def claim_overdue(
        self, worker: UUID | None = None, *, limit: int = 100, lease: float = 30.0
    ) -> list[Attempt]:
        """Claim what is too late to start."""
        holder = worker or new_id()
        return await self.call(self.backend.claim_overdue, holder, limit, lease)

    async def cancel_children(self, *parents: UUID) -> list[UUID]:
        """Cancel what is left of their children."""
        return await self.call(self.backend.cancel_children, parents)

    async def running(
        self, activity: Activity[object] | None = None, *, worker: UUID | None = None
    ) -> Attempt:
        """Submit an activity and claim it, isolated or not. Nothing else may be pending."""
        await self.submit(activity or call())
        return await self.reclaim(worker=worker)

    async def reclaim(self, *, worker: UUID | None = None) -> Attempt:
        """Claim the only pending activity, isolated or not."""
        worker = worker or new_id()
        attempts = await self.claim(worker) or await self.claim(worker, limit=1, alone=True)
        [attempt] = attempts
        return attempt

    async def settle(self, *transitions: Transition) -> list[Settlement]:
        """Settle one batch."""
        return await self.call(self.backend.settle, transitions)

    async def transition(self, attempt: Attempt, outcome: Outcome) -> Transition:
        """What the engine would settle: decided, with the hooks' activities."""
        now = await self.now()
        return with_hooks(decide(attempt, outcome), attempt, now=now, new_id=new_id)

    async def end(self, attempt: Attempt, outcome: Outcome) -> Settlement:
        """Decide and settle one outcome."""
        [settlement] = await self.settle(await self.transition(attempt, outcome))
        return settlement

    async def hand_back(self, worker: UUID, *leases: Lease) -> None:
        """Hand leases back."""
        await self.call(self.backend.hand_back, worker, leases)

    async def renew(self, of: WorkerInfo, *leases: Lease, number: int = 1) -> Renewal:
        """One heartbeat without counts; leases of 30 s."""
        return await self.call(self.backend.heartbeat, beat(of, *leases, number=number))

    async def cancel(self, *ids: UUID) -> dict[UUID, Status]:
        """Request cancels; the states before."""
        met = await self.call(self.backend.cancel, ids)
        return {id: each.status for id, each in met.items()}

    async def cancel_trees(self, *ids: UUID) -> dict[UUID, Cancellation]:
        """Request cancels of whole trees."""
        return dict(await self.call(partial(self.backend.cancel, tree=True), ids))

    async def limited_tree(self, id: UUID, limit: int) -> Tree:
        """The tree of one activity, of so many nodes."""
        return await self.call(partial(self.backend.tree, limit=limit), id)

    async def retry(
        self,
        *ids: UUID,
        actor: str = "ada",
        reason: str = "fixed",
        command_id: UUID | None = None,
        **how: Any,
    ) -> dict[UUID, Status]:
        """Retry as an operator; ``how`` is as in ``Operator.retry``."""
        command = Command(actor=actor, reason=reason, id=command_id)
        return dict(await self.call(partial(self.backend.retry, ids, command=command, **how)))

    async def info(self, id: UUID) -> ActivityInfo:
        """The snapshot of one activity that is there."""
        return (await self.call(self.backend.get, [id]))[id]

    async def status(self, id: UUID) -> Status:
        """The state of one activity that is there."""
        return (await self.info(id)).status

    async def kinds(self, id: UUID) -> list[str]:
        """The kinds of an activity's timeline, oldest first."""
        return [entry.kind for entry in await self.call(self.backend.timeline, id)]

    async def watch(self, *topics: Topic) -> tuple[Watch, list[Hint]]:
        """A watch, and the list that its hints go to."""
        hints: list[Hint] = []
        return await self.call(self.backend.watch, topics, hints.append), hints

    async def bring(self, activity: Activity[object], status: Status) -> UUID:
        """Submit an activity and bring it to this state. Nothing else may be pending."""
        match status:
            case Status.PENDING:
                await self.submit(activity)
            case Status.SCHEDULED:
                await self.submit(replace(activity, delay=DAY))
            case Status.PROCESSING:
                await self.running(activity)
            case Status.RETRYING:
                await self._end_as(activity, Failed(error=error(), delay=DAY))
            case Status.COMPLETED:
                await self._end_as(activity, Succeeded("null"))
            case Status.FAILED:
                await self._end_as(activity, Failed(error=error(), retryable=False))
            case Status.DEAD_LETTER:
                await self._end_as(replace(activity, max_retries=0), Failed(error=error()))
            case Status.CANCELLED:
                await self.submit(activity)
                await self.cancel(activity.id)
        assert await self.status(activity.id) is status
        return activity.id

    async def _end_as(self, activity: Activity[object], outcome: Outcome) -> None:
        await self.end(await self.running(activity), outcome)


def bridge_for(backend: Store) -> Bridge:
    """A new bridge as this backend needs it."""
    return ResidentBridge() if backend.capabilities.resident else DirectBridge()


def near(one: datetime | None, other: datetime, *, within: float = 5.0) -> bool:
    """Whether two instants are the same but for the time that a test takes."""
    return one is not None and abs(one - other) <= timedelta(seconds=within)


def ids(of: Collection[Attempt]) -> list[UUID]:
    """The ids of attempts, in order."""
    return [attempt.id for attempt in of]


async def eventually(
    condition: Callable[[], Awaitable[bool]] | Callable[[], bool], *, deadline: float = 5.0
) -> None:
    """Wait until the condition holds; the test fails after ``deadline`` seconds."""
    with anyio.fail_after(deadline):
        while True:
            answer = condition()
            if answer if isinstance(answer, bool) else await answer:
                return
            await anyio.sleep(0.002)
