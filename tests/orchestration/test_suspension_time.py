"""Waits and time limits, in virtual time: trio's clock jumps whenever everybody waits."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest
from trio.testing import MockClock

from taskq import ActivityDeadLettered, ErrorInfo, TaskQ
from taskq.model import ErrorKind
from taskq.testing import LoopClock
from tests.orchestration.conftest import permits_are_whole


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def app() -> Iterator[TaskQ]:
    app = TaskQ("memory://", clock=LoopClock(), shutdown_grace=1.0)

    @app.activity
    async def slow(seconds: float) -> float:
        await anyio.sleep(seconds)
        return seconds

    @app.activity(max_retries=0)
    async def parent(before: float, waits: list[float], after: float) -> float:
        await anyio.sleep(before)
        for seconds in waits:
            await (await slow.options(timeout=1000).adelay(seconds))
        await anyio.sleep(after)
        return anyio.current_time()

    yield app
    app.close()


async def ended(
    app: TaskQ, *, timeout: float, includes: bool, waits: list[float]
) -> ErrorInfo | None:
    """How a parent ended that runs for 2 × 2 s around these waits."""
    parent = app.tasks["parent"].options(timeout=timeout, timeout_includes_waits=includes)
    async with app.worker(concurrency=1) as worker:
        try:
            await (await parent.adelay(2.0, waits, 2.0))
        except ActivityDeadLettered as error:
            return error.error
        await permits_are_whole(worker)
    return None


async def test_time_spent_waiting_is_no_running_time(app: TaskQ) -> None:
    """D19"""
    assert await ended(app, timeout=5.0, includes=False, waits=[20.0, 30.0]) is None


async def test_what_runs_before_and_after_a_wait_adds_up(app: TaskQ) -> None:
    """D19"""
    error = await ended(app, timeout=3.0, includes=False, waits=[20.0])

    assert error is not None
    assert error.kind is ErrorKind.TIMEOUT


async def test_the_seeds_rule_counts_waits_too(app: TaskQ) -> None:
    """seed:S12"""
    error = await ended(app, timeout=10.0, includes=True, waits=[20.0])

    assert error is not None
    assert error.kind is ErrorKind.TIMEOUT


async def test_a_lease_outlives_any_wait(app: TaskQ) -> None:
    """The lease of 30 s is renewed for a handler that waits for four minutes."""
    assert await ended(app, timeout=5.0, includes=False, waits=[240.0]) is None
