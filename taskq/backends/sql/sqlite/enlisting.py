"""Storing calls in a caller's transaction on SQLite, by sqlite3 or aiosqlite."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, false
from sqlalchemy.exc import DBAPIError, OperationalError

from taskq.backends.sql import writer
from taskq.backends.sql.enlisting import (
    EnlistedInTransaction,
    check_usable,
    in_autocommit,
    no_transaction,
    savepoint,
)
from taskq.backends.sql.sqlite.failures import mapped
from taskq.backends.sql.tables import activities as table
from taskq.backends.sql.tables import keys
from taskq.errors import BackendUnavailable, ConfigurationError, SchemaError
from taskq.model import Activity

_TABLE: Final = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?"

# It changes nothing, but it takes the write lock, and so waits for it: a transaction that has only
# read cannot wait, and cannot come to write any more once another one has written.
_LOCK: Final = delete(keys).where(false())


def enlist(
    connection: Connection,
    activities: Sequence[Activity[object]],
    *,
    path: str,
    now: Callable[[], datetime],
) -> EnlistedInTransaction:
    """See ``Transactional.enlist``. ``path`` is the store's file, ``now`` its clock."""
    check_usable(connection, "sqlite", path)
    with _mapped(path):
        _check_file(connection, path)
        _begin(connection)
        with savepoint(connection) as root:
            _lock(connection, path)
            receipts, _ = writer.submit(connection, now(), activities)
            return EnlistedInTransaction(receipts, root)


def _check_file(connection: Connection, path: str) -> None:
    """ConfigurationError where the connection is to another file."""
    databases = connection.exec_driver_sql("PRAGMA database_list").all()
    file = next(file for _, name, file in databases if name == "main")
    if not _same(file, path):
        raise ConfigurationError(
            f"the transaction is on {file or 'a database in memory'}, but activities are kept in"
            f" {path}: only a transaction of that file can store them"
        )


def _same(file: str, path: str) -> bool:
    if not file or not os.path.exists(path):
        return bool(file) and os.path.realpath(file) == os.path.realpath(path)
    return os.path.samefile(file, path)


def _begin(connection: Connection) -> None:
    """Begin where the driver has not: it waits for the first INSERT, and a savepoint outside of a
    transaction commits when it is released."""
    driver: Any = connection.connection.driver_connection
    if driver.in_transaction:
        return
    if in_autocommit(connection) or getattr(driver, "autocommit", None) is True:
        raise no_transaction()
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _lock(connection: Connection, path: str) -> None:
    """Take the write lock. Nothing may be read before: see ``_LOCK``."""
    try:
        connection.execute(_LOCK)
    except OperationalError as error:
        if connection.exec_driver_sql(_TABLE, (table.name,)).first() is not None:
            raise
        raise SchemaError(
            f"{path} has no taskq tables yet: `async with taskq` makes them, or"
            f" `taskq migrate --database sqlite:///{path}`"
        ) from error


@contextmanager
def _mapped(path: str) -> Generator[None]:
    """As for the store's own connections; but whose transaction it is makes a difference."""
    with mapped(path, lock_timeout=0):
        try:
            yield
        except DBAPIError as error:
            code = getattr(error.orig, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_BUSY_SNAPSHOT:
                raise BackendUnavailable(
                    f"{path} was changed after this transaction had read from it, so that it cannot"
                    " write any more: roll back and try again, or begin with BEGIN IMMEDIATE"
                ) from error
            if code is not None and code & 0xFF == sqlite3.SQLITE_BUSY:
                raise BackendUnavailable(
                    f"database is locked: another connection holds a write transaction of {path}"
                    " longer than this connection waits (its timeout)"
                ) from error
            raise
