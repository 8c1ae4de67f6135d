"""Handlers that block their worker's event loop."""

from __future__ import annotations

import pytest

from tests.chaos.arena import Arena, now, until

pytestmark = pytest.mark.chaos

LEASE = 3.0
"""Seconds: a busy machine does not stand still for so long."""


def test_a_handler_that_blocks_the_loop_keeps_what_its_worker_has(arena: Arena, loop: str) -> None:
    """bug:B25, fault:C1: for two leases, beside a worker that would take it."""
    beside = [arena.app.gate.build("open") for _ in range(3)]
    blocking = arena.app.block.build("unblock")
    arena.app.taskq.enqueue([*beside, blocking])
    blocked = arena.worker(loop, "-c", "4")
    until(lambda: arena.effects("start", id=blocking.id.hex), "it blocks")
    other = arena.worker(loop, "-c", "4")
    there_since = now()

    arena.open("open")
    two_leases = 2 * arena.settings["LEASE"] * 1_000_000
    until(lambda: now() - there_since > two_leases, "two leases are over")
    arena.open("unblock")
    arena.until_all("completed")

    assert {row["claim"] for row in arena.rows()} == {1}
    assert {line["pid"] for line in arena.effects("start")} == {blocked.pid}
    assert arena.effects("start", pid=other.pid) == []
