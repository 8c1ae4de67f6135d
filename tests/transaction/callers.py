"""Programs with transactions of their own, one for each driver, all used alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Executable, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from taskq import Activity, ActivityFuture, TaskQ

DRIVERS = {
    "sqlite3": "sqlite+pysqlite",
    "aiosqlite": "sqlite+aiosqlite",
    "psycopg": "postgresql+psycopg",
    "psycopg, async": "postgresql+psycopg_async",
    "asyncpg": "postgresql+asyncpg",
}


class Transaction(Protocol):
    """One transaction of a caller's, on a session or a connection."""

    name: str
    handle: Any

    async def delay(self, task: Any, *args: Any, **options: Any) -> ActivityFuture[Any]: ...
    async def enqueue(
        self, app: TaskQ, activities: Sequence[Activity[Any]], **options: Any
    ) -> list[ActivityFuture[Any]]: ...
    async def execute(self, statement: str | Executable, **values: Any) -> Sequence[Any]: ...
    async def commit(self) -> None: ...
    async def rollback(self) -> None: ...
    async def sync(self, function: Callable[[Any], Any]) -> Any:
        """Run a function of the sync session or connection."""
        ...


@dataclass
class SyncTransaction:
    """By ``delay`` and ``enqueue``."""

    name: str
    handle: Any

    async def delay(self, task: Any, *args: Any, **options: Any) -> ActivityFuture[Any]:
        future: ActivityFuture[Any] = task.options(**{self.name: self.handle}, **options).delay(
            *args
        )
        return future

    async def enqueue(
        self, app: TaskQ, activities: Sequence[Activity[Any]], **options: Any
    ) -> list[ActivityFuture[Any]]:
        return app.enqueue(activities, **{self.name: self.handle}, **options)

    async def execute(self, statement: str | Executable, **values: Any) -> Sequence[Any]:
        found = self.handle.execute(as_statement(statement), values)
        return list(found) if found.returns_rows else []

    async def commit(self) -> None:
        self.handle.commit()

    async def rollback(self) -> None:
        self.handle.rollback()

    async def sync(self, function: Callable[[Any], Any]) -> Any:
        return function(self.handle)


@dataclass
class AsyncTransaction:
    """By ``adelay`` and ``aenqueue``."""

    name: str
    handle: Any

    async def delay(self, task: Any, *args: Any, **options: Any) -> ActivityFuture[Any]:
        bound = task.options(**{self.name: self.handle}, **options)
        future: ActivityFuture[Any] = await bound.adelay(*args)
        return future

    async def enqueue(
        self, app: TaskQ, activities: Sequence[Activity[Any]], **options: Any
    ) -> list[ActivityFuture[Any]]:
        return await app.aenqueue(activities, **{self.name: self.handle}, **options)

    async def execute(self, statement: str | Executable, **values: Any) -> Sequence[Any]:
        found = await self.handle.execute(as_statement(statement), values)
        return list(found) if found.returns_rows else []

    async def commit(self) -> None:
        await self.handle.commit()

    async def rollback(self) -> None:
        await self.handle.rollback()

    async def sync(self, function: Callable[[Any], Any]) -> Any:
        return await self.handle.run_sync(function)


def as_statement(statement: str | Executable) -> Executable:
    return text(statement) if isinstance(statement, str) else statement


@dataclass
class Caller:
    """A program: its driver, its engine, and what it gives, a session or a connection."""

    driver: str
    given_as: str
    url: str
    _engines: list[Engine | AsyncEngine] = field(default_factory=list)

    @property
    def blocks(self) -> bool:
        """Whether it has no event loop."""
        return self.driver in ("sqlite3", "psycopg")

    @property
    def dialect(self) -> str:
        """The kind of its database."""
        return DRIVERS[self.driver].partition("+")[0]

    def engine(self, url: str | None = None, **options: Any) -> Any:
        """An engine, which ``close`` disposes of."""
        make: Callable[..., Engine | AsyncEngine]
        make = create_engine if self.blocks else create_async_engine
        target = make_url(url or self.url).set(drivername=DRIVERS[self.driver])
        engine = make(target, **options)
        self._engines.append(engine)
        return engine

    @asynccontextmanager
    async def transaction(
        self, engine: Any = None, *, given_as: str | None = None, **options: Any
    ) -> AsyncIterator[Transaction]:
        """A session or connection with these execution options; rolled back in the end."""
        engine = engine or self.engine()
        if options:
            engine = engine.execution_options(**options)
        name = given_as or self.given_as
        if self.blocks:
            opened = Session(engine) if name == "session" else engine.connect()
            with opened as handle:
                yield SyncTransaction(name, handle)
        else:
            awaited = AsyncSession(engine) if name == "session" else engine.connect()
            async with awaited as handle:
                yield AsyncTransaction(name, handle)

    async def close(self) -> None:
        """Dispose of the engines."""
        for engine in self._engines:
            if isinstance(engine, AsyncEngine):
                await engine.dispose()
            else:
                engine.dispose()


def connection_of(handle: Any) -> Connection:
    """The sync connection in what ``Transaction.sync`` gives."""
    found = handle.connection() if isinstance(handle, Session) else handle
    assert isinstance(found, Connection)
    return found
