"""Workers that stand still for longer than their leases."""

from __future__ import annotations

import signal

import pytest

from tests.chaos.arena import Arena, until

pytestmark = pytest.mark.chaos

LEASE = 3.0
"""Seconds: a busy machine does not stand still for so long."""


def test_what_a_paused_worker_brings_too_late_is_refused(arena: Arena, loop: str) -> None:
    """promise:G5, seed:W22, fault:A3: its handlers are cancelled, and then it works as ever."""
    activities = [arena.app.hold.build(), arena.app.stubborn.build()]
    arena.app.taskq.enqueue(activities)
    paused = arena.worker(loop)
    until(lambda: len(arena.effects("start", pid=paused.pid)) == 2, "both run")
    other = arena.worker(loop)

    arena.pause(paused)
    arena.until_all("completed")
    accepted = {row["id"]: (row["worker"], row["result"]) for row in arena.rows()}
    other.send(signal.SIGTERM)
    assert other.ends() == 0
    paused.send(signal.SIGCONT)

    until(lambda: len(arena.effects("OutcomeRefused", pid=paused.pid)) == 2, "both are refused")
    assert len(arena.effects("cancelled", id=activities[0].id.hex, claim=1)) == 1
    assert len(arena.effects("swallowed", id=activities[1].id.hex, claim=1)) == 1
    arena.app.taskq.enqueue([arena.app.nap.build(0.05) for _ in range(8)])
    arena.until_all("completed")
    for row in arena.rows():
        if row["type"] == "nap":
            assert row["claim"] == 1
        else:
            assert (row["worker"], row["result"]) == accepted[row["id"]]
            assert (row["claim"], row["crash_count"]) == (2, 1)
    assert len(arena.effects("end", pid=paused.pid, type="nap")) == 8
