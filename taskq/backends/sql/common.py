"""What both SQL stores do alike: for readers and operators, and what is not in a hurry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Connection

from taskq.audit import AuditEntry
from taskq.backends import Cancellation
from taskq.backends.changes import Changes
from taskq.backends.presence import ALIVE_WITHIN
from taskq.backends.sql import auditing, cancelling, reader, writer
from taskq.backends.sql.chunks import CHUNK
from taskq.backends.sql.scheduling import SqlSchedules
from taskq.model import Lease, Status
from taskq.snapshot import (
    ActivityInfo,
    ActivityPage,
    Bucket,
    Filter,
    Page,
    Stats,
    TimelineEntry,
    Tree,
    UnservedType,
    WorkerInfo,
)

T = TypeVar("T")


class CommonStore(SqlSchedules, ABC):
    """``Inspector``, ``Operator`` and some of ``Backend``, over the two doors that each has."""

    @abstractmethod
    async def _write(self, function: Callable[[Connection, datetime], tuple[T, Changes]]) -> T:
        """Run ``function`` in a transaction; its hints follow the commit."""

    @abstractmethod
    async def _read(self, function: Callable[[Connection, datetime], T]) -> T:
        """Run ``function``, of several statements, on one consistent view."""

    async def _has_orphans(self, parents: Collection[UUID]) -> bool:
        """Whether ``cancel_children`` has anything to do; reads only."""
        return bool(await self._ask(lambda connection, _: writer.orphans(connection, parents)))

    async def _ask(self, function: Callable[[Connection, datetime], T]) -> T:
        """Run ``function``, of one statement."""
        return await self._read(function)

    # -- Backend --

    async def cancel(
        self, ids: Sequence[UUID], *, tree: bool = False
    ) -> Mapping[UUID, Cancellation]:
        """See ``Backend.cancel``."""
        return await self._write(
            lambda connection, now: cancelling.cancel(connection, now, ids, tree=tree)
        )

    async def cancel_children(self, parents: Collection[UUID]) -> list[UUID]:
        """See ``Backend.cancel_children``. Where there are none, nothing is written."""
        if not await self._has_orphans(parents):
            return []
        return await self._write(
            lambda connection, now: writer.cancel_children(connection, now, parents)
        )

    async def hand_back(self, worker: UUID, leases: Sequence[Lease]) -> None:
        """See ``Backend.hand_back``."""
        if leases:
            await self._write(
                lambda connection, now: writer.hand_back(connection, now, worker, leases)
            )

    # -- Operator --

    async def retry(
        self, ids: Sequence[UUID], *, actor: str, reason: str = ""
    ) -> Mapping[UUID, Status]:
        """See ``Operator.retry``."""
        return await self._write(
            lambda connection, now: writer.retry(connection, now, ids, actor=actor, reason=reason)
        )

    # -- Inspector --

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

    async def series(self, since: datetime, until: datetime) -> list[Bucket]:
        """See ``Inspector.series``."""
        return await self._ask(lambda connection, _: reader.series(connection, since, until))

    async def audit(self, *, limit: int = 50, before: int | None = None) -> list[AuditEntry]:
        """See ``Inspector.audit``."""
        return await self._ask(lambda connection, _: auditing.entries(connection, limit, before))

    async def list(self, filter: Filter, page: Page) -> ActivityPage:
        """See ``Inspector.list``."""
        return await self._read(
            lambda connection, now: reader.listed(connection, now, filter, page)
        )
