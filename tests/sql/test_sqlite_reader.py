"""A reader of its own: a connection that cannot write, makes no file, and stops in time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from taskq.backends import Readable
from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.sqlite.reader import SQLiteReader
from taskq.bridge import ResidentBridge
from taskq.errors import BackendUnavailable, QueryTimeout, SchemaError
from taskq.model import Status
from taskq.snapshot import Filter
from taskq.testing.conformance.samples import call

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def reader(backend: SQLiteBackend, bridge: ResidentBridge) -> Iterator[SQLiteReader]:
    """Of a store that has one activity; a question may take 0.2 s."""
    bridge.call_sync(backend.submit, [call()])
    reader = backend.reader(timeout=0.2)
    bridge.call_sync(reader.open)
    yield reader
    bridge.call_sync(reader.close)


def test_it_reads_what_others_write(
    backend: SQLiteBackend, reader: SQLiteReader, bridge: ResidentBridge
) -> None:
    assert bridge.call_sync(reader.count, Filter()).number == 1
    bridge.call_sync(backend.submit, [call()])

    assert len(bridge.call_sync(reader.search, Filter()).items) == 2
    assert bridge.call_sync(reader.stats).by_status[Status.PENDING] == 2


def test_it_cannot_write(reader: SQLiteReader, bridge: ResidentBridge) -> None:
    """threat:T21"""

    def write(connection: Connection, _: object) -> None:
        connection.execute(text("DELETE FROM taskq_activities"))

    with pytest.raises(BackendUnavailable, match="is read-only here"):
        bridge.call_sync(reader._read, write)

    assert bridge.call_sync(reader.count, Filter()).number == 1


def test_what_takes_too_long_is_stopped_and_said(
    reader: SQLiteReader, bridge: ResidentBridge
) -> None:
    def count(connection: Connection, _: object) -> object:
        return connection.execute(text(ENDLESS)).all()

    for door in (reader._read, reader._ask):
        with pytest.raises(QueryTimeout, match="took too long: ask for less"):
            bridge.call_sync(door, count)

    assert bridge.call_sync(reader.count, Filter()).number == 1


def test_a_store_that_is_busy_keeps_no_reader_waiting(
    backend: SQLiteBackend,
    reader: SQLiteReader,
    bridge: ResidentBridge,
    foreign: sqlite3.Connection,
) -> None:
    foreign.execute("BEGIN IMMEDIATE")
    foreign.execute("UPDATE taskq_activities SET priority = 4")
    try:
        assert bridge.call_sync(reader.count, Filter()).number == 1
    finally:
        foreign.execute("ROLLBACK")


def test_it_makes_no_file(path: Path, bridge: ResidentBridge) -> None:
    reader = SQLiteBackend(path).reader()

    with pytest.raises(BackendUnavailable, match="there is no file"):
        bridge.call_sync(reader.open)

    assert os.listdir(path.parent) == []


def test_it_makes_no_tables(path: Path, bridge: ResidentBridge) -> None:
    path.touch()
    reader = SQLiteBackend(path).reader()

    with pytest.raises(SchemaError, match="not there yet"):
        bridge.call_sync(reader.open)

    bridge.call_sync(reader.close)
    assert path.stat().st_size == 0


def test_a_path_may_have_any_letters(tmp_path: Path, bridge: ResidentBridge) -> None:
    path = tmp_path / "50% ?#é" / "my file.db"
    path.parent.mkdir()
    backend = SQLiteBackend(path)
    bridge.call_sync(backend.open)
    reader = backend.reader()
    bridge.call_sync(reader.open)

    assert bridge.call_sync(reader.count, Filter()).number == 0
    bridge.call_sync(reader.close)
    bridge.call_sync(backend.close)


def test_it_goes_on_after_a_fork_has_forgotten_it(
    reader: SQLiteReader, bridge: ResidentBridge
) -> None:
    reader.after_fork()

    assert bridge.call_sync(reader.count, Filter()).number == 1


def test_a_store_says_that_it_has_readers(backend: SQLiteBackend) -> None:
    assert isinstance(backend, Readable)
