"""Connections to an SQLite file: how they are set up, and how a transaction begins."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event

from taskq.errors import BackendError

Mode = Literal["IMMEDIATE", "DEFERRED", "NONE"]
"""How a transaction begins. NONE: not at all, each statement sees what was committed before it."""

OLDEST = (3, 35, 0)
"""The oldest SQLite that has UPDATE … RETURNING."""

_MODE = "taskq_begin"
_WAL_TRIES = 50
_NOW_AND_THEN = 10_000
"""Steps of SQLite's machine: some tenths of a millisecond."""

# Text that is no UTF-8, which other programs can store, must not make a whole batch unreadable.
_text = partial(str, encoding="utf-8", errors="replace")


def make_engine(path: str, *, lock_timeout: float) -> Engine:
    """An engine whose every ``connect`` opens the file anew, creating it if there is none.

    Transactions begin IMMEDIATE: a deferred one that comes to write fails at once when another
    connection has written meanwhile, however long the timeout (fault:L12). A statement waits
    ``lock_timeout`` seconds for another connection's write transaction.
    """
    check_version(sqlite3.sqlite_version_info)
    engine = create_engine(
        URL.create("sqlite+pysqlite", database=path),
        poolclass=NullPool,
        connect_args={
            "timeout": lock_timeout,
            "isolation_level": None,
            "check_same_thread": False,
            "cached_statements": 256,
        },
    )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def make_reading_engine(path: str, *, lock_timeout: float) -> Engine:
    """An engine whose connections cannot write; they open the file, and make none.

    The file is not opened read-only: what reads beside a writer must be able to take part in the
    write-ahead log.
    """
    check_version(sqlite3.sqlite_version_info)
    connect = partial(
        sqlite3.connect,
        f"{Path(path).as_uri()}?mode=rw",
        uri=True,
        timeout=lock_timeout,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    engine = create_engine("sqlite+pysqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "connect", _set_up_to_read)
    event.listen(engine, "begin", _begin)
    return engine


def check_version(version: tuple[int, ...]) -> None:
    """BackendError where the SQLite library of this Python is too old."""
    if version < OLDEST:
        needed, found = (".".join(map(str, numbers)) for numbers in (OLDEST, version))
        raise BackendError(f"SQLite {needed} or newer is needed; this Python has {found}")


@contextmanager
def transaction(connection: Connection, mode: Mode = "IMMEDIATE") -> Generator[None]:
    """Commit what is done inside, or roll it back when it raises."""
    if connection.get_execution_options().get(_MODE) != mode:
        connection.execution_options(**{_MODE: mode})
    with connection.begin():
        yield


@contextmanager
def interrupted(connection: Connection, over: Callable[[], bool]) -> Generator[None]:
    """Inside, stop what a statement does once ``over`` says so; it is asked now and then."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.set_progress_handler(over, _NOW_AND_THEN)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


@contextmanager
def waiting(connection: Connection, seconds: float) -> Generator[None]:
    """Inside, wait so long for another connection's transaction; outside of a transaction."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    [before] = driver.execute("PRAGMA busy_timeout").fetchone()
    driver.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}")
    try:
        yield
    finally:
        driver.execute(f"PRAGMA busy_timeout={before}")


def _begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get(_MODE, "IMMEDIATE")
    if mode != "NONE":
        connection.exec_driver_sql(f"BEGIN {mode}")


def _set_up(connection: sqlite3.Connection, record: object) -> None:
    """WAL: readers and the writer work side by side. FULL: a commit outlives a power loss."""
    connection.text_factory = _text
    _use_wal(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA journal_size_limit=67108864")


def _set_up_to_read(connection: sqlite3.Connection, record: object) -> None:
    connection.text_factory = _text
    connection.execute("PRAGMA query_only=ON")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Several processes may try this on a new file at once; only one of them can at a time."""
    for left in reversed(range(_WAL_TRIES)):
        try:
            [mode] = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not left or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            # SQLite waits for locks in this statement, not always in the other.
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            continue
        if mode != "wal":
            raise BackendError(f"this file system cannot do SQLite's WAL mode (it is {mode!r})")
        return
