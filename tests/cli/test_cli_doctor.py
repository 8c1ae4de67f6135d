"""``taskq doctor`` (fault:K4)."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from taskq.cli.doctor import Level, clock, owner, sqlite

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def levels(cli, *arguments: str) -> dict[str, str]:
    result = cli("doctor", "--json", *arguments)
    return {finding["check"]: finding["level"] for finding in json.loads(result.stdout)}


def test_all_is_well_with_a_database_and_a_worker(cli, start, app_folder: Path) -> None:
    worker = start("worker", "app:taskq")
    worker.says("started")
    worker.until(lambda: cli("workers").stdout != "", "a row of the worker")
    result = cli("doctor", "app:taskq")
    assert result.exit_code == 0
    assert {line.split()[0] for line in result.stdout.splitlines()} == {"ok"}
    assert "nothing is waiting" in result.stdout
    assert cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}', "--delay", "1h").exit_code == 0
    assert "a live worker serves every type that is waiting" in cli("doctor", "app:taskq").stdout


def test_a_database_that_is_not_there_yet_is_a_warning_and_is_not_made(cli, folder: Path) -> None:
    result = cli("doctor")
    assert result.exit_code == 0
    assert f"warn  database  there is no database at {folder / 'taskq.db'} yet" in result.stdout
    assert list(folder.iterdir()) == []


def test_what_nobody_serves_is_a_warning_with_advice(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    result = cli("doctor")
    assert result.exit_code == 0
    assert "warn  workers   no worker is alive" in result.stdout
    assert "warn  service   no worker serves 'greet' on queue 'default': 1 waiting" in result.stdout


def test_a_waiting_type_that_the_app_does_not_have_is_called_renamed(
    cli, shelf, app_folder: Path
) -> None:
    @shelf.app.activity
    async def old_name() -> None: ...

    old_name.delay()
    assert "renamed?" in cli("doctor", "app:taskq").stdout


def test_an_app_that_cannot_be_loaded_fails(cli, folder: Path) -> None:
    result = cli("doctor", "nosuch:app")
    assert result.exit_code == 1
    assert "fail  app       there is no module 'nosuch'" in result.stdout


def test_an_app_without_activities_is_a_warning(cli, folder: Path) -> None:
    (folder / "app.py").write_text("from taskq import TaskQ\ntaskq = TaskQ()\n")
    assert levels(cli, "app:taskq")["app"] == "warn"


def test_a_file_that_is_no_database_fails(cli, folder: Path) -> None:
    (folder / "taskq.db").write_text("certainly not a database, though quite long enough")
    result = cli("doctor")
    assert result.exit_code == 1 and "fail  database" in result.stdout
    assert "server" not in result.stdout and "ok    sqlite" in result.stdout


def test_a_newer_schema_fails(cli, shelf, folder: Path) -> None:
    shelf.greet.delay("Ada")
    shelf.app.close()
    connection = sqlite3.connect(folder / "taskq.db")
    connection.execute("update taskq_alembic_version set version_num = 'tq9999'")
    connection.commit()
    connection.close()
    result = cli("doctor")
    assert result.exit_code == 1 and "fail  schema" in result.stdout
    assert result.stdout.rstrip().endswith("update taskq")


def test_memory_is_a_warning(cli, folder: Path) -> None:
    assert levels(cli, "--database", "memory://")["database"] == "warn"


def test_a_bad_setting_of_the_environment_fails(
    cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_LEASE", "soon")
    result = cli("doctor")
    assert result.exit_code == 1 and "TASKQ_LEASE" in result.stdout


def test_a_variable_that_is_no_setting_is_a_warning(
    cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_LEESE", "3")
    monkeypatch.setenv("TASKQ_ODD", "3")
    result = cli("doctor")
    said = "warn  settings  the environment variable TASKQ_{} is ignored: it is no setting ({})"
    assert result.exit_code == 0
    assert said.format("LEESE", "did you mean TASKQ_LEASE?") in result.stdout
    assert said.format("ODD", "taskq config lists what there is") in result.stdout


def test_database_and_app_exclude_each_other(cli, folder: Path) -> None:
    refused = cli("doctor", "app:taskq", "--database", "sqlite:///x.db")
    assert refused.exit_code == 2
    assert refused.stderr.endswith("with another database, set TASKQ_DATABASE_URL\n")


def test_a_server_that_is_not_there_is_to_be_started(cli, folder: Path) -> None:
    result = cli("doctor", "--database", "postgresql://127.0.0.1:1/taskq")
    assert result.exit_code == 1
    assert "(see that the server runs and that host and port are right)" in result.stdout


def test_where_nothing_waits_nobody_is_said_to_serve_it(cli, shelf) -> None:
    future = shelf.greet.delay("Ada")
    assert "nothing is waiting" not in cli("doctor").stdout
    future.cancel()
    assert "ok    service   nothing is waiting\n" in cli("doctor").stdout


def test_a_second_owner_of_the_import_name_fails_with_what_to_uninstall() -> None:
    finding = owner(["taskq-anyio", "taskq"], Path("x"))
    assert finding.level is Level.FAIL and "pip uninstall taskq," in finding.advice
    assert owner(["taskq-anyio", "taskq-anyio"], Path("x")).level is Level.OK
    assert owner([], Path("x")).level is Level.OK


def test_an_old_sqlite_fails() -> None:
    assert sqlite((3, 34, 1)).level is Level.FAIL
    assert sqlite((3, 35, 0)).level is Level.OK


def test_a_time_ahead_of_this_clock_is_a_warning() -> None:
    ahead = clock([NOW, NOW + timedelta(seconds=90)], NOW)
    assert ahead.level is Level.WARN and "90 s ahead" in ahead.message
    assert clock([NOW + timedelta(seconds=1)], NOW).level is Level.OK
    assert clock([], NOW).level is Level.OK
