"""A schedule's occurrences begin at their times, however short its interval and long its runs."""

from __future__ import annotations

import anyio
import pytest

from taskq.occurrences import Timing
from taskq.schedule import Overlap, Schedule, Template
from tests.engine.world import World

RUN = 0.25


@pytest.mark.parametrize(("overlap", "starts"), [("skip", 40), ("allow", 80)])
async def test_every_free_occurrence_fires_at_its_time(
    world: World, overlap: Overlap, starts: int
) -> None:
    """promise:G12: every 0.2 s, each run takes longer, so that every second one is left out"""
    began: list[float] = []

    async def work() -> None:
        began.append(anyio.current_time())
        await anyio.sleep(RUN)

    world.on("work", work)
    schedule = Schedule(
        name="work",
        timing=Timing(every=200),
        template=Template(type="work", queue="default", payload="{}"),
        overlap=overlap,
    )
    await world.memory.declare_schedules([schedule])
    async with world.running(world.engine(concurrency=4)):
        await anyio.sleep(16.1)

    [info] = await world.memory.schedules()
    assert info.fired == len(began) == starts
    assert info.skipped == 80 - starts
