"""What SQLite's errors become: a class that says whether to try again, and a clear sentence."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import InvalidRequestError

from taskq.backends import ClaimRequest
from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.sqlite.failures import mapped
from taskq.bridge import ResidentBridge
from taskq.errors import BackendError, BackendUnavailable, Unstorable
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, decide
from taskq.model import Status
from taskq.testing.conformance.samples import call


def opened(path: Path, bridge: ResidentBridge) -> None:
    bridge.call_sync(SQLiteBackend(path).open)


def test_a_lock_that_another_holds_too_long_is_named(
    make_backend: Callable[..., SQLiteBackend],
    bridge: ResidentBridge,
    path: Path,
    foreign: sqlite3.Connection,
) -> None:
    """seed:X5"""

    backend = make_backend(lock_timeout=0.1)
    activity = call()
    foreign.execute("BEGIN IMMEDIATE")

    with pytest.raises(BackendUnavailable, match="database is locked") as caught:
        bridge.call_sync(backend.submit, [activity])

    assert str(path) in str(caught.value)
    assert "longer than 0.1 s" in str(caught.value)
    foreign.execute("ROLLBACK")
    bridge.call_sync(backend.submit, [activity])
    assert bridge.call_sync(backend.get, [activity.id])


def test_readers_and_idle_claims_do_not_wait_for_a_writer(
    make_backend: Callable[..., SQLiteBackend], bridge: ResidentBridge, foreign: sqlite3.Connection
) -> None:
    backend = make_backend(lock_timeout=30.0)
    activity = call()
    bridge.call_sync(backend.submit, [activity])
    foreign.execute("BEGIN IMMEDIATE")
    worker = new_id()
    idle = ClaimRequest(worker=worker, queues=("other",), types=None, limit=10, lease=30.0)

    assert bridge.call_sync(backend.get, [activity.id], deadline=5.0)
    assert bridge.call_sync(backend.claim, idle, deadline=5.0) == []
    assert bridge.call_sync(backend.promote, 10, deadline=5.0).moved == 0
    assert bridge.call_sync(backend.expired, 10, deadline=5.0) == []
    assert bridge.call_sync(backend.held, worker, deadline=5.0) == []
    foreign.execute("ROLLBACK")


def test_a_full_disk_stores_nothing_and_may_be_tried_again(
    backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    """fault:L12. ``max_page_count`` gives SQLITE_FULL without being root."""
    small = call()
    bridge.call_sync(backend.submit, [small])
    limit(backend, bridge, 0)

    with pytest.raises(BackendUnavailable, match="full"):
        bridge.call_sync(backend.submit, [call(payload='{"a": "' + 200_000 * "x" + '"}')])

    other = call()
    bridge.call_sync(backend.submit, [other])
    assert set(bridge.call_sync(backend.get, [small.id, other.id])) == {small.id, other.id}
    stats = bridge.call_sync(backend.stats)
    assert stats.by_status[Status.PENDING] == 2


def limit(backend: SQLiteBackend, bridge: ResidentBridge, more: int) -> None:
    """Let the writer's present connection grow the file by so many pages only."""

    def apply(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        [pages] = driver.execute("PRAGMA page_count").fetchone()
        driver.execute(f"PRAGMA max_page_count = {pages + more}")

    bridge.call_sync(backend._writer.run, apply)


def test_a_file_that_is_no_database_is_named(path: Path, bridge: ResidentBridge) -> None:
    """seed:X5"""

    path.write_text("Dear diary, " * 1000)

    with pytest.raises(BackendError, match="is not an SQLite database") as caught:
        opened(path, bridge)

    assert not isinstance(caught.value, BackendUnavailable)
    assert str(path) in str(caught.value)


def test_a_missing_folder_is_named(tmp_path: Path, bridge: ResidentBridge) -> None:
    folder = tmp_path / "missing"

    with pytest.raises(BackendError, match=r"there is no folder .*missing; create it") as caught:
        opened(folder / "taskq.db", bridge)

    assert not isinstance(caught.value, BackendUnavailable)


def test_a_folder_in_the_files_place_is_named(path: Path, bridge: ResidentBridge) -> None:
    path.mkdir()

    with pytest.raises(BackendError, match="it is a folder"):
        opened(path, bridge)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_named(path: Path, bridge: ResidentBridge) -> None:
    path.parent.chmod(0o500)
    try:
        with pytest.raises(BackendUnavailable, match="must be able to read and write"):
            opened(path, bridge)
    finally:
        path.parent.chmod(0o700)


def test_a_damaged_file_is_named(
    path: Path, bridge: ResidentBridge, make_backend: Callable[..., SQLiteBackend]
) -> None:
    """fault:L12"""
    backend = make_backend()
    bridge.call_sync(backend.submit, [call() for _ in range(500)])
    bridge.call_sync(backend.close)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)

    with pytest.raises(BackendError, match=f"{path.name}.*damaged"):
        bridge.call_sync(backend.open)


def test_a_batch_that_cannot_be_stored_changes_nothing(
    backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    """design 7.2: the ledger bisects such a batch; one with a lone surrogate, one with NUL."""
    bridge.call_sync(backend.submit, [call(), call()])
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=2, lease=30.0)
    good, bad = bridge.call_sync(backend.claim, request)

    for text in ('"\ud800"', '"\0"'):
        with pytest.raises(BackendError) as caught:
            bridge.call_sync(
                backend.settle, [decide(good, Succeeded("1")), decide(bad, Succeeded(text))]
            )
        assert not isinstance(caught.value, BackendUnavailable)

    infos = bridge.call_sync(backend.get, [good.id, bad.id])
    assert {info.status for info in infos.values()} == {Status.PROCESSING}


def test_a_lane_recovers_when_the_file_can_be_opened_again(
    tmp_path: Path, bridge: ResidentBridge
) -> None:
    folder = tmp_path / "later"
    backend = SQLiteBackend(folder / "taskq.db")
    with pytest.raises(BackendError):
        bridge.call_sync(backend.open)

    folder.mkdir()

    bridge.call_sync(backend.open)
    bridge.call_sync(backend.close)


def test_a_file_that_may_only_be_read_is_named(
    backend: SQLiteBackend, bridge: ResidentBridge, path: Path
) -> None:
    """fault:L12; ``query_only`` refuses as a read-only file does, for root too."""

    def only_read(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("PRAGMA query_only = 1")

    bridge.call_sync(backend._writer.run, only_read)

    with pytest.raises(BackendUnavailable, match=f"{path.name} is read-only here"):
        bridge.call_sync(backend.submit, [call()])


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, BackendUnavailable, "database is locked"),
        (sqlite3.SQLITE_LOCKED, BackendUnavailable, "database is locked"),
        (sqlite3.SQLITE_IOERR_WRITE, BackendUnavailable, "could not be read or written: odd"),
        (sqlite3.SQLITE_PROTOCOL, BackendUnavailable, "could not be read or written: odd"),
        (sqlite3.SQLITE_PERM, BackendUnavailable, "no permission"),
        (sqlite3.SQLITE_CORRUPT, BackendError, "damaged"),
        (sqlite3.SQLITE_CONSTRAINT, Unstorable, "cannot be stored in .*taskq.db: odd"),
        (sqlite3.SQLITE_TOOBIG, Unstorable, "cannot be stored in .*taskq.db: odd"),
        (None, BackendError, "taskq.db: odd"),
    ],
)
def test_every_code_of_sqlite_has_its_class(
    code: int | None, kind: type[BackendError], message: str
) -> None:
    error = sqlite3.OperationalError("odd")
    if code is not None:
        error.sqlite_errorcode = code

    with pytest.raises(BackendError, match=message) as caught, mapped("taskq.db", lock_timeout=3.0):
        raise error

    assert type(caught.value) is kind
    assert caught.value.__cause__ is error


def test_what_sqlalchemy_itself_objects_to_is_a_backend_error() -> None:
    with pytest.raises(BackendError, match="closed"), mapped("taskq.db", lock_timeout=3.0):
        raise InvalidRequestError("this connection is closed")
