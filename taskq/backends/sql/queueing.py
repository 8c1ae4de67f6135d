"""Pauses and how queues fare, over the doors that each SQL store has."""

from __future__ import annotations

from taskq.audit import Command
from taskq.backends.sql import loads, pauses
from taskq.backends.sql.doors import Doors
from taskq.pausing import Kind, Load, Pause


class SqlQueues(Doors):
    """``taskq.backends.Queues``, over the two doors that each store has."""

    async def pauses(self) -> list[Pause]:
        """See ``Queues.pauses``."""
        return await self._ask(lambda connection, _: pauses.found(connection))

    async def pause(self, kind: Kind, name: str, *, command: Command) -> bool:
        """See ``Queues.pause``."""
        return await self._write(
            lambda connection, now: pauses.pause(connection, now, kind, name, command)
        )

    async def resume(self, kind: Kind, name: str, *, command: Command) -> bool:
        """See ``Queues.resume``."""
        return await self._write(
            lambda connection, now: pauses.resume(connection, now, kind, name, command)
        )

    async def loads(self, kind: Kind, *, cap: int = 10_000) -> list[Load]:
        """See ``Queues.loads``."""
        return await self._read(lambda connection, now: loads.loads(connection, now, kind, cap))
