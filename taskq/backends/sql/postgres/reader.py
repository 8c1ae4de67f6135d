"""A reader of its own for a PostgreSQL database: few connections, and only SELECTs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection

from taskq.backends.sql.inspecting import SqlInspector
from taskq.backends.sql.postgres.address import Address
from taskq.backends.sql.postgres.connections import connect, part
from taskq.backends.sql.postgres.facade import Facade
from taskq.backends.sql.postgres.failures import mapped
from taskq.backends.sql.postgres.schema import look
from taskq.clock import SystemClock

T = TypeVar("T")


class PostgresReader(SqlInspector):
    """``taskq.backends.reading.Reader``. Every transaction is READ ONLY and says itself how long a
    statement may take, so that it is so behind a pooler too; a role with no right but SELECT is
    enough."""

    def __init__(
        self, address: Address, *, schema: str | None, connections: int, timeout: float
    ) -> None:
        self._address = address
        self._schema = schema
        self._timeout = timeout
        patience = f"{max(1, round(timeout * 1000))}ms"
        self._facade = Facade(
            address,
            schema=schema,
            lock_timeout=patience,
            size=connections,
            statement_timeout=patience,
        )
        self._opened = False

    @property
    def location(self) -> str:
        """The URL without password and options."""
        return self._address.location

    async def open(self) -> None:
        """See ``Reader.open``. Raises SchemaError where ``taskq migrate`` is due."""
        if self._opened:
            return
        with self._mapped():
            raw = await connect(self._address)
            try:
                await look(raw, self.location, self._schema)
            finally:
                await part(raw)
        self._opened = True

    async def close(self) -> None:
        """See ``Reader.close``."""
        self._opened = False
        with self._mapped():
            await self._facade.close()

    def after_fork(self) -> None:
        """See ``Reader.after_fork``."""
        self._opened = False
        self._facade.forget()

    async def _read(self, function: Callable[[Connection, datetime], T]) -> T:
        with self._mapped():
            return await self._facade.read(function)

    def _monotonic(self) -> float:
        return SystemClock().monotonic()

    def _mapped(self) -> AbstractContextManager[None]:
        return mapped(self.location, lock_timeout=self._timeout, opened=self._opened)
