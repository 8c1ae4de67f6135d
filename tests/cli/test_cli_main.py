"""The group of commands: help, version, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from taskq.cli import commands
from taskq.version import VERSION

HEAVY = ("rich", "sqlalchemy", "alembic", "litestar", "asyncpg", "trio", "uvicorn")


def test_version_prints_the_version(cli) -> None:
    assert cli("version").stdout == cli("--version").stdout == f"{VERSION}\n"


def test_every_command_has_help_and_takes_traceback(cli) -> None:
    for name in commands.commands:
        result = cli(name, "--help")
        assert result.exit_code == 0 and "--traceback" in result.stdout
    assert "worker" in cli("--help").stdout


def test_the_workers_help_says_which_queues_it_serves(cli) -> None:
    said = " ".join(cli("worker", "--help").stdout.split())
    assert "Serve only these queues. [default: all that the app and its tasks name]" in said


@pytest.mark.parametrize(
    "arguments", [["--help"], ["version"], ["--version"], ["worker", "--help"]]
)
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from taskq.cli import commands\n"
        f"commands({arguments!r}, standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.strip() == "[]"


def test_an_unknown_command_is_wrong_use(cli) -> None:
    assert cli("wroker").exit_code == 2


def test_an_unforeseen_error_is_one_sentence_with_a_way_to_see_more(
    cli, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr("taskq.cli.inspect.opened", broken)
    result = cli("list")
    assert result.exit_code == 1
    assert result.stderr == "Error: RuntimeError: out of (--traceback shows where)\n"
    assert "in broken" in cli("--traceback", "list").stderr


@pytest.mark.parametrize(
    ("password", "command"),
    [
        ("1234?5678", ["status"]),
        ("1234#5678", ["status"]),
        ("1234/5678", ["status"]),
        ("1234@5678", ["status"]),
        ("1234?5678", ["doctor"]),
        ("1234#5678", ["migrate"]),
        ("1234/5678", ["migrate", "--sql"]),
    ],
)
def test_no_command_shows_the_password_of_a_wrong_url(
    cli, monkeypatch: pytest.MonkeyPatch, command: list[str], password: str
) -> None:
    url = f"postgresql://ada:{password}@127.0.0.1:1/shop"
    given = cli(*command, "--database", url)
    monkeypatch.setenv("TASKQ_DATABASE_URL", url)
    found = cli(*command)

    for result in (given, found):
        assert result.exit_code != 0
        assert isinstance(result.exception, SystemExit)
        assert "write %40 for @" in result.output
        assert "1234" not in result.output
        assert "5678" not in result.output
