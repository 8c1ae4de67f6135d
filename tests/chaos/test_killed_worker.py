"""Workers that die without a word."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.chaos.arena import Arena, WorkerProcess, until

pytestmark = pytest.mark.chaos

LEASE = 3.0
"""Seconds: a busy machine does not stand still for so long."""

AHEAD = """
import sys
import anyio
from app import taskq

anyio.run(lambda: taskq.run_worker(concurrency=20, claim_ahead=20), backend=sys.argv[1])
"""
"""A worker that claims as many again as it runs."""

SLACK = 3_000_000
"""Microseconds for a busy machine, beyond what is promised."""


def test_what_a_killed_worker_had_is_claimed_elsewhere_within_the_lease(
    arena: Arena, loop: str
) -> None:
    """promise:G4, promise:G5, promise:G6: 20 running and 20 only claimed."""
    (arena.folder / "ahead.py").write_text(AHEAD)
    arena.app.taskq.enqueue([arena.app.hold.build() for _ in range(40)])
    victim = arena.python("ahead.py", loop)
    until(lambda: len(arena.effects("start")) == 20, "20 handlers run")
    until(lambda: {row["claim"] for row in arena.rows()} == {1}, "20 more are claimed")
    arena.worker(loop, "-c", "40")

    victim.send(signal.SIGKILL)
    victim.ends()
    leases = {row["id"]: row["lease_until"] for row in arena.rows()}
    arena.until_all("completed")

    assert len(arena.effects("start", claim=1)) == 20
    assert len(arena.effects("start", claim=2)) == len(arena.effects("end")) == 40
    tick = int(arena.settings["REAPER_INTERVAL"] * 1_000_000)
    for row in arena.rows():
        assert (row["claim"], row["crash_count"], row["retry_count"]) == (2, 1, 0)
        assert leases[row["id"]] < row["started_at"] < leases[row["id"]] + tick + SLACK


def test_only_the_activity_that_kills_its_workers_is_given_up(arena: Arena, loop: str) -> None:
    """promise:G8, bug:B45: nine innocent ones run beside it, and complete."""
    killer = arena.app.kill.delay()
    arena.app.taskq.enqueue([arena.app.nap.options(max_crashes=3).build(0.3) for _ in range(9)])

    deaths = dies_and_is_restarted(arena, loop, lambda: ended(arena, 11))

    assert deaths == 3
    dead = arena.row(killer.id)
    assert (dead["status"], dead["error_kind"]) == ("dead_letter", "crashed")
    assert dead["crash_count"] == dead["max_crashes"] == 3
    assert {row["status"] for row in arena.rows("nap")} == {"completed"}
    assert [line["of"] for line in arena.effects("buried")] == [killer.id.hex]


def ended(arena: Arena, count: int) -> bool:
    """Whether there are so many activities, and all have ended."""
    rows = arena.rows()
    return len(rows) == count and all(row["finished_at"] is not None for row in rows)


def dies_and_is_restarted(arena: Arena, loop: str, done: Callable[[], bool]) -> int:
    """Keep one worker alive until ``done()``; how often it died."""
    worker: WorkerProcess = arena.worker(loop)
    deaths = 0

    def over() -> bool:
        nonlocal worker, deaths
        if worker.code is not None and not done():
            assert worker.code == -signal.SIGKILL, worker.said()
            deaths += 1
            assert deaths < 10, "it goes on killing"
            worker = arena.worker(loop)
        return done()

    until(over, "everything has ended", within=60)
    return deaths
