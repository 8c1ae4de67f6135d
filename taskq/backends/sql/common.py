"""What both SQL stores do alike: for readers and operators, and what is not in a hurry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from taskq.audit import AuditEntry, Command
from taskq.backends import Cancellation
from taskq.backends.presence import ALIVE_WITHIN
from taskq.backends.sql import auditing, cancelling, causes, operating, reader, writer
from taskq.backends.sql.chunks import CHUNK
from taskq.backends.sql.pruning_store import SqlPruner
from taskq.backends.sql.queueing import SqlQueues
from taskq.backends.sql.recorded import SqlRecorded
from taskq.backends.sql.scheduling import SqlSchedules
from taskq.model import Lease, Priority, Status
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


class CommonStore(SqlPruner, SqlQueues, SqlSchedules, SqlRecorded):
    """``Inspector``, ``Operator`` and some of ``Backend``, over the two doors that each has."""

    async def _has_orphans(self, parents: Collection[UUID]) -> bool:
        """Whether ``cancel_children`` has anything to do; reads only."""
        return bool(await self._ask(lambda connection, _: writer.orphans(connection, parents)))

    # -- Backend --

    async def cancel(
        self, ids: Sequence[UUID], *, tree: bool = False, command: Command | None = None
    ) -> Mapping[UUID, Cancellation]:
        """See ``Backend.cancel``."""
        return await self._write(
            lambda connection, now: cancelling.cancel(
                connection, now, ids, tree=tree, command=command
            )
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
        self,
        ids: Sequence[UUID],
        *,
        command: Command,
        arguments: Mapping[UUID, str] | None = None,
        delay: float = 0.0,
        spread: float = 0.0,
    ) -> Mapping[UUID, Status]:
        """See ``Operator.retry``."""
        retry = partial(
            operating.retry,
            ids=ids,
            command=command,
            arguments=arguments or {},
            delay=delay,
            spread=spread,
        )
        return await self._write(retry)

    async def run_now(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Status]:
        """See ``Operator.run_now``."""
        return await self._write(
            lambda connection, now: operating.reschedule(
                connection, now, ids, None, command=command
            )
        )

    async def reschedule(
        self, ids: Sequence[UUID], when: datetime, *, command: Command
    ) -> Mapping[UUID, Status]:
        """See ``Operator.reschedule``."""
        return await self._write(
            lambda connection, now: operating.reschedule(
                connection, now, ids, when, command=command
            )
        )

    async def set_priority(
        self, ids: Sequence[UUID], priority: Priority, *, command: Command
    ) -> Mapping[UUID, Status]:
        """See ``Operator.set_priority``."""
        return await self._write(
            lambda connection, now: operating.set_priority(
                connection, now, ids, priority, command=command
            )
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

    async def dead_letters(
        self, filter: Filter, *, limit: int = 100, cap: int = 10_000
    ) -> list[Cause]:
        """See ``Inspector.dead_letters``."""
        return await self._read(
            lambda connection, now: causes.dead_letters(connection, now, filter, limit, cap)
        )

    async def list(self, filter: Filter, page: Page) -> ActivityPage:
        """See ``Inspector.list``."""
        return await self._read(
            lambda connection, now: reader.listed(connection, now, filter, page)
        )
