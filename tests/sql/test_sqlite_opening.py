"""Opening a file: set up by the first, waited for by the others, refused when it is too new."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection

from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.sqlite.connect import OLDEST, check_version
from taskq.bridge import ResidentBridge
from taskq.errors import BackendError, SchemaError

pytestmark = pytest.mark.usefixtures("by_alembic")

OPEN = """
import sys
from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
sys.stdin.readline()
bridge = ResidentBridge()
backend = SQLiteBackend(sys.argv[1])
bridge.call_sync(backend.open)
bridge.call_sync(backend.close)
print("opened")
"""


def test_four_processes_open_an_empty_file_at_once(path: Path) -> None:
    """fault:L12, fault:DB25, seed:B11"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPEN, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()

    answers = [process.communicate(timeout=60) for process in processes]

    assert [(out, err) for out, err in answers] == 4 * [("opened\n", "")]


def test_two_backends_of_one_process_open_two_files_at_once(tmp_path: Path) -> None:
    """Alembic's context is global to the process."""
    bridges = [ResidentBridge() for _ in range(4)]
    backends = [SQLiteBackend(tmp_path / f"{number}.db") for number in range(4)]

    for bridge, backend in zip(bridges, backends, strict=True):
        bridge.spawn(backend.open)

    for bridge, backend in zip(bridges, backends, strict=True):
        bridge.call_sync(backend.open)
        bridge.call_sync(backend.close)
        bridge.close()


def test_a_commit_outlives_a_power_loss(backend: SQLiteBackend, bridge: ResidentBridge) -> None:
    """promise:G1, fault:L12: synchronous FULL, in WAL mode; NORMAL may lose the last commits."""

    def pragmas(connection: Connection) -> dict[str, object]:
        driver = connection.connection.driver_connection
        names = ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        return {name: driver.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    expected = {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 3000, "foreign_keys": 0}
    assert bridge.call_sync(backend._writer.run, pragmas) == expected
    assert bridge.call_sync(backend._reader.run, pragmas) == expected


def test_closing_folds_the_log_in(
    backend: SQLiteBackend, bridge: ResidentBridge, path: Path
) -> None:
    bridge.call_sync(backend.stats)
    bridge.call_sync(backend.close)

    assert [each.name for each in path.parent.iterdir()] == ["taskq.db"]


def test_tables_of_a_newer_version_are_refused_and_left_alone(
    path: Path, bridge: ResidentBridge, foreign: sqlite3.Connection
) -> None:
    foreign.execute("UPDATE taskq_alembic_version SET version_num = 'tq9999'")

    with pytest.raises(SchemaError, match=r"tq9999, made by a newer taskq.*update taskq"):
        bridge.call_sync(SQLiteBackend(path).open)

    [version] = foreign.execute("SELECT version_num FROM taskq_alembic_version").fetchone()
    assert version == "tq9999"


def test_an_old_sqlite_is_named() -> None:
    check_version(OLDEST)
    with pytest.raises(BackendError, match=r"SQLite 3\.35\.0 or newer is needed.*3\.34\.1"):
        check_version((3, 34, 1))


def test_opening_what_is_set_up_imports_no_alembic(path: Path, foreign: sqlite3.Connection) -> None:
    script = OPEN.replace('print("opened")', 'print("alembic" in sys.modules)')

    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        input="go\n",
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_file_is_that_of_the_folder_in_which_the_backend_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert SQLiteBackend("here.db").location == str(tmp_path / "here.db")
