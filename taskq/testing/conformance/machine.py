"""Random verbs against one or several stores: the answers agree, the promises hold.

Needs hypothesis. Subclass ``StoreMachine``, let ``make_stores`` give the reference and yours, and
let pytest collect ``YourMachine.TestCase``. Bridges run the stores; time is the machine's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
)
from msgspec.structs import replace

from taskq.audit import Command
from taskq.backends import (
    Cancellation,
    ClaimRequest,
    Deletion,
    ProgressReport,
    Promotion,
    Renewal,
    Store,
)
from taskq.backends.memory import MemoryBackend
from taskq.bridge import Bridge
from taskq.errors import IdempotencyConflict
from taskq.hooks import with_hooks
from taskq.identifiers import new_id
from taskq.lifecycle import (
    RETRYABLE_BY_OPERATOR,
    Cancelled,
    Crashed,
    Died,
    Expired,
    Failed,
    Interrupted,
    Outcome,
    Overdue,
    Settlement,
    Snoozed,
    Succeeded,
    TimedOut,
    Transition,
    Verdict,
    decide,
    lateness,
)
from taskq.model import (
    Activity,
    Attempt,
    Hook,
    Lease,
    OnDuplicate,
    Policy,
    Priority,
    Receipt,
    Status,
)
from taskq.progress import Progress
from taskq.snapshot import ActivityInfo, ActivityPage, Filter, Page, Tree
from taskq.testing.clock import ManualClock
from taskq.testing.conformance import questions
from taskq.testing.conformance.harness import bridge_for
from taskq.testing.conformance.samples import beat, bucket, call, error, keyed, worker

T = TypeVar("T")

WORKERS = tuple(new_id() for _ in range(3))
QUEUES = ("default", "mail")
TYPES = ("work", "play")

OUTCOMES: tuple[Outcome, ...] = (
    Succeeded("1"),
    Succeeded("null"),
    Failed(error=error()),
    Failed(error=error(), delay=0.0),
    Failed(error=error(), retryable=False),
    TimedOut(error("late")),
    Cancelled(),
    Interrupted(),
    Snoozed(5.0),
    Crashed(),
    Died("ended"),
    Expired(),
    Overdue(started=True),
)
IDLE = frozenset({Status.PENDING, Status.SCHEDULED, Status.RETRYING})
HOOKS: tuple[tuple[Hook, ...], ...] = ((), ("on_failure",), ("on_dead_letter", "on_failure"))


@st.composite
def calls(draw: st.DrawFn) -> Activity[object]:
    """Calls of few kinds, some of them with one of two keys."""
    changes: dict[str, object] = {
        "queue": draw(st.sampled_from(QUEUES)),
        "priority": draw(st.sampled_from(list(Priority))),
        "delay": draw(st.sampled_from([None, None, 0.0, 3.0, 40.0])),
        "max_retries": draw(st.sampled_from([None, 0, 1, 3])),
        "max_crashes": draw(st.sampled_from([1, 2, 3])),
        "policy": Policy(hooks=draw(st.sampled_from(HOOKS))),
        "payload": draw(st.sampled_from(["{}", '{"n":1}'])),
        "expires_in": draw(st.sampled_from([None, None, 3.0, 20.0])),
        "deadline_in": draw(st.sampled_from([None, None, 8.0, 60.0])),
    }
    type = draw(st.sampled_from(TYPES))
    key = draw(st.sampled_from([None, None, "one", "two"]))
    if key is None:
        return call(type, **changes)
    on_duplicate = draw(st.sampled_from(list(OnDuplicate)))
    return keyed(
        key,
        on_duplicate,
        type=type,
        check_arguments=draw(st.booleans()),
        unique_for=draw(st.sampled_from([None, None, 5.0])),
        **changes,
    )


class StoreMachine(RuleBasedStateMachine):
    """Verbs in any order, on every store alike."""

    activities = Bundle[UUID]("activities")
    attempts = Bundle[Attempt]("attempts")

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.stores: list[tuple[Store, Bridge]] = [
            (store, bridge_for(store)) for store in self.make_stores(self.clock)
        ]
        self.known: dict[UUID, ActivityInfo] = {}
        self.applied: set[Lease] = set()
        self.released: set[UUID] = set()
        self.beats = 0
        for store, bridge in self.stores:
            bridge.call_sync(store.open)

    def make_stores(self, clock: ManualClock) -> Sequence[Store]:
        """The stores to compare, empty, on ``clock``. The default is the reference alone."""
        return [MemoryBackend(clock)]

    def teardown(self) -> None:
        """Close every store."""
        for store, bridge in self.stores:
            bridge.call_sync(store.close)
            bridge.close()

    def ask(self, verb: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
        """Call the verb on every store; the answers must be equal."""
        answers = [bridge.call_sync(verb, store) for store, bridge in self.stores]
        for answer in answers[1:]:
            assert answer == answers[0]
        return answers[0]

    @rule(target=activities, batch=st.lists(calls(), min_size=1, max_size=3))
    def submit(self, batch: list[Activity[object]]) -> MultipleResults[UUID]:
        """Submit a batch, then once more as after a lost reply."""

        async def verb(store: Store) -> list[Receipt] | UUID | None:
            try:
                return await store.submit(batch)
            except IdempotencyConflict as conflict:
                return conflict.existing

        answer = self.ask(verb)
        if not isinstance(answer, list):
            assert answer is not None
            return multiple()
        again = self.ask(verb)
        if isinstance(again, list):
            # A call that stored nothing is answered with who holds its key by now.
            assert [each.created for each in again] == [each.created for each in answer]
            assert [each for each in again if each.created] == [
                each for each in answer if each.created
            ]
        created = [each.id for each, receipt in zip(batch, answer, strict=True) if receipt.created]
        return multiple(*created)

    @rule(
        target=activities,
        parent=activities,
        type=st.sampled_from(TYPES),
        key=st.sampled_from([None, None, "one"]),
    )
    def make_child(self, parent: UUID, type: str, key: str | None) -> MultipleResults[UUID]:
        """Submit a child of an activity in whatever state; with a key it may be another's."""
        above = self.known.get(parent)
        if above is None:  # it was deleted
            return multiple()
        made = call(type) if key is None else keyed(key, type=type, check_arguments=False)
        child = replace(
            made,
            parent_id=parent,
            root_id=above.root_id,
            origin_id=above.origin_id,
            depth=above.depth + 1,
        )

        async def verb(store: Store) -> list[Receipt]:
            return await store.submit([child])

        [receipt] = self.ask(verb)
        return multiple(child.id) if receipt.created else multiple()

    @rule(attempt=attempts, done=st.integers(0, 9))
    def report_progress(self, attempt: Attempt, done: int) -> None:
        """Report progress, also of what is long lost."""
        said = ProgressReport(attempt.lease, Progress(done=done, at=self.clock.now()))

        async def verb(store: Store) -> None:
            await store.report_progress(attempt.worker, [said])

        self.ask(verb)

    @rule(id=activities, limit=st.integers(1, 4))
    def grow(self, id: UUID, limit: int) -> None:
        """Look at a whole tree."""

        async def verb(store: Store) -> Tree:
            return await store.tree(id, limit=limit)

        found = {node.info.id for node in self.ask(verb).nodes}
        assert id in found or id not in self.known

    @rule(
        target=attempts,
        holder=st.sampled_from(WORKERS),
        queues=st.sampled_from([QUEUES, QUEUES[:1], QUEUES[1:]]),
        types=st.sampled_from([None, TYPES, TYPES[1:]]),
        limit=st.integers(1, 4),
        lease=st.sampled_from([10.0, 30.0]),
        alone=st.booleans(),
    )
    def claim(
        self,
        holder: UUID,
        queues: tuple[str, ...],
        types: tuple[str, ...] | None,
        limit: int,
        lease: float,
        alone: bool,
    ) -> MultipleResults[Attempt]:
        """Claim; nothing that is held, not due or not asked for is given."""
        request = ClaimRequest(
            worker=holder,
            queues=queues,
            types=types,
            limit=1 if alone else limit,
            lease=lease,
            alone=alone,
        )

        async def verb(store: Store) -> list[Attempt]:
            return await store.claim(request)

        attempts = self.ask(verb)
        for attempt in attempts:
            before = self.known.get(attempt.id)
            assert before is None or before.status is Status.PENDING
            assert attempt.queue in queues and attempt.isolate is alone
            assert attempt.ready_at <= self.clock.now()
        order = [(-each.priority, each.ready_at, each.id) for each in attempts]
        assert order == sorted(order)
        return multiple(*attempts)

    @rule(target=attempts, holder=st.sampled_from(WORKERS))
    def claim_overdue(self, holder: UUID) -> MultipleResults[Attempt]:
        """Take what is too late; nothing that is held or has time left is given."""

        async def verb(store: Store) -> list[Attempt]:
            return await store.claim_overdue(holder, 1000, 30.0)

        attempts = self.ask(verb)
        for attempt in attempts:
            before = self.known.get(attempt.id)
            assert before is None or before.status in IDLE
            assert lateness(attempt, after=0.0) is not None
        assert self.ask(verb) == []
        return multiple(*attempts)

    @rule(parents=st.lists(activities, min_size=1, max_size=3))
    def cancel_children(self, parents: list[UUID]) -> None:
        """What lives of their children, but for hooks and keyed ones, is cancelled."""
        left = {
            each.id
            for each in self.known.values()
            if each.parent_id in parents
            and not each.status.terminal
            and each.idempotency_key is None
            and not each.type.endswith((":on_failure", ":on_dead_letter"))
        }

        async def verb(store: Store) -> list[UUID]:
            return sorted(await store.cancel_children(parents))

        assert self.ask(verb) == sorted(left)

    @rule(
        ends=st.lists(st.tuples(attempts, st.sampled_from(OUTCOMES)), min_size=1, max_size=3),
        again=st.booleans(),
    )
    def settle(self, ends: list[tuple[Attempt, Outcome]], again: bool) -> None:
        """Settle attempts, old and new ones, sometimes twice."""
        transitions = [self._transition(attempt, outcome) for attempt, outcome in ends]
        self._settle(transitions)
        if again:
            verdicts = [each.verdict for each in self._settle(transitions)]
            assert Verdict.APPLIED not in verdicts

    @rule(limit=st.integers(1, 5))
    def reap(self, limit: int) -> None:
        """Take back what has expired."""

        async def verb(store: Store) -> list[Attempt]:
            return await store.expired(limit)

        expired = self.ask(verb)
        settlements = self._settle([self._transition(each, Crashed()) for each in expired])
        assert all(each.verdict is Verdict.APPLIED for each in settlements)

    @rule(held=st.lists(attempts, max_size=4), holder=st.sampled_from(WORKERS))
    def heartbeat(self, held: list[Attempt], holder: UUID) -> None:
        """Renew leases, some of them long lost."""
        self.beats += 1
        leases = [attempt.lease for attempt in held]
        message = beat(worker(holder), *leases, number=self.beats, buckets=(bucket(),))

        async def verb(store: Store) -> Renewal:
            return await store.heartbeat(message)

        assert self.ask(verb) == self.ask(verb)

    @rule(given=st.lists(attempts, min_size=1, max_size=3), holder=st.sampled_from(WORKERS))
    def hand_back(self, given: list[Attempt], holder: UUID) -> None:
        """Hand back, some of it not this worker's."""
        leases = [attempt.lease for attempt in given]

        async def verb(store: Store) -> None:
            await store.hand_back(holder, leases)

        self.ask(verb)

    @rule(limit=st.integers(1, 5))
    def promote(self, limit: int) -> None:
        """Move what is due."""

        async def verb(store: Store) -> Promotion:
            return await store.promote(limit)

        assert self.ask(verb).moved <= limit

    @rule(ids=st.lists(activities, min_size=1, max_size=3), tree=st.booleans())
    def cancel(self, ids: list[UUID], tree: bool) -> None:
        """Cancel in whatever state."""

        async def verb(store: Store) -> dict[UUID, Cancellation]:
            return dict(await store.cancel(ids, tree=tree))

        assert set(self.ask(verb)) == set(ids) & self.known.keys()

    @rule(ids=st.lists(activities, min_size=1, max_size=3))
    def delete(self, ids: list[UUID]) -> None:
        """Delete in whatever state: what is left of a tree is all of it."""
        command = Command(actor="ada")

        async def verb(store: Store) -> dict[UUID, Deletion]:
            return dict(await store.delete(ids, command=command))

        met = self.ask(verb)
        assert set(met) == set(ids) & self.known.keys()
        gone = {id for id, each in met.items() if each.deleted}
        assert all((each.alive == 0) is (each.deleted > 0) for each in met.values())
        assert all(self.known[id].status.terminal for id in gone)

    @rule(
        ids=st.lists(activities, min_size=1, max_size=3),
        payload=st.sampled_from([None, None, '{"n":2}']),
        spread=st.sampled_from([0.0, 0.0, 6.0]),
    )
    def retry(self, ids: list[UUID], payload: str | None, spread: float) -> None:
        """Retry as an operator, with other arguments, or spread over time."""
        edits = {} if payload is None else {ids[0]: payload}

        async def verb(store: Store) -> dict[UUID, Status]:
            retry = partial(store.retry, command=Command(actor="ada"))
            return dict(await retry(ids, arguments=edits, spread=spread))

        before = self.ask(verb)
        self.released |= {id for id in before if before[id] in RETRYABLE_BY_OPERATOR}

    @rule(
        ids=st.lists(activities, min_size=1, max_size=3),
        seconds=st.sampled_from([None, -1.0, 5.0, 30.0]),
        priority=st.none() | st.sampled_from(list(Priority)),
    )
    def steer(self, ids: list[UUID], seconds: float | None, priority: Priority | None) -> None:
        """Let what waits run now, or at another time, or before others."""
        when = self.clock.now() + timedelta(seconds=seconds or 0.0)
        command = Command(actor="ada")

        async def verb(store: Store) -> dict[UUID, Status]:
            if priority is not None:
                return dict(await store.set_priority(ids, priority, command=command))
            if seconds is None:
                return dict(await store.run_now(ids, command=command))
            return dict(await store.reschedule(ids, when, command=command))

        assert set(self.ask(verb)) == set(ids) & self.known.keys()

    @rule(seconds=st.sampled_from([0.5, 4.0, 11.0, 50.0]))
    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    @invariant()
    def readers_agree(self) -> None:
        """Lists, snapshots, outcomes and timelines are the same in every store."""

        async def everything(store: Store) -> ActivityPage:
            return await store.list(Filter(), Page(limit=1000))

        infos = {info.id: info for info in self.ask(everything).items}
        for id, info in infos.items():
            self._check_step(self.known.get(id), info)
            self.ask(partial(questions.timeline, id=id))
        self.ask(questions.dead_letters)
        self.known = infos
        self.released.clear()
        self._check_totals(infos)

    def _check_step(self, before: ActivityInfo | None, now: ActivityInfo) -> None:
        """What may have become of one activity since the last step."""
        held = now.status is Status.PROCESSING
        assert (now.lease_until is not None) is held
        assert (now.finished_at is not None) is now.status.terminal
        assert (now.result is not None) is (now.status is Status.COMPLETED)
        assert now.isolate is (now.crash_count + 1 >= now.max_crashes) or now.status.terminal
        assert held or now.cancel_requested_at is None
        assert now.crash_count <= now.max_crashes
        assert now.max_retries is None or now.retry_count <= now.max_retries
        if before is None:
            return
        assert now.claim >= before.claim
        if before.status.terminal and now.id not in self.released:
            assert now == before

    def _check_totals(self, infos: dict[UUID, ActivityInfo]) -> None:
        """Counts, holders and outcomes fit the rows."""
        processing = {id: info for id, info in infos.items() if info.status is Status.PROCESSING}
        for holder in WORKERS:
            held = self.ask(partial(questions.held, holder=holder))
            mine = [info for info in processing.values() if info.worker == holder]
            assert held == sorted((info.id, info.claim) for info in mine)
        counts = self.ask(questions.counts)
        for status in Status:
            assert counts[status] == sum(info.status is status for info in infos.values())
        outcomes = self.ask(partial(questions.outcomes, ids=list(infos)))
        ended = {id for id, info in infos.items() if info.status.terminal}
        assert set(outcomes) == ended

    def _transition(self, attempt: Attempt, outcome: Outcome) -> Transition:
        now = self.clock.now()
        return with_hooks(decide(attempt, outcome), attempt, now=now, new_id=new_id)

    def _settle(self, transitions: list[Transition]) -> list[Settlement]:
        """Settle, and count what was applied: never one claim twice (promise:G5)."""

        async def verb(store: Store) -> list[Settlement]:
            return await store.settle(transitions)

        settlements = self.ask(verb)
        assert [each.id for each in settlements] == [each.id for each in transitions]
        for transition, settlement in zip(transitions, settlements, strict=True):
            if settlement.verdict is Verdict.APPLIED:
                lease = Lease(transition.id, transition.claim)
                assert lease not in self.applied
                self.applied.add(lease)
        return settlements
