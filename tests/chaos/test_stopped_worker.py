"""Workers that are told to stop by a signal."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.chaos.arena import Arena, WorkerProcess, until

pytestmark = pytest.mark.chaos

SLACK = 4.0
"""Seconds beyond the grace: the three that are promised, and one for a busy machine."""


def test_a_stop_claims_nothing_and_puts_what_is_cut_off_back_in_its_place(
    arena: Arena, loop: str
) -> None:
    """promise:G14, seed:Z1, seed:Z2, seed:Z5, seed:W19, seed:W20, bug:B82, bug:B84, fault:D5

    seed:E14, seed:N11.
    """
    long = [arena.app.gate.delay("long").id.hex for _ in range(2)]
    short = [arena.app.gate.delay("short").id.hex for _ in range(2)]
    waiting = [arena.app.gate.delay("long").id.hex for _ in range(6)]
    before = {row["id"]: row["ready_at"] for row in arena.rows()}
    worker = arena.worker(loop, "-c", "4", SHUTDOWN_GRACE=1)
    until(lambda: len(arena.effects("start")) == 4, "four run")

    code = stopped(arena, worker, grace=1, meanwhile=lambda: arena.open("short"))

    assert code == 0
    rows = {row["id"]: row for row in arena.rows()}
    assert {rows[id]["status"] for id in short} == {"completed"}
    assert {(rows[id]["status"], rows[id]["claim"]) for id in long} == {("pending", 1)}
    assert {(rows[id]["status"], rows[id]["claim"]) for id in waiting} == {("pending", 0)}
    assert {id: row["ready_at"] for id, row in rows.items()} == before
    assert {(row["retry_count"], row["crash_count"]) for row in rows.values()} == {(0, 0)}
    assert all(arena.effects("cancelled", id=id) for id in long)
    assert arena.query("SELECT * FROM taskq_workers") == []

    arena.open("long")
    arena.worker(loop, "-c", "1")
    arena.until_all("completed")
    assert [line["id"] for line in arena.effects("start")][4:] == long + waiting


def test_a_stop_that_cuts_nothing_off_is_a_clean_end(
    arenas: Callable[..., Arena], loop: str
) -> None:
    """promise:G14, fault:D4: leases are kept through a grace that is longer than they are.

    seed:W30
    """
    arena = arenas(LEASE=3, SHUTDOWN_GRACE=12)
    future = arena.app.gate.delay("done")
    worker = arena.worker(loop)
    until(lambda: arena.effects("start"), "it runs")
    arena.worker(loop)

    def outlast() -> None:
        lease = arena.row(future.id)["lease_until"]
        until(lambda: arena.row(future.id)["lease_until"] > lease + 3_500_000, "it is renewed")
        arena.open("done")

    assert stopped(arena, worker, grace=12, meanwhile=outlast) == 0
    row = arena.row(future.id)
    assert (row["status"], row["claim"], row["retry_count"]) == ("completed", 1, 0)


def test_a_second_signal_stops_now_and_still_costs_nothing(arena: Arena, loop: str) -> None:
    """fault:D2, seed:Z6; a retry would be the last, and none is used up."""
    future = arena.app.gate.delay("never")
    worker = arena.worker(loop, SHUTDOWN_GRACE=60)
    until(lambda: arena.effects("start"), "it runs")

    code = stopped(arena, worker, grace=0, meanwhile=lambda: worker.send(signal.SIGTERM))

    row = arena.row(future.id)
    assert code == 1
    assert (row["status"], row["retry_count"], row["crash_count"]) == ("pending", 0, 0)
    assert [note["kind"] for note in arena.notes(future.id)] == ["interrupted"]


def test_an_interrupt_from_the_terminal_stops_every_worker_of_its_group(arena: Arena) -> None:
    """seed:Z1, fault:D2: a shell and the two workers that it started get SIGINT at once."""
    futures = [arena.app.gate.delay("done") for _ in range(2)]
    script = arena.folder / "both.py"
    script.write_text(BOTH)
    shell = arena.python("both.py", ready=False)
    until(lambda: len(arena.effects("start")) == 2, "both run")

    os.killpg(shell.pid, signal.SIGINT)
    until(lambda: len(arena.effects("WorkerStopping")) == 2, "both heed it")
    arena.open("done")

    assert shell.ends() == 0, shell.said()
    assert {arena.row(future.id)["status"] for future in futures} == {"completed"}


BOTH = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, lambda *_: None)
command = [sys.executable, "-m", "taskq", "worker", "app:taskq", "-c", "1", "--async-backend"]
workers = [subprocess.Popen([*command, loop]) for loop in ("asyncio", "trio")]
sys.exit(max(worker.wait() for worker in workers))
"""


def test_sync_handlers_may_end_in_the_grace_or_are_left_behind(arena: Arena, loop: str) -> None:
    """promise:G14, seed:Z5, fault:D15: a thread that does not end does not keep the process."""
    done, heeding, deaf = (
        arena.app.thread_gate.delay("done"),
        arena.app.thread_heeding.delay("never"),
        arena.app.thread_gate.delay("never"),
    )
    worker = arena.worker(loop, SHUTDOWN_GRACE=1)
    until(lambda: len(arena.effects("start")) == 3, "all run")

    code = stopped(arena, worker, grace=1, meanwhile=lambda: arena.open("done"))

    assert code == 1, "a thread was left behind"
    assert arena.row(done.id)["status"] == "completed"
    assert arena.effects("heeded", id=heeding.id.hex)
    for future in (heeding, deaf):
        row = arena.row(future.id)
        assert (row["status"], row["retry_count"], row["crash_count"]) == ("pending", 0, 0)


def stopped(
    arena: Arena, worker: WorkerProcess, *, grace: float, meanwhile: Callable[[], object]
) -> int:
    """Send SIGTERM, do something once it is heeded; its exit code. It has to end in time."""
    began = time.monotonic()
    worker.send(signal.SIGTERM)
    until(lambda: arena.effects("WorkerStopping", pid=worker.pid), "it heeds the signal")
    meanwhile()
    code = worker.ends(within=grace + SLACK)
    assert time.monotonic() - began < grace + SLACK
    return code
