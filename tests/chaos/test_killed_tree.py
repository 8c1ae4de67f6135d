"""A worker that dies with a tree in its hands."""

from __future__ import annotations

import signal

import pytest

from tests.chaos.arena import Arena, until

pytestmark = pytest.mark.chaos

LEASE = 3.0
"""Seconds: a busy machine does not stand still for so long."""


def test_a_tree_whose_worker_was_killed_has_each_step_once(arena: Arena, loop: str) -> None:
    """promise:G3, promise:G5, design 7.10: a failed step is found after the crash, and made anew
    when the parent is retried; children that are no steps are cancelled each time."""
    root = arena.app.tree.delay()
    victim = arena.worker(loop)
    until(lambda: len(arena.effects("broken")) == 1, "the second step has failed")
    victim.send(signal.SIGKILL)
    victim.ends()
    arena.worker(loop)
    until(lambda: len(arena.effects("broken")) == 2, "the parent has run again")
    assert len({line["of"] for line in arena.effects("broken")}) == 1

    arena.open("mended")
    arena.open("go")
    until(lambda: arena.row(root.id)["status"] == "completed", "the root has completed")

    steps = {(row["step"], row["status"]) for row in arena.rows() if row["step"] is not None}
    assert steps == {("nap", "completed"), ("mend", "failed"), ("mend", "completed")}
    assert len([row for row in arena.rows() if row["step"] is not None]) == 3
    assert len(arena.effects("end", type="nap")) == 1
    assert len(arena.effects("end", id=root.id.hex)) == 1
    until(lambda: ended_gates(arena) == ["cancelled", "cancelled"], "orphans are cancelled")
    assert (arena.row(root.id)["crash_count"], arena.row(root.id)["retry_count"]) == (1, 1)


def test_a_parent_that_dies_after_its_child_ended_and_before_it_woke(
    arena: Arena, loop: str
) -> None:
    """promise:G13, seed:S13: nothing about a wait is stored, so nothing of it can be lost."""
    root = arena.app.patient.delay()
    victim = arena.worker(loop, "-t", "patient")
    until(lambda: len(arena.rows("nap")) == 1, "the child is there")
    victim.send(signal.SIGSTOP)
    arena.worker(loop, "-t", "nap")
    until(lambda: arena.rows("nap")[0]["status"] == "completed", "the child has completed")

    victim.send(signal.SIGKILL)
    victim.ends()
    arena.worker(loop, "-t", "patient")
    arena.until_all("completed")

    assert len(arena.rows()) == 2
    assert len(arena.effects("end", type="nap")) == 1
    assert len(arena.effects("start", id=root.id.hex)) == 2
    assert len(arena.effects("end", id=root.id.hex)) == 1


def ended_gates(arena: Arena) -> list[str]:
    """How the children that are no steps ended; the last run's still waits."""
    rows = [row["status"] for row in arena.rows("gate")]
    return [status for status in rows if status not in ("pending", "processing")]
