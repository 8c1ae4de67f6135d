"""A database file for each test, reached as a backend, as a connection, and as another program."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.sqlite.connect import make_engine
from taskq.backends.sql.sqlite.schema import set_up
from taskq.bridge import ResidentBridge
from taskq.testing import ManualClock

MakeBackend = Callable[..., SQLiteBackend]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database of this test is, or will be."""
    return tmp_path / "taskq.db"


@pytest.fixture
def bridge() -> Iterator[ResidentBridge]:
    """The storage loop."""
    bridge = ResidentBridge()
    yield bridge
    bridge.close()


@pytest.fixture
def make_backend(path: Path, bridge: ResidentBridge) -> Iterator[MakeBackend]:
    """Makes backends on the file, opened, and closes them in the end."""
    made: list[SQLiteBackend] = []

    def make(*, clock: ManualClock | None = None, lock_timeout: float = 3.0) -> SQLiteBackend:
        backend = SQLiteBackend(path, clock=clock, lock_timeout=lock_timeout)
        made.append(backend)
        bridge.call_sync(backend.open)
        return backend

    yield make
    for backend in made:
        bridge.call_sync(backend.close)


@pytest.fixture
def backend(make_backend: MakeBackend) -> SQLiteBackend:
    """One of them, on the machine's clock."""
    return make_backend()


@pytest.fixture
def connection(path: Path) -> Iterator[Connection]:
    """A connection as the backend's own lanes have it, to a file that is set up."""
    engine = make_engine(str(path), lock_timeout=3.0)
    with engine.connect() as connection:
        set_up(connection, str(path))
        yield connection


@pytest.fixture
def foreign(path: Path, connection: Connection) -> Iterator[sqlite3.Connection]:
    """The same file as another program sees it, in autocommit."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        yield other
