"""``taskq config``: each setting in force, and where it came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taskq import Settings

APP = """
from taskq import RetryPolicy, Settings, TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.clock import SystemClock

taskq = TaskQ("sqlite:///mine.db", concurrency=7, retry=RetryPolicy(max_delay=9))
whole = TaskQ(settings=Settings(database_url="memory://", lease=8.0))
stored = TaskQ(backend=MemoryBackend(SystemClock()))
"""


@pytest.fixture
def place(folder: Path) -> Path:
    """A current folder with an app and a file of settings."""
    (folder / "app.py").write_text(APP, encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        "[tool.taskq]\nlease = 20\nconcurrency = 3\ndatabase_url = 'sqlite:///file.db'\n",
        encoding="utf-8",
    )
    return folder


def shown(cli, *arguments: str) -> dict[str, tuple[object, dict[str, str]]]:
    result = cli("config", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["settings"]
    return {row["setting"]: (row["value"], row["from"]) for row in rows}


def test_without_an_app_it_shows_what_environment_and_file_say(
    cli, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """seed:E24, D35"""
    monkeypatch.setenv("TASKQ_LEASE", "6")

    found = shown(cli)

    path = str(place / "pyproject.toml")
    assert list(found) == list(Settings.__struct_fields__)
    assert found["lease"] == (6.0, {"kind": "variable", "name": "TASKQ_LEASE"})
    assert found["concurrency"] == (
        3,
        {"kind": "file", "path": path, "key": "tool.taskq.concurrency"},
    )
    assert found["database_url"][0] == "sqlite:///file.db"
    assert found["threads"] == (None, {"kind": "default"})


def test_an_apps_own_keywords_come_first(cli, place: Path) -> None:
    """D35"""
    found = shown(cli, "app:taskq")

    assert found["concurrency"] == (7, {"kind": "argument", "name": "concurrency"})
    assert found["database_url"] == ("sqlite:///mine.db", {"kind": "argument", "name": "url"})
    assert found["retry_max_delay"] == (9, {"kind": "argument", "name": "retry"})
    assert found["lease"][0] == 20


def test_an_app_of_given_settings_asks_neither_environment_nor_file(cli, place: Path) -> None:
    """seed:E16"""
    found = shown(cli, "app:whole")

    assert found["lease"] == (8.0, {"kind": "argument", "name": "settings"})
    assert {source["kind"] for _, source in found.values()} == {"argument"}


def test_an_app_with_a_store_of_its_own_has_no_url(cli, place: Path) -> None:
    found = shown(cli, "app:stored")

    assert found["database_url"] == ("memory", {"kind": "argument", "name": "backend"})


def test_people_get_a_table(cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKQ_LISTEN", "off")
    lines = [line.split(maxsplit=2) for line in cli("config").stdout.splitlines()]

    assert lines[0] == ["setting", "value", "from"]
    assert ["lease", "20", f"tool.taskq.lease in {place / 'pyproject.toml'}"] in lines
    assert ["listen", "off", "TASKQ_LISTEN"] in lines
    assert ["threads", "none", "default"] in lines


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_password_of_the_database_is_not_shown(
    cli, folder: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    """threat:T14"""
    monkeypatch.setenv("TASKQ_DATABASE_URL", "postgresql://ada:open-sesame@127.0.0.1:1/shop")

    result = cli("config", *form)

    assert "postgresql://ada@127.0.0.1:1/shop" in result.stdout
    assert "sesame" not in result.output


def test_a_bad_file_is_one_sentence_and_wrong_use(cli, place: Path) -> None:
    (place / "pyproject.toml").write_text("[tool.taskq]\nleese = 3\n", encoding="utf-8")

    result = cli("config")

    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {place / 'pyproject.toml'}: tool.taskq.leese is no setting;"
        " did you mean 'lease'?\n"
    )


def test_a_url_that_nobody_serves_says_where_it_is_from(cli, place: Path) -> None:
    (place / "pyproject.toml").write_text(
        "[tool.taskq]\ndatabase_url = 'nowhere://x'\n", encoding="utf-8"
    )

    said = cli("config").stderr

    assert "no backend serves nowhere://" in said
    assert f"(tool.taskq.database_url in {place / 'pyproject.toml'})" in said


def test_it_makes_no_database(cli, place: Path) -> None:
    cli("config")
    cli("config", "app:taskq")

    assert list(place.glob("*.db")) == []


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_secret_of_the_console_is_shown(
    cli, folder: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    """threat:T14"""
    monkeypatch.setenv("TASKQ_WEB_TOKENS", "ada=admin:canary-0123456789-abc")
    monkeypatch.setenv("TASKQ_WEB_SECRET", "canary" * 9)

    result = cli("config", *form)

    assert "ada=admin:" in result.stdout
    assert "canary" not in result.output and "sha256" not in result.output


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_variable_that_is_no_setting_is_named(
    cli, folder: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    monkeypatch.setenv("TASKQ_LEESE", "3")
    monkeypatch.setenv("TASKQ_ODD", "canary")

    result = cli("config", *form)

    assert result.exit_code == 0
    assert result.stderr == (
        "the environment variable TASKQ_LEESE is ignored: it is no setting;"
        " did you mean TASKQ_LEASE?\n"
        "the environment variable TASKQ_ODD is ignored: it is no setting\n"
    )
    assert "canary" not in result.output
