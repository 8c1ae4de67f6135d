"""A database that cannot be written for a while: locked by another program, or on a full disk."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from taskq import EnqueueTimeout, TaskQ
from tests.chaos.arena import Arena, now, until

pytestmark = pytest.mark.chaos

LOCK = """
import sqlite3, time
connection = sqlite3.connect("taskq.db", isolation_level=None, timeout=10)
connection.execute("BEGIN IMMEDIATE")
open("locked", "w").close()
time.sleep(60)
"""
"""Another program that holds a write transaction until it is killed."""


def test_a_worker_goes_on_after_a_lock_that_outlasts_its_patience(arena: Arena, loop: str) -> None:
    """bug:B28, fault:L12: nothing is lost and nothing burnt, and what runs goes on running."""
    running = arena.app.gate.delay("open")
    arena.worker(loop, LEASE=10, LOCK_TIMEOUT=0.3)
    until(lambda: arena.effects("start"), "it runs")

    with locked(arena):
        arena.open("open")
        until(lambda: arena.effects("end"), "the handler ends")
        until(lambda: arena.effects("BackgroundError", loop="ledger"), "its end cannot be written")
        assert arena.row(running.id)["status"] == "processing"
    later = arena.app.quick.delay()
    arena.until_all("completed")

    assert (arena.row(running.id)["claim"], arena.row(later.id)["claim"]) == (1, 1)
    assert len(arena.effects("start")) == 2


def test_a_lock_that_outlasts_the_leases_burns_nothing(arena: Arena, loop: str) -> None:
    """Rule R4, promise:G6: what cannot be renewed is cancelled in time, and then run again. Another
    worker does not take it for lost as soon as it can write again."""
    running = arena.app.gate.delay("open")
    arena.worker(loop, LOCK_TIMEOUT=0.2)
    until(lambda: arena.effects("start"), "it runs")
    arena.worker(loop, LOCK_TIMEOUT=0.2)

    with locked(arena):
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
    client = TaskQ(f"sqlite:///{arena.database}", enqueue_timeout=1.0, lock_timeout=0.3)
    task = client.activity(quick)
    try:
        with locked(arena):
            began = time.monotonic()
            with pytest.raises(EnqueueTimeout, match="transaction"):
                task.delay()
            assert 0.5 < time.monotonic() - began < 4
            client.client.call_sync(client.client.store.held, before.id)
        after = task.delay()
    finally:
        client.close()
    assert [row["id"] for row in arena.rows()] == [before.id.hex, after.id.hex]


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


async def quick() -> None:
    """Only enqueued."""


@contextmanager
def locked(arena: Arena) -> Iterator[None]:
    """Inside, another process holds a write transaction."""
    (arena.folder / "lock.py").write_text(LOCK)
    (arena.folder / "locked").unlink(missing_ok=True)
    holder = arena.python("lock.py", ready=False)
    until(lambda: (arena.folder / "locked").exists(), "it is locked")
    try:
        yield
    finally:
        holder.destroy()
