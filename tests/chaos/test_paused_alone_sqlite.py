"""A worker that stands still for longer than its leases, while nobody else is there."""

from __future__ import annotations

import signal

import pytest

from tests.chaos.arena import Arena, now, until

pytestmark = pytest.mark.chaos


def test_what_nobody_took_from_a_paused_worker_goes_on_there(arena: Arena, loop: str) -> None:
    """A lease that has ended and that nobody took back still holds, if it is renewed at once: with
    leases as short as here, a database that is asked over a network may not be quick enough."""
    future = arena.app.gate.delay("open")
    worker = arena.worker(loop)
    until(lambda: arena.effects("start"), "it runs")

    arena.pause(worker)
    until(lambda: now() > arena.row(future.id)["lease_until"] + 500_000, "its lease has ended")
    worker.send(signal.SIGCONT)
    until(lambda: now() < arena.row(future.id)["lease_until"], "it is renewed")
    arena.open("open")

    arena.until_all("completed")
    assert [line["what"] for line in arena.effects(id=future.id.hex)] == ["start", "end"]
