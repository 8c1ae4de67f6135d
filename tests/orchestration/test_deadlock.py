"""With suspension off, handlers that wait can hold every slot; that is found and said."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest
from trio.testing import MockClock

from taskq import TaskQ
from taskq.events import Deadlocked, Event
from taskq.testing import LoopClock
from tests.engine.world import until


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


class Heard:
    """What a listener heard of deadlocks."""

    def __init__(self) -> None:
        self.deadlocks: list[Deadlocked] = []

    def on_event(self, event: Event) -> None:
        if isinstance(event, Deadlocked):
            self.deadlocks.append(event)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def app(heard: Heard) -> Iterator[TaskQ]:
    app = TaskQ(
        "memory://", clock=LoopClock(), listeners=[heard], suspend_on_await=False, shutdown_grace=1
    )

    @app.activity
    async def child(seconds: float) -> None:
        await anyio.sleep(seconds)

    @app.activity(timeout=1000)
    async def parent(seconds: float) -> None:
        await (await child.adelay(seconds))

    yield app
    app.close()


async def test_slots_that_only_wait_are_a_deadlock_and_named(app: TaskQ, heard: Heard) -> None:
    """seed:S8"""
    async with app.worker(concurrency=2) as worker:
        first = await app.tasks["parent"].adelay(0.0)
        second = await app.tasks["parent"].adelay(0.0)
        with anyio.fail_after(30):
            await until(lambda: bool(heard.deadlocks), within=30)
        [deadlock] = heard.deadlocks
        assert {handler.id for handler in deadlock.handlers} == {first.id, second.id}
        assert "all 2 slots are held by handlers of parent" in str(deadlock)
        assert not worker.health().healthy
        worker.stop(0)


async def test_it_is_said_again_while_it_lasts(app: TaskQ, heard: Heard) -> None:
    async with app.worker(concurrency=1) as worker:
        await app.tasks["parent"].adelay(0.0)
        await anyio.sleep(100)
        assert 2 <= len(heard.deadlocks) <= 4
        worker.stop(0)


async def test_a_child_that_runs_is_no_deadlock(app: TaskQ, heard: Heard) -> None:
    async with app.worker(concurrency=2):
        future = await app.tasks["parent"].adelay(60.0)
        await future

    assert heard.deadlocks == []


async def test_children_that_run_on_another_worker_are_no_deadlock(
    app: TaskQ, heard: Heard
) -> None:
    async with app.worker(concurrency=1, types=["parent"]), app.worker(types=["child"]):
        future = await app.tasks["parent"].adelay(60.0)
        await future

    assert heard.deadlocks == []


async def test_a_busy_worker_that_serves_the_children_makes_it_no_deadlock(
    app: TaskQ, heard: Heard
) -> None:
    """They wait their turn there."""
    async with app.worker(concurrency=1, types=["child"]):
        first = await app.tasks["child"].adelay(60.0)
        await anyio.sleep(1)
        async with app.worker(concurrency=1, types=["parent"]):
            future = await app.tasks["parent"].adelay(1.0)
            await future
        await first

    assert heard.deadlocks == []


async def test_workers_that_all_only_wait_are_a_deadlock_together(app: TaskQ, heard: Heard) -> None:
    async with app.worker(concurrency=1) as one, app.worker(concurrency=1) as other:
        for _ in range(2):
            await app.tasks["parent"].adelay(0.0)
        with anyio.fail_after(60):
            await until(lambda: len({each.worker for each in heard.deadlocks}) == 2, within=60)
        one.stop(0)
        other.stop(0)
