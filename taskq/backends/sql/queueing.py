"""Pauses, over the doors that each SQL store has."""

from __future__ import annotations

from taskq.audit import Command
from taskq.backends.sql import pauses
from taskq.backends.sql.doors import Doors
from taskq.pausing import Kind


class SqlQueues(Doors):
    """What of ``taskq.backends.Queues`` writes; ``SqlInspector`` has the rest."""

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
