"""A worker that stands still for longer than its leases, while nobody else is there."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.chaos.arena import Arena, now, until

pytestmark = pytest.mark.chaos


def test_what_nobody_took_from_a_paused_worker_goes_on_there(arenas: Callable[..., Arena]) -> None:
    """A lease that has ended and that nobody took back still holds, if it is renewed at once: the
    shorter leases are, the quicker the machine and its database have to be."""
    arena = arenas(LEASE=8)
    future = arena.app.gate.delay("open")
    worker = arena.worker("asyncio")
    until(lambda: arena.effects("start"), "it runs")

    arena.pause(worker)
    until(lambda: now() > arena.row(future.id)["lease_until"] + 500_000, "its lease has ended")
    worker.send(signal.SIGCONT)
    until(lambda: now() < arena.row(future.id)["lease_until"], "it is renewed")
    arena.open("open")

    arena.until_all("completed")
    assert [line["what"] for line in arena.effects(id=future.id.hex)] == ["start", "end"]
