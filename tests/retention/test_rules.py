"""What retention lets go, and how it is written down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from taskq import ConfigurationError, Status, TaskQ
from taskq.durations import seconds_in, written
from taskq.retention import Node, cutoffs, ripe, rules_of, spelled

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = 86_400.0
RULES = {Status.COMPLETED: 7 * DAY, Status.DEAD_LETTER: 1.5 * DAY}


@pytest.mark.parametrize(
    "given",
    [
        "completed=7d,dead_letter=1d12h",
        " completed=1w , dead_letter=36h,",
        {"completed": timedelta(days=7), "dead_letter": 36 * 3600},
        {Status.COMPLETED: "7d", "dead_letter": "1d12h"},
    ],
    ids=str,
)
def test_rules_are_written_in_several_ways(given: object) -> None:
    assert rules_of(given) == RULES


def test_rules_are_read_as_they_are_shown() -> None:
    assert spelled(RULES) == "completed=7d,dead_letter=1d12h"
    assert rules_of(spelled(RULES)) == RULES
    assert [seconds_in(written(each)) for each in (0.25, 59.0, 90_061.5)] == [0.25, 59.0, 90_061.5]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("processing=7d", "has not ended and is never deleted"),
        ("done=7d", "no state that activities end in"),
        ("completed=7", "no duration"),
        ("completed", "no duration"),
        ({"completed": -1}, "at least 0"),
        ({"completed": float("nan")}, "finite"),
        ({"completed": True}, "no duration"),
        (7, "map states to durations"),
    ],
    ids=str,
)
def test_what_means_nothing_is_refused(given: object, problem: str) -> None:
    """seed:B8"""
    with pytest.raises(ConfigurationError, match=problem):
        rules_of(given)


def test_a_tree_goes_when_each_of_it_has_outlived_its_own_rule() -> None:
    """seed:N13"""
    cut = cutoffs(RULES, NOW)
    old, dead = Node(Status.COMPLETED, NOW - 7 * timedelta(1)), NOW - timedelta(days=2)

    assert ripe([old, Node(Status.DEAD_LETTER, dead)], cut)
    assert not ripe([old, Node(Status.COMPLETED, dead)], cut)
    assert not ripe([old, Node(Status.FAILED, NOW - 999 * timedelta(1))], cut)
    assert not ripe([old, Node(Status.PENDING, NOW - 999 * timedelta(1))], cut)
    assert not ripe([old, Node(None, NOW - 999 * timedelta(1))], cut)


def test_one_that_keeps_for_longer_than_there_is_time_keeps_for_ever() -> None:
    assert cutoffs({Status.FAILED: 1e15}, NOW)[Status.FAILED].year == 1970


def test_an_app_takes_it_as_keyword_variable_and_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """seed:E16"""
    assert dict(TaskQ("memory://").retention.rules) == {}
    given = TaskQ("memory://", retention={"completed": timedelta(days=7)})
    assert given.retention.rules == {Status.COMPLETED: 7 * DAY}

    file = tmp_path / "taskq.toml"
    file.write_text("[retention]\ncompleted = '7d'\ndead_letter = '36h'\n")
    monkeypatch.setenv("TASKQ_CONFIG", str(file))
    assert TaskQ("memory://").retention.rules == RULES
    monkeypatch.setenv("TASKQ_RETENTION", "failed=1h")
    assert TaskQ("memory://").retention.rules == {Status.FAILED: 3600.0}


def test_a_bad_rule_says_where_it_is_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKQ_RETENTION", "pending=7d")
    with pytest.raises(ConfigurationError, match=r"pending has not ended.*TASKQ_RETENTION"):
        TaskQ("memory://")
