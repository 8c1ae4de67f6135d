"""A database that cannot be written for a while: another program has locked it."""

from __future__ import annotations

import time

import pytest

from taskq import EnqueueTimeout, TaskQ
from tests.chaos.arena import Arena, now, until

pytestmark = pytest.mark.chaos

LEASE = 3.0
"""Seconds: a busy machine does not stand still for so long."""


def test_a_lock_that_outlasts_the_leases_burns_nothing(arena: Arena, loop: str) -> None:
    """Rule R4, promise:G6: what cannot be renewed is cancelled in time, and then run again. Another
    worker does not take it for lost as soon as it can write again."""
    running = arena.app.gate.delay("open")
    arena.worker(loop, LOCK_TIMEOUT=0.2)
    until(lambda: arena.effects("start"), "it runs")
    arena.worker(loop, LOCK_TIMEOUT=0.2)

    with arena.database.locked():
        lease = arena.row(running.id)["lease_until"]
        until(lambda: now() > lease + 500_000, "its lease has ended")
        [cancelled] = arena.effects("cancelled", id=running.id.hex)
        assert cancelled["at"] < lease
    arena.open("open")
    arena.until_all("completed")

    row = arena.row(running.id)
    assert (row["crash_count"], row["retry_count"]) == (0, 0)


def test_an_enqueue_into_a_locked_database_fails_after_its_deadline(arena: Arena) -> None:
    """And nothing of it is stored afterwards: its last try has ended before the lock does."""
    before = arena.app.quick.delay()
    client = TaskQ(arena.url, enqueue_timeout=1.0, lock_timeout=0.3)
    task = client.activity(quick)
    try:
        with arena.database.locked():
            began = time.monotonic()
            with pytest.raises(EnqueueTimeout, match="transaction"):
                task.delay()
            assert 0.5 < time.monotonic() - began < 4
            client.client.call_sync(client.client.store.held, before.id)
        after = task.delay()
    finally:
        client.close()
    assert [row["id"] for row in arena.rows()] == [before.id.hex, after.id.hex]


async def quick() -> None:
    """Only enqueued."""
