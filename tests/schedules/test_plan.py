"""What is done with a schedule that is due, as a pure decision."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from taskq.occurrences import Timing
from taskq.schedule import BATCH, TOLERANCE, CatchUp, Overlap, Plan, Schedule, Template, plan

START = datetime(2026, 1, 1, tzinfo=UTC)


def hour(number: float) -> datetime:
    return START + timedelta(hours=number)


def planned(catch_up: CatchUp, overlap: Overlap, now: datetime, **more: Any) -> Plan:
    schedule = Schedule(
        name="report",
        timing=Timing(cron="0 * * * *"),
        template=Template(type="report", queue="default", payload="{}"),
        catch_up=catch_up,
        overlap=overlap,
    )
    return plan(schedule, hour(1), now, **more)


def test_before_its_time_nothing_happens() -> None:
    assert planned("all", "allow", hour(0.99)) == Plan(next_at=hour(1))


def test_at_its_time_it_fires() -> None:
    """bug:B111: the very instant counts"""
    assert planned("none", "skip", hour(1)) == Plan(fire=(hour(1),), next_at=hour(2))


@pytest.mark.parametrize(
    ("catch_up", "overlap", "fire", "skipped", "next_at"),
    [
        ("latest", "allow", [4], 3, 5),
        ("none", "allow", [], 4, 5),
        ("all", "allow", [1, 2, 3, 4], 0, 5),
        ("latest", "skip", [4], 3, 5),
        ("all", "skip", [4], 3, 5),
        ("latest", "queue", [4], 3, 5),
        ("all", "queue", [1], 0, 2),
    ],
)
def test_of_four_that_are_due(
    catch_up: CatchUp, overlap: Overlap, fire: list[int], skipped: int, next_at: int
) -> None:
    """promise:G12"""
    expected = Plan(fire=tuple(map(hour, fire)), skipped=skipped, next_at=hour(next_at))

    assert planned(catch_up, overlap, hour(4.5)) == expected


@pytest.mark.parametrize("catch_up", ["latest", "none", "all"])
def test_while_the_last_one_goes_on(catch_up: CatchUp) -> None:
    now = hour(2.5)

    assert planned(catch_up, "queue", now, busy=True) == Plan(next_at=hour(1), held=True)
    assert planned(catch_up, "skip", now, busy=True) == Plan(skipped=2, next_at=hour(3))
    assert planned("all", "allow", now, busy=True).fire == (hour(1), hour(2))


def test_none_is_the_last_one_as_long_as_it_is_on_time() -> None:
    """Also of several that are due and late by less: one that was missed is not fired besides."""
    on_time = planned("none", "allow", hour(4) + timedelta(seconds=TOLERANCE))
    late = planned("none", "allow", hour(4) + timedelta(seconds=TOLERANCE + 1))

    assert (on_time.fire, on_time.skipped) == ((hour(4),), 3)
    assert (late.fire, late.skipped) == ((), 4)


def test_one_that_had_to_wait_is_not_late() -> None:
    ended = hour(2.5)

    soon = planned("none", "queue", ended + timedelta(seconds=TOLERANCE), free_since=ended)
    late = planned("none", "queue", ended + timedelta(seconds=TOLERANCE + 1), free_since=ended)

    assert (soon.fire, soon.skipped) == ((hour(2),), 1)
    assert (late.fire, late.skipped) == ((), 2)


def test_of_very_many_so_many_fire_and_so_many_are_counted() -> None:
    """promise:G12"""
    now = hour(1000.5)

    every, latest = planned("all", "allow", now), planned("latest", "allow", now)

    assert (len(every.fire), every.next_at) == (BATCH, hour(BATCH + 1))
    assert (latest.fire, latest.skipped, latest.next_at) == ((hour(1000),), BATCH, hour(1001))
