"""``taskq schedules``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NIGHTLY = ("schedules", "create", "nightly", "greet", '{"name": "Ada"}', "-A", "app:taskq")


@pytest.fixture
def nightly(cli, app_folder: Path) -> dict[str, Any]:
    """A schedule made at the command line."""
    assert cli("enqueue", "app:taskq", "greet", '{"name": "Eve"}').exit_code == 0
    made = cli(*NIGHTLY, "--cron", "0 3 * * *", "--tz", "Asia/Tokyo", "--jitter", "1m30s")
    assert (made.exit_code, made.stderr) == (0, "")
    return shown(cli)


def shown(cli) -> dict[str, Any]:
    return json.loads(cli("schedules", "show", "nightly", "--json").stdout)


def test_a_schedule_is_made_and_shown(cli, nightly) -> None:
    wanted = {
        "type": "greet",
        "arguments": {"name": "Ada"},
        "cron": "0 3 * * *",
        "timezone": "Asia/Tokyo",
        "jitter": 90.0,
        "catch_up": "latest",
        "state": "active",
        "declared": False,
    }
    assert {name: nightly[name] for name in wanted} == wanted
    assert "T18:00:00" in nightly["next_at"]
    assert json.loads(cli("schedules", "list", "--json").stdout) == [nightly]
    assert json.loads(cli("schedules", "--json", "-A", "app:taskq").stdout) == [nightly]
    wrong = cli("schedules", "--json", "show", "nightly")
    assert (wrong.exit_code, "behind the command" in wrong.stderr) == (2, True)
    text = cli("schedules").stdout
    assert "timezone" in text.splitlines()[0]
    assert "At 03:00 every day" in text and "Asia/Tokyo" in text and "active" in text
    assert "next at" in cli("schedules", "show", "nightly").stdout


def test_it_is_edited_paused_resumed_triggered_and_deleted(cli, nightly) -> None:
    assert cli("schedules", "edit", "nightly", "--every", "1h", "--tz", "UTC").exit_code == 2
    assert cli("schedules", "edit", "nightly", "--overlap", "skip", "--reason", "slow").stdout
    assert (shown(cli)["overlap"], shown(cli)["revision"]) == ("skip", 2)
    cli("schedules", "edit", "nightly", "--every", "1h")
    assert (shown(cli)["cron"], shown(cli)["every"]) == (None, 3600.0)
    cli("schedules", "pause", "nightly")
    assert shown(cli)["state"] == "paused"
    cli("schedules", "resume", "nightly")
    id = cli("schedules", "trigger", "nightly").stdout.strip()
    stored = json.loads(cli("show", id, "--json").stdout)
    assert (stored["source"], stored["metadata"]["cron_job"]) == ("cron", "nightly")
    unasked = cli("schedules", "delete", "nightly")
    assert (unasked.exit_code, "add --yes to delete it" in unasked.stderr) == (2, True)
    assert cli("schedules", "delete", "nightly", "--yes").exit_code == 0
    assert cli("schedules", "show", "nightly").exit_code == 1
    assert cli("schedules", "list").stderr == "there are no schedules\n"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--cron", "61 * * * *"), 2, "bad minute"),
        (("--cron", "@daily", "--tz", "Mars/Base"), 2, "no time zone"),
        (("--every", "soon"), 2, "no duration"),
        ((), 2, "its times are not given: say --cron or --every"),
        (("--cron", "@daily", "--every", "5s"), 2, "--cron and --every exclude each other"),
        (("--every", "5s", "--jitter", "-1"), 2, "jitter must be at least 0"),
    ],
)
def test_what_makes_no_sense_is_wrong_use(
    cli, app_folder: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    cli("enqueue", "app:taskq", "greet", '{"name": "Eve"}')
    result = cli(*NIGHTLY, *arguments)
    assert (result.exit_code, told in result.stderr) == (code, True), result.stderr


def test_arguments_that_do_not_fit_and_unknown_tasks_are_wrong_use(cli, nightly) -> None:
    made = ("schedules", "create", "again", "-A", "app:taskq", "--every", "5s")
    assert cli(*made, "greet", '{"nam": "Ada"}').exit_code == 2
    assert "did you mean 'greet'" in cli(*made, "gret").stderr


def test_without_an_app_none_is_named(cli, nightly) -> None:
    made = cli("schedules", "create", "again", "greet", "--every", "10")
    assert (made.exit_code, made.stderr) == (
        2,
        "Error: no app is named: an app is written module:attribute, for example app:taskq, by"
        " -A/--app or by TASKQ_APP\n",
    )


def test_what_is_not_there_or_taken_is_not_done(cli, nightly) -> None:
    taken = cli(*NIGHTLY, "--every", "5s")
    assert (taken.exit_code, "already" in taken.stderr) == (1, True)
    for verb in ("show", "pause", "resume", "trigger", "delete"):
        result = cli("schedules", verb, "nobody")
        assert (result.exit_code, "no schedule 'nobody'" in result.stderr) == (1, True), verb
    assert cli("schedules", "edit", "nightly").exit_code == 2
