"""What a worker says while its store cannot be opened, and that its log ends either way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from taskq import TaskQ, events
from taskq.errors import BackendUnavailable, InvalidState
from tests.engine.world import World, until


def app(url: str, **options: object) -> TaskQ:
    """An app with one activity."""
    taskq = TaskQ(url, **options)  # type: ignore[arg-type]

    @taskq.activity
    async def noop() -> None: ...

    return taskq


async def test_while_the_store_cannot_be_opened_the_worker_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[events.Event] = []

    class Listening:
        def on_event(self, event: events.Event) -> None:
            seen.append(event)

    async def unavailable() -> None:
        raise BackendUnavailable("no such folder")

    taskq = app(f"sqlite:///{tmp_path}/e.db", listeners=[Listening()])
    monkeypatch.setattr(taskq.client.store, "open", unavailable)
    read: list[str] = []
    async with taskq.worker() as worker:
        await until(lambda: worker.errors.total >= 2)
        health = worker.health()
        assert not health.healthy
        assert "the store cannot be opened: no such folder" in health.reasons
        worker.stop()
        with anyio.fail_after(5):
            async for error in worker.errors:
                read.append(error.loop)
    assert len(read) >= 2 and set(read) == {"open"}
    assert any(isinstance(event, events.BackgroundError) for event in seen)
    assert worker.health().reasons == ("the worker is stopped",)
    await taskq.aclose()


async def test_when_the_lifespan_fails_readers_of_the_errors_end(tmp_path: Path) -> None:
    @asynccontextmanager
    async def lifespan(_: TaskQ) -> AsyncIterator[None]:
        raise RuntimeError("no lifespan")
        yield

    taskq = app(f"sqlite:///{tmp_path}/e.db", lifespan=lifespan)
    worker = taskq.worker()
    with pytest.raises(RuntimeError, match="no lifespan"):
        async with worker:
            await anyio.sleep_forever()
    with anyio.fail_after(5):
        assert [error async for error in worker.errors] == []
    await taskq.aclose()


async def test_the_obstacle_is_no_reason_any_more_once_it_runs(world: World) -> None:
    async def noop() -> None: ...

    world.on("noop", noop)
    engine = world.engine()
    engine.cannot_open(BackendUnavailable("no such folder"))
    assert engine.health().reasons == (
        "the worker is new",
        "the store cannot be opened: no such folder",
    )
    async with world.running(engine):
        await until(lambda: engine.health().healthy)
    assert [error.loop for error in engine.errors.kept()] == ["open"]


async def test_an_engine_that_was_closed_does_not_run(world: World) -> None:
    async def noop() -> None: ...

    world.on("noop", noop)
    engine = world.engine()
    engine.close()
    engine.close()
    with pytest.raises(InvalidState, match="stopped"):
        await engine.run()
