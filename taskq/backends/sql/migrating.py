"""A connection on which to migrate, to either database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy import Connection

from taskq.backends.sql.sqlite.connect import make_engine, transaction
from taskq.backends.urls import scheme_of, sqlite_path
from taskq.errors import ConfigurationError

T = TypeVar("T")

PATIENCE: Final = 15.0
"""Seconds to wait for another process that uses the same SQLite file."""
DEADLINE: Final = 3600.0
"""Seconds that a migration may take."""
LOCK: Final = 0x7461736B71
"""The advisory lock under which PostgreSQL databases are migrated."""


def on_database(url: str, schema: str | None, function: Callable[[Connection], T]) -> T:
    """``function(connection)`` in a transaction on the database of a URL, from any thread.

    On PostgreSQL names without a schema are those of ``schema``, which is made where it is missing.
    Raises ConfigurationError for a URL without tables, BackendError.
    """
    scheme = scheme_of(url)
    if scheme.startswith("postgres"):
        return _on_postgresql(url, schema, function)
    if not scheme.startswith("sqlite"):
        raise ConfigurationError(f"{scheme}:// has no tables to migrate")
    engine = make_engine(sqlite_path(url), lock_timeout=PATIENCE)
    with engine.connect() as connection, transaction(connection):
        return function(connection)


def in_schema(schema: str | None) -> list[str]:
    """The SQL after which names without a schema are those of ``schema``, in this transaction."""
    if schema is None:
        return []
    quoted = '"' + schema.replace('"', '""') + '"'
    return [f"CREATE SCHEMA IF NOT EXISTS {quoted}", f"SET LOCAL search_path TO {quoted}"]


def alone(connection: Connection) -> None:
    """Wait until no other transaction migrates this database; until the end of this one."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")


def _on_postgresql(url: str, schema: str | None, function: Callable[[Connection], T]) -> T:
    from taskq.backends.sql.postgres.address import address_of
    from taskq.backends.sql.postgres.facade import make_engine
    from taskq.backends.sql.postgres.failures import mapped
    from taskq.bridge import ResidentBridge

    address = address_of(url)

    def run(connection: Connection) -> T:
        alone(connection)
        for statement in in_schema(schema):
            connection.exec_driver_sql(statement)
        return function(connection)

    async def migrate() -> T:
        engine = make_engine(address)
        try:
            with mapped(address.location, lock_timeout=PATIENCE):
                async with engine.connect() as connection:
                    await connection.execution_options(isolation_level="READ COMMITTED")
                    async with connection.begin():
                        return await connection.run_sync(run)
        finally:
            await engine.dispose()

    bridge = ResidentBridge()
    try:
        return bridge.call_sync(migrate, deadline=DEADLINE)
    finally:
        bridge.close()
