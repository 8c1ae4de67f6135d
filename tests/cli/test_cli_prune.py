"""``taskq prune``."""

from __future__ import annotations

import json

import pytest

from taskq.lifecycle import Failed, Succeeded
from taskq.model import ErrorInfo
from tests.cli.conftest import Cli, Shelf

NO = ErrorInfo(type="ValueError", message="no")


@pytest.fixture
def used(shelf: Shelf) -> Shelf:
    """Three that completed, two that failed, one that waits."""
    for number in range(3):
        shelf.greet.delay(str(number))
    shelf.end(Succeeded("1"))
    for number in range(2):
        shelf.greet.delay(str(number))
    shelf.end(Failed(error=NO, retryable=False))
    shelf.greet.delay("waits")
    return shelf


def left(cli: Cli) -> list[str]:
    items = json.loads(cli("list", "--json").stdout)["items"]
    return sorted(item["status"] for item in items)


def test_it_counts_asks_and_deletes(cli: Cli, used: Shelf) -> None:
    """seed:N13"""
    asked = cli("prune", "--older-than", "0s", "--status", "completed")
    assert (asked.exit_code, len(left(cli))) == (2, 6)
    assert "3 activities in 3 trees may go (completed=0s)" in asked.stderr
    assert "--yes" in asked.stderr

    done = cli("prune", "--older-than", "0s", "--status", "completed", "--yes", "--reason", "old")

    assert (done.exit_code, done.stdout) == (0, "3 activities in 3 trees were deleted\n")
    assert left(cli) == ["failed", "failed", "pending"]
    [entry] = used.app.client.call_sync(used.app.client.store.audit)
    assert (entry.action, entry.reason) == ("prune", "old")
    assert entry.actor.startswith("cli")


def test_a_dry_run_deletes_nothing(cli: Cli, used: Shelf) -> None:
    result = cli(
        *("prune", "--older-than", "0s", "--status", "completed", "--status", "failed"),
        *("--dry-run", "--json", "--batch", "2"),
    )
    assert json.loads(result.stdout) == {"trees": 5, "activities": 5, "dry_run": True}
    assert len(left(cli)) == 6


def test_it_goes_by_the_apps_retention(
    cli: Cli, used: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """seed:B8"""
    nothing = cli("prune", "--yes")
    assert (nothing.exit_code, "nothing says what may go" in nothing.stderr) == (2, True)

    monkeypatch.setenv("TASKQ_RETENTION", "completed=7d,failed=0s")
    only = cli("prune", "--status", "completed", "--yes")
    assert only.stdout == "nothing may go (completed=7d)\n"
    assert cli("prune", "--yes", "--rate", "1000").exit_code == 0
    assert left(cli) == ["completed"] * 3 + ["pending"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--older-than", "7d"), "--older-than needs --status"),
        (("--older-than", "7d", "--status", "pending"), "is never deleted"),
        (("--status", "processing"), "is never deleted"),
        (("--older-than", "a week", "--status", "failed"), "no duration"),
        (("--status", "done"), "'done' is not one of"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(
    cli: Cli, used: Shelf, arguments: tuple[str, ...], problem: str
) -> None:
    result = cli("prune", *arguments, "--yes")
    assert (result.exit_code, len(left(cli))) == (2, 6)
    assert problem in " ".join(result.stderr.split())
