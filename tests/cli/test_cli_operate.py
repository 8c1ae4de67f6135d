"""``taskq enqueue``, ``retry`` and ``cancel``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from taskq.lifecycle import Failed, Succeeded
from taskq.model import ErrorInfo

NO = ErrorInfo(type="ValueError", message="no")


def stored(cli, id: str) -> dict[str, Any]:
    return json.loads(cli("show", id, "--json").stdout)


def test_enqueue_stores_the_call_and_prints_its_id(cli, app_folder: Path) -> None:
    """seed:Q15"""

    result = cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}')
    assert (result.exit_code, result.stderr) == (0, "")
    activity = stored(cli, str(UUID(result.stdout.strip())))
    assert (activity["type"], activity["payload"]) == ("greet", {"name": "Ada"})


def test_enqueue_takes_the_options_of_a_call(cli, app_folder: Path) -> None:
    result = cli(
        *("enqueue", "app:taskq", "greet", '{"name": "Ada"}'),
        *("--priority", "critical", "--queue", "mail", "--delay", "1h", "--key", "k1"),
        *("--tag", "a=b=c", "--source", "shell", "--correlation-id", "c1", "--user-id", "u1"),
        *("--max-retries", "7", "--timeout", "1m30s"),
    )
    activity = stored(cli, result.stdout.strip())
    wanted = {
        "priority": "CRITICAL",
        "queue": "mail",
        "status": "scheduled",
        "idempotency_key": "k1",
        "tags": {"a": "b=c"},
        "source": "shell",
        "correlation_id": "c1",
        "user_id": "u1",
        "max_retries": 7,
        "timeout": 90.0,
    }
    assert {name: activity[name] for name in wanted} == wanted


def test_a_key_that_is_taken_gives_the_existing_id(cli, app_folder: Path) -> None:
    arguments = ("enqueue", "app:taskq", "greet", '{"name": "Ada"}', "--key", "k1")
    assert cli(*arguments).stdout == cli(*arguments).stdout


def test_a_key_with_other_arguments_did_not_succeed(cli, app_folder: Path) -> None:
    cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}', "--key", "k1")
    result = cli("enqueue", "app:taskq", "greet", '{"name": "Grace"}', "--key", "k1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")


def test_arguments_can_come_from_stdin(cli, app_folder: Path) -> None:
    """fault:I37: secrets need not stand on the command line."""
    result = cli("enqueue", "app:taskq", "greet", "-", input='{"name": "Ada"}')
    assert stored(cli, result.stdout.strip())["payload"] == {"name": "Ada"}


@pytest.mark.parametrize(
    "payload", ["{}", "{", "[1]", "7", '{"name": 1}', '{"name": "x", "more": 1}', '{"name": NaN}']
)
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_stored(
    cli, app_folder: Path, payload: str
) -> None:
    result = cli("enqueue", "app:taskq", "greet", payload)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "greet" in result.stderr and result.stderr.count("\n") == 1
    assert not (app_folder / "taskq.db").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--priority", "urgent"), "LOW (1), NORMAL (2), HIGH (3), CRITICAL (4)"),
        (("--at", "tomorrow"), "not a time"),
        (("--at", "2026-01-01T00:00:00"), "'2026-01-01T00:00:00' has no time zone: write a time"),
        (("--delay", "-1"), "at least 0"),
        (("--delay", "1", "--at", "2026-01-01T00:00:00+00:00"), "exclude each other"),
        (("--tag", "novalue"), "name=value"),
        (("--max-retries", "-1"), "at least 0"),
        (("--queue", "not a name"), "not valid"),
        (("--wait=nan",), "no duration"),
    ],
)
def test_a_bad_option_is_refused_and_nothing_is_stored(
    cli, app_folder: Path, flags: tuple[str, ...], said: str
) -> None:
    result = cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}', *flags)
    assert result.exit_code == 2 and said in result.stderr
    assert not (app_folder / "taskq.db").exists()


def test_an_unknown_task_is_named_with_the_nearest_one(cli, app_folder: Path) -> None:
    result = cli("enqueue", "app:taskq", "great", "{}")
    assert result.exit_code == 2
    assert "did you mean 'greet'?" in result.stderr and "block, chat" in result.stderr


def test_the_environment_leaves_only_name_and_json(
    cli, app_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_APP", "app:taskq")
    assert cli("enqueue", "greet", '{"name": "Ada"}').exit_code == 0


def test_an_app_on_the_command_line_beats_the_environment(
    cli, app_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_APP", "nosuch:app")
    assert cli("enqueue", "greet", '{"name": "Ada"}').exit_code == 2
    assert cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}').exit_code == 0


def test_a_task_without_an_app_says_what_is_needed(cli, app_folder: Path) -> None:
    result = cli("enqueue", "greet")
    assert result.exit_code == 2 and "an app and a task are needed" in result.stderr


def test_too_many_arguments_are_refused(cli, app_folder: Path) -> None:
    result = cli("enqueue", "app:taskq", "greet", "{}", "{}")
    assert result.exit_code == 2 and "too many arguments" in result.stderr


def test_waiting_in_vain_says_what_is_known(cli, app_folder: Path) -> None:
    result = cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}', "--wait", "0.1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no live worker serves type 'greet'" in result.stderr


def test_retry_sends_ended_activities_round_again(cli, shelf) -> None:
    ids = [str(shelf.greet.delay(name).id) for name in ("Ada", "Grace")]
    shelf.end(Failed(error=NO, retryable=False))
    result = cli("retry", *ids, "--reason", "it was the network")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [f"{id}  pending (was failed)" for id in ids]
    entry = stored(cli, ids[0])["timeline"][-1]
    assert entry["detail"]["reason"] == "it was the network"
    assert entry["detail"]["actor"].startswith("cli")


def test_retry_answers_each_id_and_fails_when_one_did(cli, shelf) -> None:
    failed = str(shelf.greet.delay("Ada").id)
    shelf.end(Failed(error=NO, retryable=False))
    waiting = str(shelf.greet.delay("Grace").id)
    unknown = str(UUID(int=7))
    result = cli("retry", waiting, failed, unknown)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{waiting}  cannot be retried: it is pending")
    assert lines[1] == f"{failed}  pending (was failed)"
    assert lines[2] == f"{unknown}  there is no such activity"


def test_cancel_says_what_became_of_each(cli, shelf) -> None:
    ended = str(shelf.greet.delay("Ada").id)
    shelf.end(Succeeded("1"))
    running = str(shelf.greet.delay("Grace").id)
    shelf.claimed()
    waiting = str(shelf.greet.delay("Joan").id)
    result = cli("cancel", ended, running, waiting)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{ended}  cannot be cancelled: it has ended completed",
        f"{running}  cancel requested (it is running)",
        f"{waiting}  cancelled (was pending)",
    ]
    assert stored(cli, waiting)["status"] == "cancelled"


def test_cancel_takes_a_cut_id(cli, shelf) -> None:
    waiting = shelf.greet.delay("Ada").id
    assert cli("cancel", waiting.hex[:24]).exit_code == 0


def test_one_bad_id_leaves_all_others_untouched(cli, shelf) -> None:
    waiting = str(shelf.greet.delay("Ada").id)
    assert cli("cancel", waiting, "nonsense").exit_code == 2
    assert stored(cli, waiting)["status"] == "pending"
