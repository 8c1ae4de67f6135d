"""The flags of ``taskq worker`` as keywords of a worker."""

from __future__ import annotations

from typing import Any

from taskq.cli.worker import Flags, worker_arguments


def flags(**given: Any) -> Flags:
    return Flags(
        **{
            "queues": (),
            "types": (),
            "concurrency": None,
            "threads": None,
            "suspend_on_await": None,
            "max_suspended": None,
            "reserve_slots_for_leaves": None,
            "leaf_types": (),
            "priority_aging": None,
            "burst": False,
            "schedules": None,
            "shutdown_grace": None,
            "name": None,
            **given,
        }
    )


def test_flags_that_are_not_given_leave_the_settings_alone() -> None:
    assert worker_arguments(flags()) == {"burst": False}


def test_names_are_separated_by_commas_or_flags() -> None:
    given = worker_arguments(flags(queues=("a,b", "c"), types=("*",), concurrency=3, name="n"))
    assert given["queues"] == ["a", "b", "c"]
    assert (given["types"], given["concurrency"], given["name"]) == ("*", 3, "n")


def test_flags_of_waiting_are_passed_on() -> None:
    """seed:E12, E13"""
    given = worker_arguments(
        flags(
            suspend_on_await=False, max_suspended=7, reserve_slots_for_leaves=2, leaf_types=("a,b",)
        )
    )
    assert given == {
        "burst": False,
        "suspend_on_await": False,
        "max_suspended": 7,
        "reserve_slots_for_leaves": 2,
        "leaf_types": ["a", "b"],
    }


def test_a_worker_may_be_told_to_leave_schedules_to_others() -> None:
    assert worker_arguments(flags(schedules=False)) == {"burst": False, "schedules": False}
