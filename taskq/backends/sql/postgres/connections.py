"""Connections of asyncpg, lent to one call at a time (bug:B157), and what goes wrong with them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from sqlalchemy import Executable

from taskq.backends.sql.postgres import driver
from taskq.backends.sql.postgres.address import Address
from taskq.backends.sql.postgres.driver import Raw, Records
from taskq.backends.sql.postgres.failures import REPEATABLE, spoils, sqlstate
from taskq.backends.sql.postgres.prepared import prepared
from taskq.bridge import forks

T = TypeVar("T")

TRIES: Final = 6
"""How often a transaction that lost against others is tried in all."""
FAREWELL: Final = 1.0
"""Seconds that the server gets to stop what a cancelled call had it do, and to say goodbye."""
IDLE: Final = 60.0
"""Seconds after which a connection that nobody needed is closed, but for the last one."""


async def connect(address: Address) -> Raw:
    """A new connection. Raises what asyncpg and the network raise."""
    return await driver.connect(address.dsn, timeout=address.timeout, prepared=address.prepared)


async def part(connection: Raw) -> None:
    """Close a connection whatever state it is in; what it was doing is cancelled at the server."""
    try:
        await connection.close(timeout=FAREWELL)
    except driver.BROKEN:
        connection.terminate()
    except BaseException:  # cancelled too: no socket stays open
        connection.terminate()
        raise


class Session:
    """A connection for the time of one call; statements find the tables in ``schema``."""

    def __init__(self, raw: Raw, schema: str | None) -> None:
        self.raw = raw
        self._schema = schema

    async def fetch(
        self,
        statement: Executable,
        values: Mapping[str, object],
        *,
        timeout: float | None = None,
    ) -> Records:
        """Run a statement with named values; its rows.

        Slow when it took longer than ``timeout`` seconds; it is cancelled at the server.
        """
        ready = prepared(statement, self._schema)
        try:
            found: Records = await self.raw.fetch(ready.sql, *ready.values(values), timeout=timeout)
        except TimeoutError as error:
            if timeout is None or error.errno is not None:  # the network has one, too
                raise
            raise Slow(f"no answer within {timeout:g} s") from error
        return found


class Connections:
    """Up to ``limit`` connections, opened when needed; used on one event loop at a time.

    ``explicit``: statements are wrapped in transactions of their own, READ COMMITTED. Needed where
    the role's default is another isolation level, and behind a pooler that may change the session
    between two transactions. No state is kept in the session either way.
    """

    def __init__(self, address: Address, *, limit: int, schema: str | None) -> None:
        self.explicit = not address.prepared
        self._address = address
        self._limit = limit
        self._schema = schema
        self._idle: list[tuple[Raw, float]] = []
        self._lent: set[Raw] = set()
        self._places = asyncio.Semaphore(limit)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def fetch(
        self,
        statement: Executable,
        values: Mapping[str, object],
        *,
        repeatable: bool = True,
        timeout: float | None = None,
    ) -> Records:
        """Run one statement as one transaction, again where it lost against others.

        Not ``repeatable``: not where its connection broke, when it may have been done. A claim that
        is made again answers other rows, and nobody would know of the first ones.
        """

        async def run(session: Session) -> Records:
            return await session.fetch(statement, values, timeout=timeout)

        repeated = self.transact if self.explicit else self._repeated
        return await repeated(run, repeatable=repeatable)

    async def transact(
        self, function: Callable[[Session], Awaitable[T]], *, repeatable: bool = True
    ) -> T:
        """Run ``function`` in a READ COMMITTED transaction, again where it lost against others.

        ``repeatable`` as in ``fetch``.
        """

        async def run(session: Session) -> T:
            async with session.raw.transaction(isolation="read_committed"):
                return await function(session)

        return await self._repeated(run, repeatable=repeatable)

    async def close(self) -> None:
        """Close what is idle; a call that still runs closes its own."""
        self._gather()
        self._loop = None
        await self._part_idle()

    def forget(self) -> None:
        """After a fork or the end of a loop: leave connections as they are."""
        for connection in (*self._lent, *(each for each, _ in self._idle)):
            forks.keep_open(connection)
        self._idle, self._lent = [], set()
        self._places = asyncio.Semaphore(self._limit)
        self._loop = None

    async def _repeated(
        self, function: Callable[[Session], Awaitable[T]], *, repeatable: bool = True
    ) -> T:
        for left in reversed(range(TRIES)):
            try:
                async with self._session(repeatable=repeatable) as session:
                    return await function(session)
            except _Stale:
                continue
            except (driver.PostgresError, driver.InterfaceError) as error:
                if not left or not _worth_repeating(error):
                    raise
                self.explicit = self.explicit or sqlstate(error) == "40001"
            await asyncio.sleep(pause(TRIES - left))
        raise driver.ConnectionLost("every idle connection was broken")

    @asynccontextmanager
    async def _session(self, *, repeatable: bool) -> AsyncGenerator[Session]:
        self._gather()
        loop, places = self._loop, self._places
        async with places:
            raw, reused = await self._taken()
            self._lent.add(raw)
            try:
                yield Session(raw, self._schema)
            except BaseException as error:
                self._lent.discard(raw)
                await self._after(error, raw)
                if reused and _broken(error):
                    await self._part_idle()
                    if repeatable:
                        raise _Stale from error
                raise
            self._lent.discard(raw)
            if self._loop is loop:
                await self._keep(raw)
            else:
                await part(raw)

    async def _taken(self) -> tuple[Raw, bool]:
        while self._idle:
            raw, _ = self._idle.pop()
            if not raw.is_closed():
                return raw, True
        return await connect(self._address), False

    async def _after(self, error: BaseException, raw: Raw) -> None:
        if isinstance(error, Exception) and not spoils(error) and not raw.is_in_transaction():
            await self._keep(raw)
        else:
            await part(raw)

    async def _keep(self, raw: Raw) -> None:
        if raw.is_closed():
            return
        now = asyncio.get_running_loop().time()
        self._idle.append((raw, now))
        oldest, since = self._idle[0]
        if len(self._idle) > 1 and now - since > IDLE:
            del self._idle[0]
            await part(oldest)

    async def _part_idle(self) -> None:
        """All at once: a server that is gone without a word answers no farewell."""
        idle, self._idle = self._idle, []
        ends = await asyncio.gather(*(part(raw) for raw, _ in idle), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end

    def _gather(self) -> None:
        """Connections live and die with the loop on which they were made."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                self.forget()
            self._loop = loop


class Slow(TimeoutError):
    """A statement was not answered in the time that it was given."""


class _Stale(Exception):
    """A connection that had been idle was dead; another one may do."""


def _broken(error: BaseException) -> bool:
    if isinstance(error, Slow) or not isinstance(error, Exception):
        return False
    return spoils(error) and sqlstate(error) != "25006"


def _worth_repeating(error: Exception) -> bool:
    cached = isinstance(error, driver.InvalidCachedStatementError)
    return cached or sqlstate(error) in REPEATABLE


def pause(number: int) -> float:
    """Seconds before the next try: a few milliseconds at first, at random so as not to meet."""
    return 0.005 * (1 << number) * (0.5 + os.urandom(1)[0] / 255)
