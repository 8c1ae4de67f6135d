"""Databases for tests: made from one that was migrated once, emptied between tests."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import asyncpg

from taskq import migrations
from taskq.backends.sql.tables import metadata
from taskq.bridge import ResidentBridge

EMPTY = ";".join(f"DELETE FROM {table.name}" for table in metadata.sorted_tables)


class Databases:
    """The databases that a test session makes on one server. Statements have a ``deadline``."""

    def __init__(self, server: str, *, deadline: float = 30.0) -> None:
        self._server = server
        self._deadline = deadline
        self._bridge = ResidentBridge()
        self._made: list[str] = []
        self._sessions: dict[str, asyncpg.Connection[asyncpg.Record]] = {}
        self._template: str | None = None
        self._shared: str | None = None

    def run(self, url: str, *statements: str) -> Sequence[asyncpg.Record]:
        """Run statements, each in autocommit, in one session for each URL; the rows of the last."""
        return self._bridge.call_sync(self._run, url, statements, deadline=self._deadline)

    def part(self, url: str) -> None:
        """End the session there: the next one begins with the settings of then."""
        self._bridge.call_sync(self._part, url)

    def create(self, template: str = "template0") -> str:
        """A new database; its URL."""
        name = f"taskq_test_{uuid4().hex[:12]}"
        self.part(self.url(template))  # a template must not be in use
        self.run(self._server, f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        self._made.append(name)
        return self.url(name)

    def fresh(self) -> str:
        """A new database with the tables in it."""
        if self._template is None:
            url = self.create()
            migrations.migrate_url(url)
            self._template = url.rpartition("/")[2]
        return self.create(self._template)

    def shared(self) -> str:
        """A database with the tables in it, empty; the same one for every test."""
        if self._shared is None:
            self._shared = self.fresh()
        self.run(self._shared, EMPTY)
        return self._shared

    def url(self, name: str) -> str:
        """The URL of a database of this server."""
        return f"{self._server.rpartition('/')[0]}/{name}"

    def close(self) -> None:
        """Drop what was made."""
        drops = [f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" for name in self._made]
        if drops:
            self.run(self._server, *drops)
        for url in [*self._sessions]:
            self.part(url)
        self._bridge.close()

    async def _run(self, url: str, statements: Sequence[str]) -> Sequence[asyncpg.Record]:
        session = self._sessions.get(url)
        if session is None or session.is_closed():
            session = self._sessions[url] = await asyncpg.connect(url)
        rows: Sequence[asyncpg.Record] = []
        for statement in statements:
            if statement.upper().startswith(("SELECT", "SHOW", "EXPLAIN")):
                rows = await session.fetch(statement)
            else:
                await session.execute(statement)
        return rows

    async def _part(self, url: str) -> None:
        session = self._sessions.pop(url, None)
        if session is not None:
            await session.close()
