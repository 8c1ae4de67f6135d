"""A file that cannot be written for a while: locked by another program, or on a full disk."""

from __future__ import annotations

import resource

import pytest

from tests.chaos.arena import Arena, until

pytestmark = pytest.mark.chaos


def test_a_worker_goes_on_after_a_lock_that_outlasts_its_patience(arena: Arena, loop: str) -> None:
    """bug:B28, fault:L12: nothing is lost and nothing burnt, and what runs goes on running."""
    running = arena.app.gate.delay("open")
    arena.worker(loop, LEASE=10, LOCK_TIMEOUT=0.3)
    until(lambda: arena.effects("start"), "it runs")

    with arena.database.locked():
        arena.open("open")
        until(lambda: arena.effects("end"), "the handler ends")
        until(lambda: arena.effects("BackgroundError", loop="ledger"), "its end cannot be written")
        assert arena.row(running.id)["status"] == "processing"
    later = arena.app.quick.delay()
    arena.until_all("completed")

    assert (arena.row(running.id)["claim"], arena.row(later.id)["claim"]) == (1, 1)
    assert len(arena.effects("start")) == 2


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="prlimit is Linux only")
def test_a_worker_goes_on_when_a_full_disk_has_room_again(arena: Arena, loop: str) -> None:
    """fault:DB14: results that cannot be written are kept until they can."""
    arena.app.taskq.enqueue([arena.app.gate.build("open"), arena.app.bulky.build(100_000)])
    worker = arena.worker(loop, LEASE=30)
    arena.until_all("completed", type="bulky")
    until(lambda: arena.effects("start", type="gate"), "it runs")

    _, hard = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (32_768, hard))
    activity = arena.app.bulky.build(200_000)
    arena.app.taskq.enqueue([activity])
    arena.open("open")
    until(lambda: arena.effects("end", type="gate"), "the handler ends")
    until(lambda: arena.effects("BackgroundError", loop="ledger"), "its end cannot be written")
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (hard, hard))

    arena.until_all("completed")
    assert {row["claim"] for row in arena.rows("gate")} == {1}
    assert len(arena.effects("start")) == 3
