"""Calls that operators store: on record in the transaction that stores them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from taskq.audit import Command, named, repeated
from taskq.backends.changes import Changes
from taskq.backends.sql import auditing
from taskq.backends.sql.doors import Doors
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

        try:
            return await self._write(store)
        except Known:
            [entry] = await self._ask(
                lambda connection, _: auditing.entries(
                    connection, 1, None, [] if command.id is None else [command.id]
                )
            )
            return repeated(entry, action)
