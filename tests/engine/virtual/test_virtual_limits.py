"""expires and deadline, in virtual time: too late to start, stopped while it runs, swept up."""

from __future__ import annotations

from datetime import datetime, timedelta

import anyio
import pytest

from taskq import events
from taskq.clock import Clock
from taskq.context import current
from taskq.engine.keeping.deadlines import BATCH
from taskq.model import ErrorKind, Policy, Status
from taskq.retry import RetryPolicy
from tests.engine.world import World, until

LATER = Policy(retry=RetryPolicy(initial_delay=60.0, jitter=0.0))


class Ahead:
    """The clock of a host whose time is wrong."""

    def __init__(self, clock: Clock, *, by: timedelta) -> None:
        self._clock = clock
        self._by = by

    def now(self) -> datetime:
        return self._clock.now() + self._by

    def monotonic(self) -> float:
        return self._clock.monotonic()


async def test_what_was_not_started_in_time_is_never_run(world: World) -> None:
    """Its end is cancelled, kind expired, and whoever listens is told so. No sweep is needed."""
    ran: list[str] = []

    async def handler() -> None:
        ran.append("late")

    world.on("work", handler)
    id = await world.submit("work", expires_in=5.0)
    await anyio.sleep(6)
    store = world.view()
    store.hang("claim_overdue")
    async with world.running(world.engine(store)):
        info = await world.ended(id)

    assert ran == []
    assert info.status is Status.CANCELLED
    assert info.error is not None
    assert (info.error.kind, info.error.attempts) == (ErrorKind.EXPIRED, 0)
    assert [event.error.kind for event in world.seen(events.Cancelled)] == [ErrorKind.EXPIRED]
    assert world.seen(events.Started) == []
    assert [entry.kind for entry in await world.memory.timeline(id)] == ["enqueued", "cancelled"]


async def test_what_expires_while_it_waits_for_a_slot_is_never_run(world: World) -> None:
    """It was claimed in time; that is no start."""
    ran: list[str] = []

    async def slow() -> None:
        await anyio.sleep(0.05)

    async def quick() -> None:
        ran.append("quick")

    world.on("slow", slow)
    world.on("quick", quick)
    await world.submit("slow", priority=4)
    id = await world.submit("quick", expires_in=0.02)
    async with world.running(world.engine(concurrency=1, claim_ahead=5)):
        info = await world.ended(id)

    assert ran == []
    assert info.error is not None and info.error.kind is ErrorKind.EXPIRED


async def test_what_has_started_in_time_may_run_on_and_be_retried(world: World) -> None:
    runs: list[int] = []

    async def flaky() -> str:
        runs.append(current().attempt)
        await anyio.sleep(20)
        if len(runs) == 1:
            raise ValueError("once")
        return "done"

    world.on("flaky", flaky)
    id = await world.submit("flaky", expires_in=10.0, policy=LATER)
    async with world.running(world.engine()):
        info = await world.ended(id, within=200)

    assert runs == [1, 2]
    assert info.status is Status.COMPLETED


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_running_attempt_is_stopped_at_its_deadline_by_the_stores_clock(
    world: World, hours: int
) -> None:
    """A worker whose own clock is an hour off stops it at the right instant."""
    stopped: list[float] = []

    async def slow() -> None:
        try:
            await anyio.sleep(1000)
        finally:
            stopped.append(anyio.current_time())

    world.on("slow", slow)
    world.clock = Ahead(world.clock, by=timedelta(hours=hours))
    began = anyio.current_time()
    id = await world.submit("slow", deadline_in=7.5, policy=LATER)
    await anyio.sleep(2)
    async with world.running(world.engine()):
        info = await world.ended(id)

    assert [round(at - began, 3) for at in stopped] == [7.5]
    assert info.status is Status.FAILED
    assert info.error is not None
    assert (info.error.kind, info.error.attempts) == (ErrorKind.DEADLINE, 1)
    assert [entry.kind for entry in await world.memory.timeline(id)] == [
        "enqueued",
        "started",
        "failed",
    ]


async def test_of_timeout_and_deadline_the_first_decides(world: World) -> None:
    world.on("slow", anyio.sleep_forever)
    timed_out = await world.submit("slow", timeout=1.0, deadline_in=2.0, max_retries=0)
    overdue = await world.submit("slow", timeout=2.0, deadline_in=1.0, max_retries=0)
    async with world.running(world.engine()):
        ends = [await world.ended(id) for id in (timed_out, overdue)]

    kinds = [info.error.kind for info in ends if info.error is not None]
    assert kinds == [ErrorKind.TIMEOUT, ErrorKind.DEADLINE]
    assert [info.status for info in ends] == [Status.DEAD_LETTER, Status.FAILED]


async def test_a_value_that_comes_although_the_deadline_has_passed_is_kept(world: World) -> None:
    """seed:R11, as for a timeout."""

    async def stubborn() -> str:
        try:
            await anyio.sleep(10)
        except anyio.get_cancelled_exc_class():
            return "all the same"
        return "never"

    world.on("stubborn", stubborn)
    async with world.running(world.engine()):
        info = await world.ended(await world.submit("stubborn", deadline_in=1.0))

    assert (info.status, info.result) == (Status.COMPLETED, '"all the same"')


async def test_a_later_deadline_is_not_forgotten_for_an_earlier_one(world: World) -> None:
    stops: dict[str, float] = {}

    async def slow(name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stops[name] = round(anyio.current_time() - began, 3)

    world.on("slow", slow)
    began = anyio.current_time()
    ids = [
        await world.submit("slow", f'{{"name":"{name}"}}', deadline_in=seconds)
        for name, seconds in (("late", 30.0), ("early", 1.0), ("middle", 9.0))
    ]
    async with world.running(world.engine()):
        for id in ids:
            await world.ended(id, within=60)

    assert stops == {"early": 1.0, "middle": 9.0, "late": 30.0}


async def test_the_end_of_an_attempt_leaves_nothing_to_be_stopped(world: World) -> None:
    async def quick() -> None:
        await anyio.sleep(0.001)

    world.on("quick", quick)
    engine = world.engine()
    ids = [await world.submit("quick", deadline_in=86_400.0) for _ in range(50)]
    async with world.running(engine):
        for id in ids:
            await world.ended(id)
        assert engine._parts is not None
        assert engine._parts.deadlines._running == {}


@pytest.mark.parametrize("limit", ["expires_in", "deadline_in"])
async def test_what_nobody_serves_is_swept_up_within_the_reapers_interval(
    world: World, limit: str
) -> None:
    """Of any queue and type: a worker that has no handler for it ends it all the same."""
    world.on("other", anyio.sleep_forever)
    id = await world.submit("unserved", queue="elsewhere", **{limit: 10.0})
    began = anyio.current_time()
    async with world.running(world.engine(reaper_interval=2.0)):
        info = await world.ended(id, within=60)

    assert 10 <= anyio.current_time() - began < 12.5
    assert info.error is not None
    assert info.error.kind in (ErrorKind.EXPIRED, ErrorKind.DEADLINE)


async def test_a_retry_that_would_come_after_the_deadline_is_swept_up(world: World) -> None:
    async def broken() -> None:
        raise ValueError("no")

    world.on("broken", broken)
    id = await world.submit("broken", deadline_in=10.0, policy=LATER)
    async with world.running(world.engine(reaper_interval=1.0)):
        info = await world.ended(id, within=20)

    assert info.error is not None
    assert (info.error.kind, info.error.attempts) == (ErrorKind.DEADLINE, 1)
    kinds = [entry.kind for entry in await world.memory.timeline(id)]
    assert kinds == ["enqueued", "failed", "failed"]


async def test_what_is_swept_up_has_its_hook_run(world: World) -> None:
    hooked: list[str] = []

    async def hook(dead: dict[str, object]) -> None:
        hooked.append(str(dead["type"]))

    world.on("work:on_failure", hook)
    policy = Policy(hooks=("on_failure",))
    await world.submit("work", queue="elsewhere", deadline_in=1.0, policy=policy)
    async with world.running(world.engine(queues=("default", "elsewhere"), reaper_interval=1.0)):
        await until(lambda: hooked == ["work"], within=20)


async def test_more_than_a_batch_is_swept_up_at_one_look(world: World) -> None:
    world.on("other", anyio.sleep_forever)
    ids = await world.submit_many("unserved", 2 * BATCH + 1, queue="elsewhere", expires_in=1.0)
    await anyio.sleep(2)
    store = world.view()
    async with world.running(world.engine(store, reaper_interval=30.0)):
        for id in ids:
            await world.ended(id)

        assert store.calls["claim_overdue"] == 3
    assert set(await world.statuses(ids)) == {Status.CANCELLED}


async def test_a_sweep_whose_reply_is_lost_is_made_again(world: World) -> None:
    """fault:E5: what the store thinks that this worker holds is given back."""
    world.on("other", anyio.sleep_forever)
    store = world.view()
    id = await world.submit("unserved", queue="elsewhere", expires_in=1.0)
    await anyio.sleep(2)
    store.fail("claim_overdue", after=True)
    async with world.running(world.engine(store, reaper_interval=1.0, poll_max=1.0)):
        info = await world.ended(id, within=29)

    assert info.error is not None and info.error.kind is ErrorKind.EXPIRED


async def test_two_workers_that_sweep_end_each_one_once(world: World) -> None:
    world.on("other", anyio.sleep_forever)
    ids = await world.submit_many("unserved", 50, queue="elsewhere", deadline_in=5.0)
    async with world.running(*(world.engine(reaper_interval=1.0) for _ in range(2))):
        for id in ids:
            await world.ended(id, within=20)

    assert len(world.seen(events.Failed)) == 50
    assert world.seen(events.OutcomeRefused) == []
