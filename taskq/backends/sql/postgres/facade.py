"""What SQLite and PostgreSQL share runs here too: functions of SQLAlchemy's Connection.

For reading, and for writes that are not in a hurry. Each has a transaction of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from taskq.backends.sql.postgres import statements
from taskq.backends.sql.postgres.address import Address
from taskq.backends.sql.postgres.connections import TRIES, connect, pause
from taskq.backends.sql.postgres.failures import REPEATABLE, spoils, sqlstate
from taskq.bridge import forks

T = TypeVar("T")

SIZE = 4
"""Connections at the most, unless it is said otherwise."""


def make_engine(address: Address, *, size: int = SIZE) -> AsyncEngine:
    """An engine for this database; its connections, up to ``size``, belong to the event loop that
    makes them."""
    unnamed: dict[str, Any] = {
        "prepared_statement_cache_size": 0,
        "prepared_statement_name_func": str,
    }

    async def creator(*_: object, **__: object) -> Any:
        return await connect(address)

    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=creator,
        connect_args={} if address.prepared else unnamed,
        pool_size=size,
        max_overflow=0,
        pool_recycle=300,
    )


class Facade:
    """Runs functions in a transaction, each on a connection of its own.

    ``lock_timeout``: how long a statement waits for a lock, as PostgreSQL writes it. ``size``:
    connections at the most. ``statement_timeout``: how long a statement may take that reads.
    """

    def __init__(
        self,
        address: Address,
        *,
        schema: str | None,
        lock_timeout: str,
        size: int = SIZE,
        statement_timeout: str | None = None,
    ) -> None:
        self._address = address
        self._size = size
        self._options: dict[str, Any] = (
            {} if schema is None else {"schema_translate_map": {None: schema}}
        )
        self._lock_timeout = lock_timeout
        self._statement_timeout = statement_timeout
        self._engine: AsyncEngine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def read(self, function: Callable[[Connection, datetime], T]) -> T:
        """``function(connection, now)`` on one consistent view of the database."""
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return await self._repeated(function, options, writes=False)

    async def write(self, function: Callable[[Connection, datetime], T]) -> T:
        """``function(connection, now)``, again where it lost against other transactions.

        Not where the connection broke in the commit: it may have been done, and made again it would
        answer what it has made itself. That raises DBAPIError.
        """
        return await self._repeated(function, {"isolation_level": "READ COMMITTED"}, writes=True)

    async def close(self) -> None:
        """Close every connection."""
        engine, self._engine = self._engine, None
        if engine is not None and self._loop is asyncio.get_running_loop():
            await engine.dispose()

    def forget(self) -> None:
        """After a fork or the end of a loop: leave connections as they are."""
        if self._engine is not None:
            forks.keep_open(self._engine)
            forks.keep_open(self._engine.pool)
            self._engine.sync_engine.dispose(close=False)
        self._engine = None

    async def _repeated(
        self,
        function: Callable[[Connection, datetime], T],
        options: dict[str, Any],
        *,
        writes: bool,
    ) -> T:
        """Again also, at once, where the connection had been cut while it was idle."""
        cut = False
        for number in range(TRIES):
            committing = asyncio.Event()
            try:
                return await self._run(function, options, committing)
            except DBAPIError as error:
                doubtful = cut or (writes and committing.is_set())
                lost = error.connection_invalidated and not doubtful
                if number == TRIES - 1 or not (lost or sqlstate(error) in REPEATABLE):
                    raise
                cut = cut or error.connection_invalidated
            await asyncio.sleep(pause(number))
        raise AssertionError("unreachable")

    async def _run(
        self,
        function: Callable[[Connection, datetime], T],
        options: dict[str, Any],
        committing: asyncio.Event,
    ) -> T:
        """``committing`` is set when there is nothing left to do but to commit."""
        async with self._running().connect() as connection:
            await connection.execution_options(**options, **self._options)
            try:
                async with connection.begin():
                    now = await self._begin(connection)
                    answer = await connection.run_sync(function, now)
                    committing.set()
                    return answer
            except DBAPIError as error:
                if spoils(error) and not error.connection_invalidated:
                    await connection.invalidate()
                raise

    async def _begin(self, connection: AsyncConnection) -> datetime:
        begin, values = statements.begin(), {"lock_timeout": self._lock_timeout}
        if self._statement_timeout is not None:
            begin, values = (
                statements.begin_reading(),
                {"statement_timeout": self._statement_timeout},
            )
        now: datetime = (await connection.execute(begin, values)).scalar_one()
        return now

    def _running(self) -> AsyncEngine:
        loop = asyncio.get_running_loop()
        if self._engine is None or self._loop is not loop:
            self.forget()
            self._engine, self._loop = make_engine(self._address, size=self._size), loop
        return self._engine
