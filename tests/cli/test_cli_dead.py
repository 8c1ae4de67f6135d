"""``taskq dead``, ``retry`` with other arguments, ``delete``, and what moves activities."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from taskq.lifecycle import Failed, Snoozed, Succeeded, decide
from taskq.model import ErrorInfo, Status
from taskq.snapshot import Filter, Page

SENTENCES = ("no such user {}", "bad row {}", "timed out after {} s", "'{}' is no date", "broken")
EACH = int(os.environ.get("TASKQ_TEST_DEAD_LETTERS", "40"))
"""How many of each cause; 200 make a thousand, retried at 50 a second."""
RATE = max(40, EACH // 4)


def fill(shelf, each: int = EACH) -> None:
    """Dead letters of five causes."""
    calls = [shelf.greet.build(f"n{number}") for number in range(each * len(SENTENCES))]
    shelf.app.enqueue(calls)
    while attempts := shelf.claimed():
        transitions = []
        for attempt in attempts:
            number = int(json.loads(attempt.payload)["name"][1:])
            message = SENTENCES[number % len(SENTENCES)].format(number)
            failed = Failed(error=ErrorInfo(type="shop.Wrong", message=message))
            transitions.append(decide(replace(attempt, max_retries=0), failed))
        shelf.app.client.call_sync(shelf.app.client.store.settle, transitions)


def causes(cli, *words: str) -> list[dict[str, Any]]:
    return json.loads(cli("dead", "list", "--json", *words).stdout)


def cause(cli, title: str) -> str:
    [found] = [each["fingerprint"] for each in causes(cli) if title in each["title"]]
    return found


def infos(shelf, text: str = "") -> list[Any]:
    client = shelf.app.client
    page = client.call_sync(client.store.list, Filter(), Page(limit=1000))
    return [each for each in page.items if text in each.payload]


def records(cli) -> list[dict[str, Any]]:
    return json.loads(cli("audit", "--json", "-n", "1000").stdout)


def test_dead_letters_are_listed_by_cause(cli, shelf) -> None:
    """seed:R18"""
    fill(shelf, each=3)

    found = causes(cli)
    table = cli("dead", "list").stdout
    shown = cli("dead", "show", cause(cli, "no such user")[:6])

    assert {(each["title"], each["count"]) for each in found} == {
        ("Wrong: no such user <n>", 3),
        ("Wrong: bad row <n>", 3),
        ("Wrong: timed out after <n> s", 3),
        ("Wrong: <text> is no date", 3),
        ("Wrong: broken", 3),
    }
    assert all(each["fingerprint"] in table for each in found)
    assert "3 (3 dead_letter, 0 failed)" in shown.stdout and "no such user 10" in shown.stdout
    assert len(json.loads(cli("dead", "list", "--flat", "--json").stdout)) == 15
    assert len(causes(cli, "error:broken")) == 1


def test_a_group_is_edited_and_retried_and_the_rest_purged(cli, shelf, start) -> None:
    """seed:R18: at a bounded rate; interrupted half way and run again it neither repeats nor
    skips; operators' commands are on record."""
    fill(shelf)
    users = cause(cli, "no such user")
    command = ("dead", "retry", users, "--set", 'name="ada"', "--rate", str(RATE), "--yes")

    process = start(*command, "--reason", "first")
    process.until(lambda: len(infos(shelf, '"ada"')) > 0, "a first chunk", 30)
    process.send(signal.SIGKILL)
    process.ends()
    half = len(infos(shelf, '"ada"'))
    again = cli(*command, "--reason", "second")

    assert 0 < half < EACH
    assert again.stdout == f"{EACH - half}  pending (was dead_letter)\n"
    edited = infos(shelf, '"ada"')
    assert len(edited) == EACH and {each.status for each in edited} == {Status.PENDING}
    for each in edited:
        timeline = shelf.app.client.call_sync(shelf.app.client.store.timeline, each.id)
        assert [entry.kind for entry in timeline].count("retried") == 1
    retries = [each for each in records(cli) if each["action"] == "retry"]
    ids = [id for each in retries for id in each["detail"]["ids"]]
    assert sorted(ids) == sorted(str(each.id) for each in edited)
    assert {each["reason"] for each in retries} == {"first", "second"}

    purged = cli("dead", "purge", "type:*", "--yes", "--reason", "no use")

    assert purged.stdout == f"{4 * EACH}  deleted (was dead_letter)\n"
    assert causes(cli) == [] and len(infos(shelf)) == EACH
    assert records(cli)[0]["action"] == "delete" and records(cli)[0]["reason"] == "no use"


def test_a_rate_is_kept(cli, shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(shelf, each=4)
    clock = [100.0]
    monkeypatch.setattr("taskq.cli.bulk.time.monotonic", lambda: clock[0])
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr("taskq.cli.bulk.time.sleep", sleep)

    result = cli("dead", "retry", "type:greet", "--rate", "8", "--yes")

    assert "at 8 a second this takes about 2.5 s" in result.stderr
    assert clock[0] == pytest.approx(102.0) and len(slept) == 5


def test_edited_arguments_are_checked_first(cli, shelf, app_folder: Path) -> None:
    fill(shelf, each=1)

    for words, said in (
        (("--set", "name=7"), "nothing was retried: activity"),
        (("--set", 'nome="x"'), "nothing was retried: activity"),
        (("--set", "name=ada"), "a text needs its quotes"),
        (("--arguments", "[1]"), "one JSON object"),
        (("--set", "a=1", "--arguments", "{}"), "--set changes single arguments"),
        (("--set", "name"), "NAME=JSON"),
    ):
        result = cli("dead", "retry", "type:*", "--yes", "-A", "app:taskq", *words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr
    assert {each.status for each in infos(shelf)} == {Status.DEAD_LETTER}
    result = cli("dead", "retry", "type:*", "--yes", "--arguments", '{"name": "x"}')
    assert "not checked against a signature" in result.stderr
    assert len(infos(shelf, '"x"')) == 5


def test_one_is_retried_with_other_arguments_by_its_id(cli, shelf) -> None:
    fill(shelf, each=1)
    id = str(infos(shelf)[0].id)

    assert cli("retry", id, "--set", 'name="ada"').stdout == f"{id}  pending (was dead_letter)\n"

    again = cli("dead", "retry", id)
    assert (again.exit_code, "cannot be retried: it is pending" in again.stdout) == (1, True)
    shown = cli("show", id).stdout
    assert "retried" in shown and "cli" in shown


def test_a_cause_that_is_not_there_is_said(cli, shelf) -> None:
    fill(shelf, each=1)

    for words in (("show", "0123456789abcdef"), ("retry", "01234"), ("purge", "01234")):
        result = cli("dead", *words)
        assert result.exit_code == 1 and "no dead letter has a cause" in result.stderr
    result = cli("dead", "retry", "0123456789abcdef", "--yes")
    assert (result.exit_code, result.stderr) == (0, "no activity matches\n")


def test_what_waits_is_moved_and_reordered(cli, shelf) -> None:
    """seed:N16"""
    id = str(shelf.greet.schedule(3600, "ada").id)

    assert cli("priority", id, "critical").stdout == f"{id}  priority CRITICAL (was scheduled)\n"
    assert "runs at 2" in cli("reschedule", id, "+1h30m").stdout
    assert cli("run-now", id, "--reason", "hurry").stdout == f"{id}  pending (was scheduled)\n"
    wrong = cli("run-now", id)
    assert (wrong.exit_code, "cannot be run now: it is pending" in wrong.stdout) == (1, True)
    assert cli("reschedule", id, "2100-01-01T00:00:00+00:00").exit_code == 0
    assert cli("run-now", "type:greet", "--yes").stdout == "1  pending (was scheduled)\n"
    actions = [each["action"] for each in records(cli)]
    run, put, order = "run_now", "reschedule", "set_priority"
    assert actions == [run, put, run, put, order]
    assert "hurry" in cli("audit").stdout


@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("tomorrow", "'tomorrow' is not a time such as 2026-12-31T18:00:00+01:00 or +1h30m"),
        ("2020-01-01", "'2020-01-01' has no time zone: write a time such as 2026-12-31T18:00:00"),
        ("9999-12-31T00:00:00+00:00", "is outside the years 1970 to 9998"),
        ("+9000000d", "'+9000000d' ends after the year 9998"),
    ],
)
def test_a_time_that_is_none_is_told_in_the_words_of_the_command_line(
    cli, shelf, when: str, told: str
) -> None:
    id = str(shelf.greet.schedule(3600, "ada").id)

    refused = cli("reschedule", id, when)

    assert (refused.exit_code, told in refused.stderr) == (2, True), refused.stderr
    assert "Error: ValueError" not in refused.stderr and "datetime" not in refused.stderr


def test_an_operators_cancel_is_on_record(cli, shelf) -> None:
    id = str(shelf.greet.delay("ada").id)

    cli("cancel", id, "--reason", "wrong list")

    [entry] = records(cli)
    assert (entry["action"], entry["reason"], entry["target"]) == ("cancel", "wrong list", id)
    assert entry["actor"].startswith("cli")


def test_a_command_that_changed_nothing_says_so_in_the_record(cli, shelf) -> None:
    done = str(shelf.greet.delay("ada").id)
    shelf.end(Succeeded('"hello"'))
    waiting = str(shelf.greet.delay("grace").id)

    cli("cancel", done, "--yes")
    assert f"{done}, nothing changed" in cli("audit").stdout
    cli("cancel", done, waiting, "--yes")
    assert "2 activities, 1 unchanged" in cli("audit").stdout


def test_what_has_ended_is_deleted(cli, shelf) -> None:
    """seed:N16"""
    done = str(shelf.greet.delay("ada").id)
    shelf.end(Succeeded('"hello"'))
    late = str(shelf.greet.delay("grace").id)
    shelf.end(Snoozed(3600.0))

    assert cli("delete", done).exit_code == 2 and len(infos(shelf)) == 2

    result = cli("delete", done, late, "--yes")

    assert result.exit_code == 1
    assert f"{done}  deleted (was completed)" in result.stdout
    assert f"{late}  cannot be deleted: it is scheduled, not " in result.stdout
    assert [str(each.id) for each in infos(shelf)] == [late]
    assert cli("delete", "type:*", "--yes").stderr == "no activity matches\n"


def test_by_their_ids_too_only_what_has_failed_is_meant(cli, shelf) -> None:
    done = str(shelf.greet.delay("ada").id)
    shelf.end(Succeeded("1"))
    gone = str(shelf.greet.delay("grace").id)
    assert cli("cancel", gone).exit_code == 0
    fill(shelf, each=1)
    dead = [str(each.id) for each in infos(shelf) if each.status is Status.DEAD_LETTER]

    unasked = cli("dead", "purge", dead[0])
    purged = cli("dead", "purge", done, dead[0], "--yes")
    retried = cli("dead", "retry", gone, dead[1])

    assert (unasked.exit_code, "add --yes" in unasked.stderr) == (2, True)
    assert purged.exit_code == retried.exit_code == 1
    assert purged.stdout.splitlines() == [
        f"{done}  cannot be deleted: it is completed, not failed, dead_letter",
        f"{dead[0]}  deleted (was dead_letter)",
    ]
    assert retried.stdout.splitlines() == [
        f"{gone}  cannot be retried: it is cancelled, not failed, dead_letter",
        f"{dead[1]}  pending (was dead_letter)",
    ]
    statuses = {str(each.id): each.status for each in infos(shelf)}
    assert (statuses[done], statuses[gone]) == (Status.COMPLETED, Status.CANCELLED)
