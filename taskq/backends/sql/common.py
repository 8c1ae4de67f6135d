"""What both SQL stores do alike: for operators, and what is not in a hurry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from taskq.audit import Command
from taskq.backends import Cancellation
from taskq.backends.sql import cancelling, operating, writer
from taskq.backends.sql.pruning_store import SqlPruner
from taskq.backends.sql.queueing import SqlQueues
from taskq.backends.sql.recorded import SqlRecorded
from taskq.backends.sql.scheduling import SqlSchedules
from taskq.model import Lease, Priority, Status


class CommonStore(SqlPruner, SqlQueues, SqlSchedules, SqlRecorded):
    """``Inspector``, ``Operator`` and some of ``Backend``, over the doors that each has."""

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
        kept: Mapping[UUID, str] | None = None,
        delay: float = 0.0,
        spread: float = 0.0,
    ) -> Mapping[UUID, Status]:
        """See ``Operator.retry``."""
        retry = partial(
            operating.retry,
            ids=ids,
            command=command,
            arguments=arguments or {},
            kept=kept or {},
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
