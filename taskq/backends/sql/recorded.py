"""Calls that operators store: on record in the transaction that stores them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from uuid import UUID

from sqlalchemy import Connection, Executable, bindparam, select

from taskq.audit import AuditEntry, Command, named, repeated
from taskq.backends.changes import Changes
from taskq.backends.sql import auditing
from taskq.backends.sql.doors import Doors
from taskq.backends.sql.tables import audit
from taskq.model import Activity, Receipt


class Known(Exception):
    """The command is in the record: what was stored under it now must not be."""


class SqlRecorded(Doors):
    """``Operator.enqueue``, over the two doors that each store has."""

    @abstractmethod
    def _submitted(
        self, connection: Connection, now: datetime, activities: Sequence[Activity[object]]
    ) -> tuple[list[Receipt], Changes]:
        """Store calls inside of this transaction."""

    async def enqueue(
        self,
        activities: Sequence[Activity[object]],
        *,
        command: Command,
        action: str = "enqueue",
        detail: Mapping[str, object] | None = None,
    ) -> list[Receipt]:
        """See ``Operator.enqueue``."""
        if not activities:
            return []

        def store(connection: Connection, now: datetime) -> tuple[list[Receipt], Changes]:
            receipts, changes = self._submitted(connection, now, activities)
            ids = [receipt.id for receipt in receipts]
            about = {"ids": [str(id) for id in ids], **(detail or {})}
            if not auditing.record(
                connection, now, command, action, target=named(ids), detail=about
            ):
                raise Known
            return receipts, changes

        def look(connection: Connection, _: datetime) -> AuditEntry:
            return entry(connection, command.id)

        try:
            return await self._write(store)
        except Known:
            return repeated(await self._ask(look), action)


def entry(connection: Connection, command_id: UUID | None) -> AuditEntry:
    """What is on record under this id, which is there."""
    row = connection.execute(of_command(), {"of_command": command_id}).one()
    return auditing.entry_of(row)


@cache
def of_command() -> Executable:
    """The row of one command."""
    return select(audit).where(audit.c.command_id == bindparam("of_command"))
