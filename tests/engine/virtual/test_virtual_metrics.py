"""What is measured of trouble: lost workers, lost leases, a store that is away."""

from __future__ import annotations

from collections import Counter

import anyio
import pytest

from taskq import events
from taskq.errors import BackendUnavailable
from taskq.events import Event
from taskq.metrics import Count, Duration, measures
from taskq.model import Status
from tests.engine.world import World, until


@pytest.fixture
def world(world: World) -> World:
    """With a handler that sleeps for as long as it is told."""

    async def nap(seconds: float = 0.0) -> None:
        await anyio.sleep(seconds)

    world.on("nap", nap)
    return world


def counted(seen: list[Event]) -> Counter[str]:
    """The counters after these events."""
    counts = Counter[str]()
    for event in seen:
        for measure in measures(event):
            if isinstance(measure, Count):
                counts[measure.name] += measure.n
    return counts


def observed(seen: list[Event], name: str) -> list[float]:
    """The durations of one name."""
    found = [measure for event in seen for measure in measures(event)]
    return [each.seconds for each in found if isinstance(each, Duration) and each.name == name]


async def test_an_attempt_whose_worker_was_lost_is_counted_by_the_reaper(world: World) -> None:
    """seed:M4: swept by another worker, dead at the last of its crashes."""
    store = world.view()
    dead = world.engine(store)
    id = await world.submit("nap", '{"seconds": 500}', max_crashes=1)
    async with world.running(dead, grace=0):
        await world.reaches(id, Status.PROCESSING)
        store.go_down()
        async with world.running(world.engine(queues=("other",))):
            assert (await world.ended(id, within=100)).status is Status.DEAD_LETTER
        store.come_back()

    counts = counted(world.events)
    assert counts["activity_crashed"] == counts["activity_dead_lettered"] == 1
    assert counts["reaper_tick"] >= 1
    assert counts["claim_lost"] == 1, "the fence had stopped it before"


async def test_a_lost_lease_and_its_refused_outcome_are_counted(world: World) -> None:
    """seed:M2, M5: one for the attempt that was stopped, one for the outcome that came too late."""
    id = await world.submit("nap", '{"seconds": 500}', timeout=None)
    async with world.running(world.engine(), grace=0):
        await until(lambda: bool(world.seen(events.Started)))
        world.memory._tables.rows[id].claim += 1
        await until(lambda: bool(world.seen(events.OutcomeRefused)), within=60)

    counts = counted(world.events)
    assert counts["claim_lost"] == counts["activity_lost_completion"] == 1


async def test_outcomes_that_have_to_wait_for_the_store_are_counted_and_timed(
    world: World,
) -> None:
    """seed:M5"""
    store = world.view()
    async with world.running(world.engine(store)):
        store.fail("settle", after=False, times=3)
        ids = await world.submit_many("nap", 4, payload='{"seconds": 1}')
        for id in ids:
            await world.ended(id)
        await until(lambda: len(world.seen(events.Completed)) == 4)

    counts = counted(world.events)
    assert counts["completion_error"] == counts["storage_retry"] == 3
    assert counts["completion_pending_started"] == 4
    assert counts["completion_pending_finished"] == 4
    assert min(observed(world.events, "activity_completion_persistence")) > 0.1


@pytest.mark.parametrize(
    ("method", "counter"),
    [
        ("claim", "dequeue_error"),
        ("heartbeat", "heartbeat_failed"),
        ("promote", "scheduler_poll_error"),
        ("expired", "reaper_error"),
    ],
)
async def test_each_loops_trouble_with_the_store_has_a_counter(
    world: World, method: str, counter: str
) -> None:
    """seed:M4, M5"""
    store = world.view()
    async with world.running(world.engine(store)):
        await anyio.sleep(31)
        store.fail(method, after=False, times=2, error=BackendUnavailable("away"))
        await until(lambda: store.pending(method) == 0, within=60)

    counts = counted(world.events)
    assert counts[counter] == counts["backend_error"] == counts["storage_retry"] == 2


async def test_waits_before_and_after_the_claim_are_told_apart(world: World) -> None:
    """seed:M4, M5: claimed ahead after 5 s, started after 3 more."""
    engine = world.engine(concurrency=1, claim_ahead=1)
    ids = await world.submit_many("nap", 2, payload='{"seconds": 3}')
    await anyio.sleep(5)
    async with world.running(engine):
        for id in ids:
            await world.ended(id)

    assert observed(world.events, "activity_queue_latency_seconds") == pytest.approx(
        [5, 8], abs=0.2
    )
    assert observed(world.events, "activity_claim_lag") == pytest.approx([5, 5], abs=0.2)


async def test_a_worker_without_a_free_slot_is_counted_once_for_each_wait(world: World) -> None:
    """seed:M4"""
    ids = await world.submit_many("nap", 3, payload='{"seconds": 30}')
    async with world.running(world.engine(concurrency=1)):
        for id in ids:
            await world.ended(id, within=200)

    assert counted(world.events)["worker_concurrency_saturated"] == 3


async def test_what_nobody_here_can_run_is_counted_and_is_no_snooze(world: World) -> None:
    """seed:M4"""
    await world.submit("unknown")
    async with world.running(world.engine(catch_all=True)):
        await until(lambda: bool(world.seen(events.Unhandled)))

    counts = counted(world.events)
    assert counts["activity_handler_not_found"] >= 1
    assert counts["activity_snoozed"] == counts["activity_started"] == 0


async def test_what_a_stop_puts_back_is_counted_as_interrupted_or_handed_back(
    world: World,
) -> None:
    await world.submit_many("nap", 2, payload='{"seconds": 500}')
    async with world.running(world.engine(concurrency=1, claim_ahead=1), grace=0):
        await until(lambda: bool(world.seen(events.Started)))
        await until(lambda: sum(each.count for each in world.seen(events.Claimed)) == 2)

    counts = counted(world.events)
    assert counts["activity_interrupted"] == counts["activity_handed_back"] == 1
    assert counts["worker_stopped"] == 1
