"""A store that fails on demand, before or after the deed: for lost replies and outages."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from taskq.audit import AuditEntry, Command
from taskq.backends import (
    Cancellation,
    Capabilities,
    ClaimRequest,
    Deletion,
    Due,
    Fired,
    Heartbeat,
    Hint,
    Place,
    ProgressReport,
    Promotion,
    Pruned,
    Renewal,
    Store,
    Topic,
    Watch,
)
from taskq.errors import BackendUnavailable
from taskq.lifecycle import Settlement, Transition
from taskq.model import Activity, Attempt, Ended, Lease, Priority, Receipt, Status
from taskq.pausing import Kind, Load, Pause
from taskq.schedule import Schedule, ScheduleInfo
from taskq.search import Count, SearchSlice
from taskq.snapshot import (
    ActivityInfo,
    ActivityPage,
    Bucket,
    Cause,
    Filter,
    Page,
    Stats,
    TimelineEntry,
    Tree,
    UnservedType,
    WorkerInfo,
)

T = TypeVar("T")


class Fault(Struct, frozen=True):
    """One failure to come: before the deed, or after it, so that only the reply is lost."""

    after: bool
    error: Exception | type[Exception]


class FaultyBackend:
    """A store that hands every call to ``inner``, and fails those that ``fail`` named.

    ``calls`` counts the calls of each method, failed ones included.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.calls: Counter[str] = Counter()
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)

    def fail(
        self,
        method: str,
        *,
        after: bool,
        times: int = 1,
        error: Exception | type[Exception] = BackendUnavailable,
    ) -> None:
        """Let the next ``times`` calls of ``method`` raise, before the deed or after it.

        Repeated, the faults queue up. AttributeError where the store has no such method.
        """
        getattr(self.inner, method)
        self._faults[method].extend([Fault(after, error)] * times)

    def mend(self) -> None:
        """Forget every fault to come."""
        self._faults.clear()

    def pending(self, method: str) -> int:
        """How many faults of this method are still to come."""
        return len(self._faults[method])

    async def _do(
        self, method: str, deed: Callable[..., Coroutine[Any, Any, T]], *arguments: object
    ) -> T:
        self.calls[method] += 1
        faults = self._faults[method]
        fault = faults.popleft() if faults else None
        if fault is not None and not fault.after:
            raise fault.error
        value = await deed(*arguments)
        if fault is not None:
            raise fault.error
        return value

    @property
    def capabilities(self) -> Capabilities:
        # No fault can be put into a caller's transaction.
        return msgspec.structs.replace(self.inner.capabilities, transactional=False)

    @property
    def location(self) -> str:
        return self.inner.location

    async def open(self) -> None:
        await self._do("open", self.inner.open)

    async def close(self) -> None:
        await self._do("close", self.inner.close)

    def after_fork(self) -> None:
        self.inner.after_fork()

    async def submit(self, activities: Sequence[Activity[object]]) -> list[Receipt]:
        return await self._do("submit", self.inner.submit, activities)

    async def claim(self, request: ClaimRequest) -> list[Attempt]:
        return await self._do("claim", self.inner.claim, request)

    async def claim_overdue(self, worker: UUID, limit: int, lease: float) -> list[Attempt]:
        return await self._do("claim_overdue", self.inner.claim_overdue, worker, limit, lease)

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        return await self._do("settle", self.inner.settle, transitions)

    async def hand_back(self, worker: UUID, leases: Sequence[Lease]) -> None:
        await self._do("hand_back", self.inner.hand_back, worker, leases)

    async def held(self, worker: UUID) -> list[Lease]:
        return await self._do("held", self.inner.held, worker)

    async def heartbeat(self, beat: Heartbeat) -> Renewal:
        return await self._do("heartbeat", self.inner.heartbeat, beat)

    async def cancel_requests(self, worker: UUID) -> list[UUID]:
        return await self._do("cancel_requests", self.inner.cancel_requests, worker)

    async def retire(self, worker: UUID) -> None:
        await self._do("retire", self.inner.retire, worker)

    async def expired(self, limit: int) -> list[Attempt]:
        return await self._do("expired", self.inner.expired, limit)

    async def promote(self, limit: int) -> Promotion:
        return await self._do("promote", self.inner.promote, limit)

    async def cancel(
        self, ids: Sequence[UUID], *, tree: bool = False, command: Command | None = None
    ) -> Mapping[UUID, Cancellation]:
        cancel = partial(self.inner.cancel, tree=tree, command=command)
        return await self._do("cancel", cancel, ids)

    async def report_progress(self, worker: UUID, reports: Sequence[ProgressReport]) -> None:
        await self._do("report_progress", self.inner.report_progress, worker, reports)

    async def cancel_children(self, parents: Collection[UUID]) -> list[UUID]:
        return await self._do("cancel_children", self.inner.cancel_children, parents)

    async def outcomes(self, ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        return await self._do("outcomes", self.inner.outcomes, ids)

    async def watch(self, topics: Collection[Topic], listener: Callable[[Hint], None]) -> Watch:
        return await self._do("watch", self.inner.watch, topics, listener)

    async def retry(
        self, ids: Sequence[UUID], *, command: Command, **how: Any
    ) -> Mapping[UUID, Status]:
        return await self._do("retry", partial(self.inner.retry, command=command, **how), ids)

    async def run_now(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Status]:
        return await self._do("run_now", partial(self.inner.run_now, command=command), ids)

    async def reschedule(
        self, ids: Sequence[UUID], when: datetime, *, command: Command
    ) -> Mapping[UUID, Status]:
        deed = partial(self.inner.reschedule, command=command)
        return await self._do("reschedule", deed, ids, when)

    async def set_priority(
        self, ids: Sequence[UUID], priority: Priority, *, command: Command
    ) -> Mapping[UUID, Status]:
        deed = partial(self.inner.set_priority, command=command)
        return await self._do("set_priority", deed, ids, priority)

    async def enqueue(
        self, activities: Sequence[Activity[object]], *, command: Command, **how: Any
    ) -> list[Receipt]:
        deed = partial(self.inner.enqueue, command=command, **how)
        return await self._do("enqueue", deed, activities)

    async def dead_letters(
        self, filter: Filter, *, limit: int = 100, cap: int = 10_000
    ) -> list[Cause]:
        deed = partial(self.inner.dead_letters, limit=limit, cap=cap)
        return await self._do("dead_letters", deed, filter)

    async def delete(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Deletion]:
        return await self._do("delete", partial(self.inner.delete, command=command), ids)

    async def prune(self, rules: Mapping[Status, float], **options: Any) -> Pruned:
        return await self._do("prune", partial(self.inner.prune, **options), rules)

    async def sweep_keys(self, limit: int) -> int:
        return await self._do("sweep_keys", self.inner.sweep_keys, limit)

    async def schedules(self, names: Collection[str] | None = None) -> Sequence[ScheduleInfo]:
        return await self._do("schedules", self.inner.schedules, names)

    async def declare_schedules(self, schedules: Sequence[Schedule]) -> None:
        await self._do("declare_schedules", self.inner.declare_schedules, schedules)

    async def put_schedule(
        self,
        schedule: Schedule,
        *,
        revision: int | None,
        command: Command,
        shown: Schedule | None = None,
    ) -> ScheduleInfo | None:
        deed = partial(self.inner.put_schedule, revision=revision, command=command, shown=shown)
        return await self._do("put_schedule", deed, schedule)

    async def pause_schedule(
        self, name: str, *, paused: bool, command: Command
    ) -> ScheduleInfo | None:
        deed = partial(self.inner.pause_schedule, paused=paused, command=command)
        return await self._do("pause_schedule", deed, name)

    async def trigger_schedule(self, name: str, *, id: UUID, command: Command) -> bool:
        deed = partial(self.inner.trigger_schedule, id=id, command=command)
        return await self._do("trigger_schedule", deed, name)

    async def delete_schedule(self, name: str, *, command: Command) -> bool:
        deed = partial(self.inner.delete_schedule, command=command)
        return await self._do("delete_schedule", deed, name)

    async def due_schedules(self, after: Place | None = None) -> Due:
        return await self._do("due_schedules", self.inner.due_schedules, after)

    async def fire_schedule(self, name: str) -> Fired | None:
        return await self._do("fire_schedule", self.inner.fire_schedule, name)

    async def stats(self, queues: Collection[str] = (), *, cap: int = 100_000) -> Stats:
        return await self._do("stats", partial(self.inner.stats, cap=cap), queues)

    async def get(self, ids: Collection[UUID]) -> Mapping[UUID, ActivityInfo]:
        return await self._do("get", self.inner.get, ids)

    async def timeline(self, id: UUID) -> list[TimelineEntry]:
        return await self._do("timeline", self.inner.timeline, id)

    async def tree(self, id: UUID, *, limit: int = 1000) -> Tree:
        return await self._do("tree", partial(self.inner.tree, limit=limit), id)

    async def workers(self, *, alive_within: float = 60.0) -> list[WorkerInfo]:
        return await self._do("workers", partial(self.inner.workers, alive_within=alive_within))

    async def unserved(self, *, alive_within: float = 60.0) -> list[UnservedType]:
        return await self._do("unserved", partial(self.inner.unserved, alive_within=alive_within))

    async def series(self, since: datetime, until: datetime, *, span: int = 60) -> list[Bucket]:
        return await self._do("series", partial(self.inner.series, span=span), since, until)

    async def audit(self, **options: Any) -> list[AuditEntry]:
        return await self._do("audit", partial(self.inner.audit, **options))

    async def search(self, filter: Filter, **options: Any) -> SearchSlice:
        return await self._do("search", partial(self.inner.search, **options), filter)

    async def count(self, filter: Filter, *, cap: int = 10_000, seconds: float = 0.2) -> Count:
        return await self._do("count", partial(self.inner.count, cap=cap, seconds=seconds), filter)

    async def pauses(self) -> list[Pause]:
        return await self._do("pauses", self.inner.pauses)

    async def pause(self, kind: Kind, name: str, *, command: Command) -> bool:
        return await self._do("pause", partial(self.inner.pause, command=command), kind, name)

    async def resume(self, kind: Kind, name: str, *, command: Command) -> bool:
        return await self._do("resume", partial(self.inner.resume, command=command), kind, name)

    async def loads(self, kind: Kind, *, cap: int = 10_000) -> list[Load]:
        return await self._do("loads", partial(self.inner.loads, cap=cap), kind)

    async def list(self, filter: Filter, page: Page) -> ActivityPage:
        return await self._do("list", self.inner.list, filter, page)
