"""The memory backend: dictionaries and one lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from uuid import UUID

from msgspec.structs import replace

from taskq.audit import Command, repeated
from taskq.backends import (
    Cancellation,
    Capabilities,
    ClaimRequest,
    Heartbeat,
    Hint,
    ProgressReport,
    Promotion,
    Renewal,
    Topic,
)
from taskq.backends.bounding import bounded, demands
from taskq.backends.changes import Changes
from taskq.backends.fence import holds, lease_ended
from taskq.backends.instants import later
from taskq.backends.memory.bounding import evict, making_room
from taskq.backends.memory.cancelling import cancel, cancel_below
from taskq.backends.memory.operator import MemoryOperator
from taskq.backends.memory.pruning import MemoryPruner
from taskq.backends.memory.queueing import MemoryQueues
from taskq.backends.memory.row import Row
from taskq.backends.memory.scheduling import MemorySchedules
from taskq.backends.memory.settlement import settle, stage
from taskq.backends.memory.submission import Submission
from taskq.backends.memory.watches import MemoryWatch
from taskq.clock import Clock, SystemClock
from taskq.lifecycle import (
    Note,
    Settlement,
    Transition,
    Verdict,
    cancelled_error,
)
from taskq.model import Activity, Attempt, Ended, Lease, Receipt, Status


class MemoryBackend(MemoryOperator, MemoryPruner, MemoryQueues, MemorySchedules):
    """``taskq.backends.Store`` in memory: it ends with the process. ``clock`` is its only time.

    Methods never suspend, so they may be called from any thread and any event loop. What is stored
    outlives ``close``; watches end with it.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(SystemClock() if clock is None else clock)
        self._watches: dict[int, MemoryWatch] = {}

    @property
    def capabilities(self) -> Capabilities:
        """Gone with the process, seen by no other, and no loop of its own."""
        return Capabilities(durable=False, shared=False, resident=False)

    @property
    def location(self) -> str:
        """``memory``."""
        return "memory"

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """End every watch."""
        self._watches.clear()

    def after_fork(self) -> None:
        """A fork may copy the lock while another thread holds it, and watches of the parent."""
        self._lock = threading.Lock()
        self._watches.clear()

    async def submit(self, activities: Sequence[Activity[object]]) -> list[Receipt]:
        """See ``Backend.submit``."""
        changes = Changes()
        with self._lock:
            receipts = self._submitted(activities, self._clock.now(), changes)
        self._tell(changes)
        return receipts

    async def enqueue(
        self,
        activities: Sequence[Activity[object]],
        *,
        command: Command,
        action: str = "enqueue",
        detail: Mapping[str, object] | None = None,
    ) -> list[Receipt]:
        """See ``Operator.enqueue``."""
        changes = Changes()
        with self._lock:
            known = self._entry(command)
            if known is not None:
                return repeated(known, action)
            now = self._clock.now()
            receipts = self._submitted(activities, now, changes)
            ids = [receipt.id for receipt in receipts]
            self._recorded_of(now, command, action, ids, **(detail or {}))
        self._tell(changes)
        return receipts

    def _submitted(
        self, activities: Sequence[Activity[object]], now: datetime, changes: Changes
    ) -> list[Receipt]:
        """Store calls; the caller holds the lock."""
        stored = {each.id for each in activities if each.id in self._tables.rows}
        submission = Submission(self._tables, now)
        receipts = [submission.add(activity) for activity in activities]
        wanted = demands(activities, receipts, stored) if bounded(activities) else []
        victims = [row for each in wanted for row in making_room(self._tables, each)]
        changes.ready = bool(submission.store())
        evict(self._tables, victims, now, changes)
        return receipts

    async def claim(self, request: ClaimRequest) -> list[Attempt]:
        """See ``Backend.claim``."""
        attempts: list[Attempt] = []
        with self._lock:
            now = self._clock.now()
            for row in islice(self._tables.ready.take(request, now), request.limit):
                attempts.append(self._give(row, request.worker, now, request.lease))
        return attempts

    async def claim_overdue(self, worker: UUID, limit: int, lease: float) -> list[Attempt]:
        """See ``Backend.claim_overdue``."""
        with self._lock:
            now = self._clock.now()
            overdue = islice(self._tables.overdue(now), limit)
            attempts = [self._give(row, worker, now, lease) for row in overdue]
        return sorted(attempts, key=lambda attempt: attempt.id)

    def _give(self, row: Row, worker: UUID, now: datetime, lease: float) -> Attempt:
        """Let ``worker`` have a row."""
        row.claim += 1
        row.worker = worker
        row.started_at = now
        row.lease_until = later(now, lease)
        self._tables.move(row, Status.PROCESSING, now)
        return row.attempt(worker)

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        """See ``Backend.settle``."""
        changes = Changes()
        with self._lock:
            now = self._clock.now()
            staged = [stage(transition, now) for transition in transitions]
            settlements = [settle(self._tables, each, now, changes) for each in staged]
            hooks = {hook.id for each in transitions for hook in each.hooks}
            for each in settlements:
                if each.verdict is Verdict.APPLIED and self._tables.rows[each.id].cancel_tree:
                    cancel_below(self._tables, each.id, now, changes, spared=hooks)
        self._tell(changes)
        return settlements

    async def hand_back(self, worker: UUID, leases: Sequence[Lease]) -> None:
        """See ``Backend.hand_back``."""
        changes = Changes()
        with self._lock:
            now = self._clock.now()
            for lease in leases:
                row = self._tables.rows.get(lease.id)
                if row is None or not holds(row, worker, lease.claim):
                    continue
                if row.cancel_requested_at is not None:
                    row.error = cancelled_error(row.number)
                    self._tables.move(row, Status.CANCELLED, now)
                else:
                    row.note(Note.HANDED_BACK, now, {}, row.number)
                    self._tables.move(row, Status.PENDING, now)
                row.worker = None
                changes.moved(row.id, row.status)
                if row.cancel_tree:
                    cancel_below(self._tables, row.id, now, changes)
        self._tell(changes)

    async def held(self, worker: UUID) -> list[Lease]:
        """See ``Backend.held``."""
        with self._lock:
            return [row.lease for row in self._tables.holding(worker)]

    async def heartbeat(self, beat: Heartbeat) -> Renewal:
        """See ``Backend.heartbeat``."""
        lost: set[UUID] = set()
        cancelled: set[UUID] = set()
        with self._lock:
            now = self._clock.now()
            for lease in beat.leases:
                row = self._tables.rows.get(lease.id)
                if row is None or not holds(row, beat.worker.id, lease.claim):
                    lost.add(lease.id)
                    continue
                row.lease_until = later(now, beat.lease)
                if row.cancel_requested_at is not None:
                    cancelled.add(lease.id)
            self._tables.report(replace(beat.worker, seen_at=now), beat.number, beat.buckets)
            self._tables.forget_workers(now)
        return Renewal(lost=frozenset(lost), cancelled=frozenset(cancelled))

    async def cancel_requests(self, worker: UUID) -> list[UUID]:
        """See ``Backend.cancel_requests``."""
        with self._lock:
            rows = self._tables.holding(worker)
            return [row.id for row in rows if row.cancel_requested_at is not None]

    async def retire(self, worker: UUID) -> None:
        """See ``Backend.retire``."""
        with self._lock:
            self._tables.workers.pop(worker, None)

    async def expired(self, limit: int) -> list[Attempt]:
        """See ``Backend.expired``."""
        with self._lock:
            now = self._clock.now()
            ended = [
                (row.lease_until, row.id, row.attempt(row.worker))
                for row in self._tables.processing.values()
                if row.worker is not None and lease_ended(row, now)
            ]
        return [attempt for *_, attempt in sorted(ended)[:limit]]

    async def promote(self, limit: int) -> Promotion:
        """See ``Backend.promote``."""
        changes = Changes()
        moved = 0
        with self._lock:
            now = self._clock.now()
            head = self._tables.due.head()
            while head is not None and head.ready_at <= now and moved < limit:
                self._tables.move(head, Status.PENDING, now)
                changes.moved(head.id, head.status)
                moved += 1
                head = self._tables.due.head()
            next_due = None if head is None else max(0.0, (head.ready_at - now).total_seconds())
        self._tell(changes)
        return Promotion(moved=moved, next_due=next_due)

    async def cancel(
        self, ids: Sequence[UUID], *, tree: bool = False, command: Command | None = None
    ) -> Mapping[UUID, Cancellation]:
        """See ``Backend.cancel``."""
        changes = Changes()
        with self._lock:
            now = self._clock.now()
            rows = [
                row for row in map(self._tables.rows.get, dict.fromkeys(ids)) if row is not None
            ]
            if command and not self._recorded_of(now, command, "cancel", ids):
                return {row.id: Cancellation(row.status) for row in rows}
            before = {row.id: (row.status, self._live_below(row.id) if tree else 0) for row in rows}
            for row in rows:
                cancel(self._tables, row, now, changes, tree=tree, command=command)
                if tree:
                    cancel_below(self._tables, row.id, now, changes)
            if command:
                done = {
                    id for id, (status, below) in before.items() if below or not status.terminal
                }
                self._leave(id for id in dict.fromkeys(ids) if id not in done)
        self._tell(changes)
        return {id: Cancellation(*met) for id, met in before.items()}

    def _live_below(self, id: UUID) -> int:
        return sum(not row.status.terminal for row in self._tables.below(id))

    async def report_progress(self, worker: UUID, reports: Sequence[ProgressReport]) -> None:
        """See ``Backend.report_progress``."""
        with self._lock:
            for report in reports:
                row = self._tables.rows.get(report.lease.id)
                if row is not None and holds(row, worker, report.lease.claim):
                    row.progress = report.progress

    async def cancel_children(self, parents: Collection[UUID]) -> list[UUID]:
        """See ``Backend.cancel_children``."""
        changes = Changes()
        with self._lock:
            now = self._clock.now()
            orphans = [row for id in dict.fromkeys(parents) for row in self._tables.orphans(id)]
            for row in orphans:
                cancel(self._tables, row, now, changes, tree=True)
                cancel_below(self._tables, row.id, now, changes)
        self._tell(changes)
        return [row.id for row in orphans]

    async def outcomes(self, ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        """See ``Backend.outcomes``."""
        outcomes: dict[UUID, Ended | None] = {}
        with self._lock:
            for id in ids:
                row = self._tables.rows.get(id)
                if row is None:
                    outcomes[id] = None
                elif row.status.terminal:
                    outcomes[id] = row.ended()
        return outcomes

    async def watch(
        self, topics: Collection[Topic], listener: Callable[[Hint], None]
    ) -> MemoryWatch:
        """See ``Backend.watch``."""
        return MemoryWatch(topics, listener, self._watches)

    def _tell(self, changes: Changes) -> None:
        """Send hints; called without the lock, so that a listener may call back."""
        for hint in changes.hints():
            for watch in list(self._watches.values()):
                watch.tell(hint)
