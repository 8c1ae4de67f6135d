"""Progress: how often it is written, and that nothing of it is lost or comes too late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from taskq import events
from taskq.backends import ProgressReport
from taskq.context import current
from taskq.errors import BackendError
from taskq.model import Status
from taskq.progress import Progress
from tests.engine.world import View, World, until


class Noting(View):
    """Keeps the reports of each call, and when the first settle came."""

    def __init__(self, world: World) -> None:
        super().__init__(world.memory)
        self.reports: list[list[Progress]] = []
        self.settled_after: int | None = None

    async def report_progress(self, worker: Any, reports: Sequence[ProgressReport]) -> None:
        self.reports.append([each.progress for each in reports])
        await super().report_progress(worker, reports)

    async def settle(self, transitions: Any) -> Any:
        if self.settled_after is None:
            self.settled_after = len(self.reports)
        return await super().settle(transitions)


def dones(store: Noting) -> list[float]:
    return [each.done for call in store.reports for each in call]


async def test_the_first_is_written_at_once_and_then_one_a_second(world: World) -> None:
    async def count() -> None:
        for place in range(300):
            current().progress(place, 300)
            await anyio.sleep(0.01)

    world.on("count", count)
    store = Noting(world)
    async with world.running(world.engine(store)):
        id = await world.submit("count")
        info = await world.ended(id, within=60)
    assert info.progress is not None
    assert (info.progress.done, info.progress.total) == (299, 300)
    assert dones(store)[0] == 0
    assert 3 <= len(store.reports) <= 5


async def test_all_that_is_new_is_written_together(world: World) -> None:
    async def count() -> None:
        for place in range(3):
            current().progress(place)
            await anyio.sleep(1)

    world.on("count", count)
    store = Noting(world)
    async with world.running(world.engine(store, concurrency=20)):
        ids = await world.submit_many("count", 20)
        for id in ids:
            info = await world.ended(id, within=60)
            assert info.progress is not None and info.progress.done == 2
    assert max(map(len, store.reports)) >= 19
    assert len(store.reports) <= 8


@pytest.mark.parametrize("end", ["returns", "fails", "snoozes"])
async def test_the_last_word_is_written_before_the_outcome(world: World, end: str) -> None:
    from taskq.errors import NonRetryError, Snooze

    async def work() -> None:
        current().progress(1)
        current().progress(2, note="the last word")
        if end == "fails":
            raise NonRetryError("no")
        if end == "snoozes" and current().claim == 1:
            raise Snooze(5)

    world.on("work", work)
    store = Noting(world)
    async with world.running(world.engine(store)):
        id = await world.submit("work")
        await until(lambda: store.settled_after is not None)
        progress = (await world.info(id)).progress
        assert progress is not None and progress.note == "the last word"
        assert store.settled_after == 1
        await world.ended(id, within=60)


async def test_what_says_nothing_costs_nothing(world: World) -> None:
    async def quiet() -> None: ...

    world.on("quiet", quiet)
    store = Noting(world)
    async with world.running(world.engine(store)):
        await world.ended(await world.submit("quiet"))
    assert store.reports == []


async def test_a_write_on_its_way_is_waited_for_before_the_outcome(world: World) -> None:
    """Else it would come after the end, where its claim no longer holds."""
    release = anyio.Event()
    entered = anyio.Event()

    class Slow(Noting):
        async def report_progress(self, worker: Any, reports: Sequence[ProgressReport]) -> None:
            entered.set()
            await release.wait()
            await super().report_progress(worker, reports)

    async def work() -> None:
        current().progress(7)
        await entered.wait()

    world.on("work", work)
    async with world.running(world.engine(Slow(world))):
        id = await world.submit("work")
        await entered.wait()
        await anyio.sleep(2)
        assert await world.status(id) is Status.PROCESSING
        release.set()
        info = await world.ended(id)
    assert info.progress is not None and info.progress.done == 7


async def test_an_outage_loses_no_outcome_and_not_the_last_word(world: World) -> None:
    async def work() -> None:
        current().progress(1)
        await anyio.sleep(3)
        current().progress(2)

    world.on("work", work)
    store = Noting(world)
    async with world.running(world.engine(store)):
        store.fail("report_progress", after=False, times=4)
        id = await world.submit("work")
        info = await world.ended(id, within=60)
    assert info.status is Status.COMPLETED
    assert info.progress is not None and info.progress.done == 2
    assert store.pending("report_progress") == 0


async def test_what_the_store_refuses_keeps_no_outcome_from_it(world: World) -> None:
    async def work() -> None:
        current().progress(1)

    world.on("work", work)
    store = Noting(world)
    store.fail("report_progress", after=False, times=5, error=BackendError("not this one"))
    async with world.running(world.engine(store)):
        info = await world.ended(await world.submit("work"))
    assert (info.status, info.progress) == (Status.COMPLETED, None)
    assert [each.loop for each in world.seen(events.BackgroundError)] == ["reporter"]


async def test_nonsense_is_the_handlers_own_failure(world: World) -> None:
    said: list[Callable[..., None]] = []

    async def work() -> None:
        said.append(current().progress)
        current().progress(-1)

    world.on("work", work)
    async with world.running(world.engine()):
        info = await world.ended(await world.submit("work", max_retries=0))
    assert info.error is not None and "done must be" in info.error.message
