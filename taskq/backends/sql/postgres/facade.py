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


class _Pool:
    """An engine, the loop that it belongs to, and how many use it now."""

    def __init__(self, engine: AsyncEngine, loop: asyncio.AbstractEventLoop) -> None:
        self.engine = engine
        self.loop = loop
        self.users = 0


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
        self._pool: _Pool | None = None

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
        """Close every connection; what still runs on one closes the last of them at its end."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await self._disposed(pool)

    def forget(self) -> None:
        """After a fork or the end of a loop: leave connections as they are."""
        pool, self._pool = self._pool, None
        if pool is not None:
            forks.keep_open(pool.engine)
            forks.keep_open(pool.engine.pool)
            pool.engine.sync_engine.dispose(close=False)

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
        pool = self._running()
        pool.users += 1
        try:
            return await self._run_on(pool.engine, function, options, committing)
        finally:
            pool.users -= 1
            await self._disposed(pool)

    async def _disposed(self, pool: _Pool) -> None:
        """Dispose of a pool that was left, when nobody uses it: a connection that is lent comes
        back to the pool that it was taken from, and there nobody would close it."""
        over = pool is not self._pool and not pool.users
        if over and pool.loop is asyncio.get_running_loop():
            await pool.engine.dispose()

    async def _run_on(
        self,
        engine: AsyncEngine,
        function: Callable[[Connection, datetime], T],
        options: dict[str, Any],
        committing: asyncio.Event,
    ) -> T:
        """``committing`` is set when there is nothing left to do but to commit."""
        async with engine.connect() as connection:
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

    def _running(self) -> _Pool:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool.loop is not loop:
            self.forget()
            self._pool = _Pool(make_engine(self._address, size=self._size), loop)
        return self._pool
