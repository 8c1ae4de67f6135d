"""The database behind an arena as another program sees it: an SQLite file, or one on PostgreSQL.

Rows look the same from both: ids are hexadecimal, instants microseconds since the epoch.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

Row = dict[str, Any]
"""A row. Ids are hexadecimal, instants microseconds since the epoch."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Database(Protocol):
    """What a fault test may ask of its database, and do to it."""

    @property
    def url(self) -> str:
        """Where an app finds it."""
        ...

    def query(self, sql: str, *values: object) -> list[Row]:
        """Rows; ``?`` stands for a value. Nothing is changed."""
        ...

    def execute(self, sql: str) -> None:
        """Run one statement as another program."""
        ...

    def at_rest(self) -> bool:
        """Whether nobody stands still in a transaction that would keep others from writing."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Inside, another program's transaction lets nobody write; reading goes on.

        TimeoutError where that cannot be had in some seconds.
        """
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class SQLiteFile:
    """A file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def url(self) -> str:
        """Where an app finds it."""
        return f"sqlite:///{self.path}"

    def query(self, sql: str, *values: object) -> list[Row]:
        """See ``Database.query``."""
        connection = sqlite3.connect(self.path, timeout=10)
        try:
            connection.execute("PRAGMA query_only=1")
            connection.row_factory = sqlite3.Row
            given = [value.bytes if isinstance(value, UUID) else value for value in values]
            found = connection.execute(sql, given).fetchall()
            return [{name: _readable(each) for name, each in dict(row).items()} for row in found]
        finally:
            connection.close()

    def execute(self, sql: str) -> None:
        """See ``Database.execute``."""
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=10)
        try:
            connection.execute(sql)
        finally:
            connection.close()

    def at_rest(self) -> bool:
        """See ``Database.at_rest``."""
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=1)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
        finally:
            connection.close()
        return True

    @contextmanager
    def locked(self) -> Iterator[None]:
        """See ``Database.locked``."""
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=2)
        try:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise TimeoutError("it is locked by others") from error
            yield
            connection.execute("ROLLBACK")
        finally:
            connection.close()

    def close(self) -> None:
        """See ``Database.close``."""


class PostgresDatabase:
    """One of a PostgreSQL server, with taskq's tables. A session that broke is replaced."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: psycopg.Connection[Row] | None = None

    @property
    def url(self) -> str:
        """Where an app finds it."""
        return self._url

    def query(self, sql: str, *values: object) -> list[Row]:
        """See ``Database.query``. psycopg.OperationalError where the server is down."""
        text: Any = sql.replace("%", "%%").replace("?", "%s")
        try:
            found = self._connected().execute(text, values).fetchall()
        except psycopg.OperationalError:
            found = self._connected(anew=True).execute(text, values).fetchall()
        return [{name: _readable(value) for name, value in row.items()} for row in found]

    def execute(self, sql: str) -> None:
        """See ``Database.execute``."""
        text: Any = sql
        self._connected().execute(text)

    def at_rest(self) -> bool:
        """See ``Database.at_rest``."""
        return not self.query(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
            " AND state LIKE 'idle in transaction%'"
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """See ``Database.locked``."""
        with psycopg.connect(self._url) as connection:
            try:
                connection.execute("SET lock_timeout = '2s'")
                connection.execute("LOCK TABLE taskq_activities IN EXCLUSIVE MODE")
            except psycopg.errors.LockNotAvailable as error:
                raise TimeoutError("it is locked by others") from error
            yield
            connection.rollback()

    def cut_sessions(self) -> int:
        """End the sessions of everybody else; how many."""
        return len(
            self.query(
                "SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )

    def close(self) -> None:
        """See ``Database.close``."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def _connected(self, *, anew: bool = False) -> psycopg.Connection[Row]:
        if anew:
            self.close()
        if self._session is None or self._session.closed:
            self._session = psycopg.connect(
                self._url, autocommit=True, row_factory=dict_row, connect_timeout=5
            )
        return self._session


def _readable(value: Any) -> Any:
    match value:
        case bytes():
            return value.hex()
        case UUID():
            return value.hex
        case datetime():
            return (value - EPOCH) // timedelta(microseconds=1)
        case _:
            return value
