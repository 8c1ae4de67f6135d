"""What readers see of the memory backend."""

from __future__ import annotations

import heapq
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from uuid import UUID

from taskq.audit import AuditEntry
from taskq.backends.causes import cause_of, first_causes
from taskq.backends.memory import searching
from taskq.backends.memory.row import Row
from taskq.backends.memory.tables import Tables
from taskq.backends.presence import ALIVE_WITHIN
from taskq.backends.timeline import entries
from taskq.clock import Clock
from taskq.filtering.matching import matches
from taskq.model import Priority, Status
from taskq.search import Count, Cursor, Order, SearchSlice
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
from taskq.tree import grown

_WAITING = frozenset({Status.PENDING, Status.SCHEDULED, Status.RETRYING})


class MemoryReader:
    """``taskq.backends.Inspector`` over tables in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._tables = Tables()

    async def stats(self, queues: Collection[str] = (), *, cap: int = 100_000) -> Stats:
        """See ``Inspector.stats``."""
        with self._lock:
            now = self._clock.now()
            rows = [row for row in self._rows() if not queues or row.activity.queue in queues]
            statuses = Counter(row.status for row in rows)
            pending = [row for row in rows if row.status is Status.PENDING]
            priorities = Counter(row.activity.priority for row in pending)
            by_queue = Counter(row.activity.queue for row in rows if not row.status.terminal)
            workers = live(self._tables, now, ALIVE_WITHIN)
        oldest = min((row.ready_at for row in pending), default=None)
        return Stats(
            by_status={status: min(statuses[status], cap) for status in Status},
            by_priority={priority: min(priorities[priority], cap) for priority in Priority},
            by_queue={queue: min(count, cap) for queue, count in by_queue.items()},
            oldest_pending=None if oldest is None else (now - oldest).total_seconds(),
            workers=len(workers),
            slots=sum(worker.concurrency for worker in workers),
            slots_used=sum(worker.slots_used for worker in workers),
            cap=cap,
        )

    async def get(self, ids: Collection[UUID]) -> Mapping[UUID, ActivityInfo]:
        """See ``Inspector.get``."""
        with self._lock:
            rows = (self._tables.rows.get(id) for id in ids)
            return {row.id: row.info() for row in rows if row is not None}

    async def timeline(self, id: UUID) -> list[TimelineEntry]:
        """See ``Inspector.timeline``."""
        with self._lock:
            row = self._tables.rows.get(id)
            return [] if row is None else entries(row.info(), row.events)

    async def tree(self, id: UUID, *, limit: int = 1000) -> Tree:
        """See ``Inspector.tree``."""
        with self._lock:
            row = self._tables.rows.get(id)
            root = id if row is None else row.activity.root_id
            rows = [each for each in self._rows() if each.activity.root_id == root]
            oldest = heapq.nsmallest(limit, rows, key=lambda each: each.id)
            infos = {each.id: each.info() for each in oldest}
            if row is not None:
                infos.setdefault(id, row.info())
        return grown(root, infos.values(), cut=len(rows) > limit)

    async def workers(self, *, alive_within: float = ALIVE_WITHIN) -> list[WorkerInfo]:
        """See ``Inspector.workers``."""
        with self._lock:
            return live(self._tables, self._clock.now(), alive_within)

    async def unserved(self, *, alive_within: float = ALIVE_WITHIN) -> list[UnservedType]:
        """See ``Inspector.unserved``; in order of queue and type."""
        with self._lock:
            workers = live(self._tables, self._clock.now(), alive_within)
            waiting = Counter(
                (row.activity.queue, row.activity.type)
                for row in self._rows()
                if row.status in _WAITING
            )
        return [
            UnservedType(queue=queue, type=type, waiting=count)
            for (queue, type), count in sorted(waiting.items())
            if not any(worker.serves(queue, type) for worker in workers)
        ]

    async def series(self, since: datetime, until: datetime, *, span: int = 60) -> list[Bucket]:
        """See ``Inspector.series``."""
        with self._lock:
            rollup = sorted(self._tables.rollup.items())
        return [each for _, each in rollup if each.span == span and since <= each.minute < until]

    async def audit(
        self,
        *,
        limit: int = 50,
        before: int | None = None,
        command_ids: Collection[UUID] | None = None,
    ) -> list[AuditEntry]:
        """See ``Inspector.audit``."""
        with self._lock:
            entries = self._tables.audit if before is None else self._tables.audit[: before - 1]
            newest = entries[::-1]
        wanted = (e for e in newest if command_ids is None or e.command_id in command_ids)
        return [*islice(wanted, limit)]

    async def dead_letters(
        self, filter: Filter, *, limit: int = 100, cap: int = 10_000
    ) -> list[Cause]:
        """See ``Inspector.dead_letters``."""
        grouped: dict[str, list[ActivityInfo]] = {}
        with self._lock:
            now = self._clock.now()
            for row in self._rows():
                if row.fingerprint is not None and _matches(row, filter, now):
                    grouped.setdefault(row.fingerprint, []).append(row.info())
        return first_causes((cause_of(infos, cap) for infos in grouped.values()), limit)

    async def list(self, filter: Filter, page: Page) -> ActivityPage:
        """See ``Inspector.list``."""
        with self._lock:
            now = self._clock.now()
            matching = (
                row
                for row in self._rows()
                if (page.before is None or row.id < page.before) and _matches(row, filter, now)
            )
            rows = heapq.nlargest(page.limit + 1, matching, key=lambda row: row.id)
            items = tuple(row.info() for row in rows[: page.limit])
        return ActivityPage(items=items, next=items[-1].id if len(rows) > len(items) else None)

    async def search(
        self,
        filter: Filter,
        *,
        order: Order = Order.NEWEST,
        limit: int = 50,
        after: Cursor | None = None,
        seconds: float = 0.1,
    ) -> SearchSlice:
        """See ``Inspector.search``."""
        over = self._until(seconds)
        with self._lock:
            matching = partial(_matches, filter=filter, now=self._clock.now())
            return searching.search(
                self._rows(), filter, matching, order=order, limit=limit, after=after, over=over
            )

    async def count(self, filter: Filter, *, cap: int = 10_000, seconds: float = 0.2) -> Count:
        """See ``Inspector.count``."""
        over = self._until(seconds)
        with self._lock:
            matching = partial(_matches, filter=filter, now=self._clock.now())
            rows = list(self._rows())[::-1]
            return searching.count(rows, matching, cap=cap, over=over)

    def _until(self, seconds: float) -> Callable[[], bool]:
        end = self._clock.monotonic() + seconds
        return lambda: self._clock.monotonic() >= end

    def _rows(self) -> Iterator[Row]:
        return iter(self._tables.rows.values())


def live(tables: Tables, now: datetime, alive_within: float) -> list[WorkerInfo]:
    """Workers whose latest heartbeat is that recent, newest first."""
    since = now - timedelta(seconds=alive_within)
    live = [row.info for row in tables.workers.values() if row.info.seen_at >= since]
    return sorted(live, key=lambda worker: (worker.started_at, worker.id), reverse=True)


def _matches(row: Row, filter: Filter, now: datetime) -> bool:
    call = row.activity
    return (
        (not filter.statuses or row.status in filter.statuses)
        and (not filter.queues or call.queue in filter.queues)
        and (not filter.priorities or call.priority in filter.priorities)
        and (not filter.types or any(_is_type(call.type, wanted) for wanted in filter.types))
        and (not filter.roots_only or call.parent_id is None)
        and filter.parent_id in (None, call.parent_id)
        and filter.root_id in (None, call.root_id)
        and filter.correlation_id in (None, call.correlation_id)
        and filter.user_id in (None, call.user_id)
        and filter.source in (None, call.source)
        and filter.fingerprint in (None, row.fingerprint)
        and (not filter.tags or filter.tags.items() <= row.tags.items())
        and (not filter.where or matches(row.info(), filter.where, now))
    )


def _is_type(type: str, wanted: str) -> bool:
    return type.startswith(wanted[:-1]) if wanted.endswith("*") else type == wanted
