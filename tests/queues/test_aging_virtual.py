"""Priorities that rise with waiting, under a stream of higher ones (D6), in virtual time."""

from __future__ import annotations

import anyio
import pytest
from trio.testing import MockClock

from taskq.errors import ConfigurationError
from taskq.model import Priority, Status
from taskq.testing import LoopClock
from tests.engine.world import World


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    """Trio with a clock that jumps; a fresh one for each test."""
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def world() -> World:
    """The store and the engines follow the event loop's virtual time."""
    return World(LoopClock())


async def saturated(world: World) -> None:
    """A stream of urgent work that never dries up: each that runs makes the next."""

    async def urgent() -> None:
        await world.submit("urgent", priority=Priority.CRITICAL)
        await anyio.sleep(1)

    async def noop() -> None: ...

    world.on("urgent", urgent)
    world.on("low", noop)
    await world.submit_many("urgent", 5, priority=Priority.CRITICAL)


async def test_low_finishes_under_a_saturated_critical_stream(world: World) -> None:
    await saturated(world)
    low = await world.submit("low", priority=Priority.LOW)
    began = anyio.current_time()
    async with world.running(world.engine(concurrency=2, priority_aging=10.0)):
        await world.ended(low, within=60)
        # Three levels of ten seconds, then the next claim that lets waiting count.
        assert 30 <= anyio.current_time() - began <= 33


async def test_without_aging_it_never_does(world: World) -> None:
    """promise:G15"""
    await saturated(world)
    low = await world.submit("low", priority=Priority.LOW)
    async with world.running(world.engine(concurrency=2)):
        await anyio.sleep(300)
        assert await world.status(low) is Status.PENDING


async def test_a_backlog_that_has_risen_does_not_stop_urgent_work(world: World) -> None:
    """Between the claims in which waiting counts the others go on by priority."""

    async def brief() -> None:
        await anyio.sleep(0.1)

    world.on("low", brief)
    world.on("urgent", brief)
    low = await world.submit_many("low", 100, priority=Priority.LOW)
    await anyio.sleep(1000)
    async with world.running(world.engine(concurrency=1, claim_ahead=0, priority_aging=10.0)):
        await anyio.sleep(0.05)
        urgent = await world.submit("urgent", priority=Priority.CRITICAL)
        await world.ended(urgent, within=2.0)
        assert (await world.statuses(low)).count(Status.PENDING) > 80


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
async def test_an_interval_that_is_none_is_refused(world: World, seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="priority_aging"):
        world.engine(priority_aging=seconds)
