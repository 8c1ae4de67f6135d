"""How processes of a worker's end: for real, and with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from taskq import ActivityCancelled, ActivityDeadLettered, Task, TaskQ, gather
from taskq.model import ErrorKind
from tests.processes import work
from tests.processes.alive import alive, children, noted, until, until_sync

only_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])
only_trio = pytest.mark.parametrize("anyio_backend", ["trio"])


def shelved(folder: Path, *tasks: Task[..., object]) -> TaskQ:
    """An app with these tasks whose activities are in SQLite."""
    app = TaskQ(f"sqlite:///{folder}/taskq.db")
    for task in tasks:
        app.activity(name=task.name, run_in="process")(task.definition.function)
    return app


@only_trio
async def test_of_twenty_ten_complete_five_die_and_five_time_out(tmp_path: Path) -> None:
    """Issue 5, point 5."""
    before = children()
    app = shelved(tmp_path, work.add, work.die, work.spin)
    add, die, spin = (app.tasks[name] for name in ("add", "die", "spin"))
    calls = [
        call
        for n in range(5)
        for call in (
            add.build(n, n),
            die.options(max_crashes=1).build(),
            spin.options(timeout=0.5, max_retries=0).build(),
            add.build(n, n),
        )
    ]
    async with app:
        futures = app.enqueue(calls)
        async with app.worker(concurrency=5):
            results = await gather(*futures, return_exceptions=True)

    assert [result for result in results if isinstance(result, int)] == [
        n + n for n in range(5) for _ in range(2)
    ]
    dead = [result for result in results if isinstance(result, ActivityDeadLettered)]
    kinds = [result.error.kind for result in dead]
    assert sorted(kinds) == [ErrorKind.CRASHED] * 5 + [ErrorKind.TIMEOUT] * 5
    assert children() <= before


@only_asyncio
async def test_a_cancel_ends_the_process_after_a_moment_to_clean_up(tmp_path: Path) -> None:
    note, cleaned, stubborn = tmp_path / "pid", tmp_path / "cleaned", tmp_path / "stubborn"
    async with work.app.worker(concurrency=2):
        gentle = work.clean_up.delay(str(note), str(cleaned))
        deaf = work.swallow.delay(str(stubborn))
        pids = [await noted(note), await noted(stubborn)]
        for future in (gentle, deaf):
            await future.acancel()
            with pytest.raises(ActivityCancelled):
                await future

        assert [alive(pid) for pid in pids] == [False, False]
        assert not children() & {*pids}
    assert cleaned.read_text() == "True"
    assert stubborn.read_text().endswith("swallowed")


@only_asyncio
async def test_a_shutdown_ends_processes_after_the_grace_and_counts_nothing(
    tmp_path: Path,
) -> None:
    note = tmp_path / "pid"
    async with work.app.worker(concurrency=1, shutdown_grace=0.1):
        future = work.wait_for.delay(str(tmp_path / "never"), str(note))
        pid = await noted(note)
    info = future.info()
    await future.acancel()

    assert not alive(pid)
    assert (info.status, info.crash_count, info.retry_count) == ("pending", 0, 0)


@only_asyncio
async def test_signals_for_the_whole_service_are_not_for_a_process(tmp_path: Path) -> None:
    note, go = tmp_path / "pid", tmp_path / "go"
    async with work.app.worker(concurrency=1):
        future = work.wait_for.delay(str(go), str(note))
        pid = await noted(note)
        assert os.getpgid(pid) != os.getpgid(0)
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(pid, number)
        await anyio.Path(go).touch()
        assert await future == "found"
        assert (await future.ainfo()).retry_count == 0


@only_asyncio
async def test_what_a_handler_has_forked_neither_hides_its_death_nor_outlives_it(
    tmp_path: Path,
) -> None:
    note = tmp_path / "pid"
    async with work.app.worker(concurrency=1):
        with pytest.raises(ActivityDeadLettered, match="ended with exit code 5"):
            await work.fork.options(max_crashes=1).delay(str(note))
        forked = await noted(note)
        await until(lambda: not alive(forked))


KILLED = """
import sys
from pathlib import Path
import anyio
from tests.processes import work

async def main(busy: str, idle: str, other: str, forked: str) -> None:
    work.start_another.delay(other)
    work.hold_gil.delay(busy)
    work.wait_for.delay("never", idle)
    async with work.app.worker(concurrency=4):
        while not all(Path(note).exists() for note in (busy, idle, other)):
            await anyio.sleep(0.02)
        work.fork_in_worker.delay(forked)
        await anyio.sleep_forever()

anyio.run(main, *sys.argv[1:])
"""


def test_a_worker_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """Also none that computes in C and lets none of its threads run, and none that a handler has
    started. What the worker itself has forked lives on, and keeps none of them."""
    notes = [tmp_path / name for name in ("busy", "idle", "other", "forked")]
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED, *map(str, notes)], cwd=Path(__file__).parents[2]
    )
    try:
        until_sync(lambda: all(note.exists() and note.read_text() for note in notes))
        pids = [int(note.read_text()) for note in notes]
        assert all(alive(pid) for pid in pids)
    finally:
        worker.kill()
        worker.wait()
    *pids, forked = pids
    try:
        until_sync(lambda: not any(alive(pid) for pid in pids))
        assert alive(forked)
    finally:
        os.kill(forked, signal.SIGKILL)
