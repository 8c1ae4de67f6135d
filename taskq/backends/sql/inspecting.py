"""What readers ask of both SQL stores, and of a reader that has nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from taskq.audit import AuditEntry
from taskq.backends.presence import ALIVE_WITHIN
from taskq.backends.sql import auditing, causes, loads, pauses, reader, schedule_rows, searching
from taskq.backends.sql.chunks import CHUNK
from taskq.backends.sql.doors import ReadingDoors
from taskq.backends.sql.searching import Patience
from taskq.pausing import Kind, Load, Pause
from taskq.schedule import ScheduleInfo
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


class SqlInspector(ReadingDoors):
    """``taskq.backends.Inspector``, over the doors that each has."""

    async def stats(self, queues: Collection[str] = (), *, cap: int = 100_000) -> Stats:
        """See ``Inspector.stats``."""
        return await self._read(lambda connection, now: reader.stats(connection, now, queues, cap))

    async def get(self, ids: Collection[UUID]) -> Mapping[UUID, ActivityInfo]:
        """See ``Inspector.get``."""
        ask = self._ask if len(ids) <= CHUNK else self._read
        return await ask(lambda connection, _: reader.get(connection, ids))

    async def timeline(self, id: UUID) -> list[TimelineEntry]:
        """See ``Inspector.timeline``."""
        return await self._read(lambda connection, _: reader.timeline(connection, id))

    async def tree(self, id: UUID, *, limit: int = 1000) -> Tree:
        """See ``Inspector.tree``."""
        return await self._read(lambda connection, _: reader.tree(connection, id, limit))

    async def workers(self, *, alive_within: float = ALIVE_WITHIN) -> list[WorkerInfo]:
        """See ``Inspector.workers``."""
        return await self._ask(
            lambda connection, now: reader.live_workers(connection, now, alive_within)
        )

    async def unserved(self, *, alive_within: float = ALIVE_WITHIN) -> list[UnservedType]:
        """See ``Inspector.unserved``."""
        return await self._read(
            lambda connection, now: reader.unserved(connection, now, alive_within)
        )

    async def series(self, since: datetime, until: datetime, *, span: int = 60) -> list[Bucket]:
        """See ``Inspector.series``."""
        return await self._ask(lambda connection, _: reader.series(connection, since, until, span))

    async def audit(
        self,
        *,
        limit: int = 50,
        before: int | None = None,
        command_ids: Collection[UUID] | None = None,
    ) -> list[AuditEntry]:
        """See ``Inspector.audit``."""
        ask = self._ask if command_ids is None or len(command_ids) <= CHUNK else self._read
        return await ask(
            lambda connection, _: auditing.entries(connection, limit, before, command_ids)
        )

    async def dead_letters(
        self, filter: Filter, *, limit: int = 100, cap: int = 10_000
    ) -> list[Cause]:
        """See ``Inspector.dead_letters``."""
        return await self._read(
            lambda connection, now: causes.dead_letters(connection, now, filter, limit, cap)
        )

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
        return await self._read(
            lambda connection, now: searching.search(
                connection,
                now,
                filter,
                order=order,
                limit=limit,
                after=after,
                patience=Patience(seconds, self._monotonic),
            )
        )

    async def count(self, filter: Filter, *, cap: int = 10_000, seconds: float = 0.2) -> Count:
        """See ``Inspector.count``."""
        return await self._read(
            lambda connection, now: searching.count(
                connection, now, filter, cap=cap, patience=Patience(seconds, self._monotonic)
            )
        )

    # -- QueueReader, ScheduleReader --

    async def pauses(self) -> list[Pause]:
        """See ``QueueReader.pauses``."""
        return await self._ask(lambda connection, _: pauses.found(connection))

    async def loads(self, kind: Kind, *, cap: int = 10_000) -> list[Load]:
        """See ``QueueReader.loads``."""
        return await self._read(lambda connection, now: loads.loads(connection, now, kind, cap))

    async def schedules(self, names: Collection[str] | None = None) -> Sequence[ScheduleInfo]:
        """See ``ScheduleReader.schedules``."""
        if names is None:
            return await self._ask(lambda connection, _: schedule_rows.every(connection))
        return await self._ask(lambda connection, _: schedule_rows.named(connection, names))

    # -- last: inside the class its name is no longer that of the type --

    async def list(self, filter: Filter, page: Page) -> ActivityPage:
        """See ``Inspector.list``."""
        return await self._read(
            lambda connection, now: reader.listed(connection, now, filter, page)
        )
