"""Backends on SQL databases: SQLite in one file, PostgreSQL; both share tables and reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskq.backends.sql.sqlite.backend import SQLiteBackend

if TYPE_CHECKING:
    from taskq.backends.sql.postgres.backend import PostgresBackend

__all__ = ("PostgresBackend", "SQLiteBackend")


def __getattr__(name: str) -> object:
    """Import the driver of PostgreSQL only for who uses it."""
    if name != "PostgresBackend":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from taskq.backends.sql.postgres.backend import PostgresBackend

    return PostgresBackend
