"""The shutdown, to the second (design 7.11, promise:G14, seed:Z1 to Z6)."""

from __future__ import annotations

import anyio
import pytest

from taskq import events
from taskq.backends import ClaimRequest
from taskq.engine import Engine
from taskq.lifecycle import Note
from taskq.model import Status
from tests.engine.world import View, World, until

MARGIN = 3.0


async def run_for(engine: Engine, seconds: float, grace: float | None = None) -> float:
    """Run it, stop it after a while; how many seconds it took from then on."""
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(seconds)
        engine.stop(grace)
        began = anyio.current_time()
    return anyio.current_time() - began


async def sleeper(seconds: float) -> str:
    """Runs that long."""
    await anyio.sleep(seconds)
    return "done"


@pytest.fixture
def world(world: World) -> World:
    """With a handler that takes as long as it is told."""
    world.on("sleeper", sleeper)
    return world


async def submit(world: World, seconds: float, **fields: object) -> object:
    """An activity that runs that long."""
    return await world.submit("sleeper", f'{{"seconds":{seconds}}}', **fields)


async def test_what_ends_within_the_grace_completes_the_rest_goes_back_unburnt(
    world: World,
) -> None:
    """issue point 4."""
    short = await submit(world, 3)
    long = await submit(world, 1000, timeout=None)
    before = (await world.info(long)).ready_at
    took = await run_for(world.engine(), 1, grace=5)

    assert took == pytest.approx(5, abs=0.1)
    assert (await world.info(short)).status is Status.COMPLETED
    info = await world.info(long)
    assert (info.status, info.retry_count, info.crash_count) == (Status.PENDING, 0, 0)
    assert info.ready_at == before
    kinds = [entry.kind for entry in await world.memory.timeline(long)]
    assert Note.INTERRUPTED in kinds
    assert len(world.seen(events.Interrupted)) == 1


async def test_it_returns_as_soon_as_the_last_handler_has_ended(world: World) -> None:
    await submit(world, 3)
    assert await run_for(world.engine(), 1, grace=100) == pytest.approx(2, abs=0.1)


async def test_an_idle_worker_stops_at_once(world: World) -> None:
    assert await run_for(world.engine(), 10) < 0.1
    looks = (events.Claimed, events.Promoted)
    kinds = [type(event) for event in world.events if not isinstance(event, looks)]
    assert kinds == [events.WorkerStarted, events.WorkerStopping, events.WorkerStopped]


async def test_nothing_is_claimed_after_a_stop(world: World) -> None:
    """fault:D3."""
    requests: list[float] = []
    claim = world.memory.claim

    async def spying(request: ClaimRequest) -> object:
        requests.append(anyio.current_time())
        return await claim(request)

    world.memory.claim = spying  # type: ignore[method-assign, assignment]
    for _ in range(500):
        await submit(world, 0.05)
    engine = world.engine(concurrency=4)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        engine.stop()
        stopped = anyio.current_time()
    assert requests and max(requests) <= stopped
    assert await world.count(Status.PROCESSING) == 0


async def test_what_was_claimed_and_not_started_goes_to_others_at_once(world: World) -> None:
    """fault:D5: before the grace, at its old place."""
    for _ in range(4):
        await submit(world, 60)
    engine = world.engine(concurrency=2, claim_ahead=2)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        assert await world.count(Status.PROCESSING) == 4
        engine.stop(30)
        await anyio.sleep(0.1)
        assert await world.count(Status.PROCESSING) == 2
        assert await world.count(Status.PENDING) == 2


async def test_a_claim_on_its_way_is_finished_and_handed_back(world: World) -> None:
    """seed:W19, seed:W20, fault:D1."""
    claim = world.memory.claim
    entered = anyio.Event()

    async def slow(request: ClaimRequest) -> object:
        attempts = await claim(request)
        if attempts:
            entered.set()
            await anyio.sleep(1)
        return attempts

    world.memory.claim = slow  # type: ignore[method-assign, assignment]
    id = await submit(world, 5)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await entered.wait()
        engine.stop()

    info = await world.info(id)  # type: ignore[arg-type]
    assert (info.status, info.retry_count, info.crash_count) == (Status.PENDING, 0, 0)
    assert world.seen(events.Started) == []
    assert len(world.seen(events.HandedBack)) == 1


async def test_what_a_claim_brings_after_a_stop_does_not_wait_for_the_grace(world: World) -> None:
    """fault:D5."""
    claim = world.memory.claim
    entered = anyio.Event()

    async def slow(request: ClaimRequest) -> object:
        attempts = await claim(request)
        if attempts and await world.count(Status.PROCESSING) == 2:
            entered.set()
            await anyio.sleep(1)
        return attempts

    world.memory.claim = slow  # type: ignore[method-assign, assignment]
    await submit(world, 1000)
    engine = world.engine(concurrency=1, claim_ahead=1)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        second = await submit(world, 1000)
        await entered.wait()
        engine.stop(30)
        await anyio.sleep(1.1)
        assert await world.status(second) is Status.PENDING  # type: ignore[arg-type]


async def test_leases_are_renewed_throughout_the_grace(world: World) -> None:
    """fault:D4, seed:Z3."""
    id = await submit(world, 200)
    other = world.engine(queues=("other",))
    async with world.running(other):
        took = await run_for(world.engine(), 1, grace=300)
    info = await world.info(id)  # type: ignore[arg-type]
    assert (info.status, info.claim, info.crash_count) == (Status.COMPLETED, 1, 0)
    assert took == pytest.approx(199, abs=0.2)


async def test_a_second_stop_shortens_the_grace(world: World) -> None:
    await submit(world, 1000)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        engine.stop(100)
        engine.stop(100)
        await anyio.sleep(10)
        engine.stop(0)
        began = anyio.current_time()
    assert anyio.current_time() - began < 0.1
    assert len(world.seen(events.WorkerStopping)) == 1


async def test_a_second_stop_shortens_the_writing_of_outcomes_too(world: World) -> None:
    store = world.view()
    await submit(world, 2)
    engine = world.engine(store)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.go_down()
        engine.stop(100)
        await anyio.sleep(20)
        engine.stop(0)
        began = anyio.current_time()
    assert anyio.current_time() - began <= MARGIN + 0.1


async def test_a_second_stop_never_lengthens_it(world: World) -> None:
    await submit(world, 1000)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        engine.stop(5)
        began = anyio.current_time()
        await anyio.sleep(1)
        engine.stop(100)
    assert anyio.current_time() - began == pytest.approx(5, abs=0.1)


async def test_a_cancel_that_comes_in_the_grace_reaches_the_handler(world: World) -> None:
    id = await submit(world, 1000)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        engine.stop(100)
        await anyio.sleep(1)
        await world.memory.cancel([id])  # type: ignore[list-item]
        began = anyio.current_time()
    assert anyio.current_time() - began < 0.5
    assert await world.status(id) is Status.CANCELLED  # type: ignore[arg-type]


async def test_a_handler_that_finishes_while_it_is_being_stopped_keeps_its_result(
    world: World,
) -> None:
    """seed:Z5."""

    async def stubborn() -> str:
        try:
            await anyio.sleep(1000)
        except anyio.get_cancelled_exc_class():
            return "finished first"
        return "never"

    world.on("stubborn", stubborn)
    id = await world.submit("stubborn")
    await run_for(world.engine(), 1, grace=0)
    info = await world.info(id)
    assert (info.status, info.result) == (Status.COMPLETED, '"finished first"')


async def test_a_failure_caused_by_the_stop_is_no_failure(world: World) -> None:
    """fault:D6."""

    async def wrapping() -> None:
        try:
            await anyio.sleep(1000)
        except BaseException as error:
            raise ConnectionError("the client was interrupted") from error

    world.on("wrapping", wrapping)
    id = await world.submit("wrapping")
    await run_for(world.engine(), 1, grace=0)
    info = await world.info(id)
    assert (info.status, info.retry_count, info.error) == (Status.PENDING, 0, None)


@pytest.mark.parametrize("grace", [0.0, 7.0])
async def test_it_ends_in_time_though_the_store_is_gone(world: World, grace: float) -> None:
    """fault:D2: with a store that fails, and with handlers running."""
    store = world.view()
    await submit(world, 1000)
    await submit(world, 2)
    engine = world.engine(store)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.go_down()
        engine.stop(grace)
        began = anyio.current_time()
    assert anyio.current_time() - began <= grace + MARGIN + 0.1
    assert engine.health().state == "stopped"


EVERY_CALL = ("claim", "settle", "hand_back", "held", "heartbeat", "promote", "expired", "retire")


@pytest.mark.parametrize("method", EVERY_CALL)
@pytest.mark.parametrize("grace", [0.0, 7.0])
async def test_it_ends_in_time_though_a_call_never_answers(
    world: World, method: str, grace: float
) -> None:
    """fault:DB8, fault:D2: a half-open connection must not hold the worker."""
    store = world.view()
    for _ in range(6):
        await submit(world, 1000)
    await submit(world, 2)
    engine = world.engine(store, concurrency=4, claim_ahead=2)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.hang(method)
        await world.submit("sleeper", '{"seconds":1}')
        await anyio.sleep(3)
        engine.stop(grace)
        began = anyio.current_time()
    assert anyio.current_time() - began <= grace + MARGIN + 0.1


async def test_it_ends_in_time_though_no_call_ever_answers(world: World) -> None:
    store = world.view()
    await submit(world, 1000)
    engine = world.engine(store)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.hang(*EVERY_CALL, "watch", "cancel_requests")
        await anyio.sleep(20)
        engine.stop(5)
        began = anyio.current_time()
    assert anyio.current_time() - began <= 5 + MARGIN + 0.1


async def test_it_ends_in_time_though_it_never_reached_the_store(world: World) -> None:
    store = world.view()
    store.go_down()
    engine = world.engine(store)
    assert await run_for(engine, 100, grace=2) <= 2 + MARGIN + 0.1
    assert world.seen(events.WorkerStarted) == []
    assert not any(isinstance(event, events.Started) for event in world.events)


async def test_outcomes_are_written_though_the_store_comes_back_only_in_the_last_moment(
    world: World,
) -> None:
    store = world.view()
    id = await submit(world, 2)
    engine = world.engine(store)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.go_down()
        engine.stop(5)
        await anyio.sleep(2.5)
        store.come_back()
    assert await world.status(id) is Status.COMPLETED  # type: ignore[arg-type]


async def test_a_claim_whose_reply_was_lost_is_given_back_at_the_stop(world: World) -> None:
    store = world.view()
    engine = world.engine(store)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.fail("claim", after=True)
        id = await submit(world, 5)
        await until(lambda: store.pending("claim") == 0)
        engine.stop()
    info = await world.info(id)  # type: ignore[arg-type]
    assert (info.status, info.crash_count) == (Status.PENDING, 0)


async def test_what_the_store_does_not_take_back_at_first_is_tried_again(world: World) -> None:
    """promise:G14: found by a fault run, where one connection that was cut burnt crashes."""
    store = world.view()
    engine = world.engine(store)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.fail("claim", after=True)
        id = await submit(world, 5)
        await until(lambda: store.pending("claim") == 0)
        store.fail("held", after=False, times=3)
        engine.stop()
    info = await world.info(id)  # type: ignore[arg-type]
    assert (info.status, info.crash_count) == (Status.PENDING, 0)


async def test_a_handler_that_cannot_be_stopped_holds_the_worker_and_nothing_else(
    world: World,
) -> None:
    """fault:C4: its activity is back in the queue long before it ends."""

    async def deaf() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(60)

    world.on("deaf", deaf)
    id = await world.submit("deaf", timeout=None)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        engine.stop(2)
        await anyio.sleep(2 + MARGIN + 0.1)
        info = await world.info(id)
        assert (info.status, info.retry_count, info.crash_count) == (Status.PENDING, 0, 0)
        assert await world.memory.workers() == []
        assert len(world.seen(events.WorkerStopped)) == 1
        assert len(world.seen(events.Interrupted)) == 1
        (report,) = engine.errors.kept()
        assert "does not stop" in str(report.error)
    assert await world.status(id) is Status.PENDING
    assert world.seen(events.Completed) == [], "what it returns in the end is nobody's outcome"


async def test_cancelling_run_is_a_stop_without_grace(world: World) -> None:
    """Embedded: the host cancels; nothing stays claimed. seed:W26"""
    ids = [await submit(world, 1000) for _ in range(30)]
    engine = world.engine(concurrency=10, claim_ahead=10)
    began = 0.0
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        group.cancel_scope.cancel()
        began = anyio.current_time()
    assert anyio.current_time() - began < 0.1
    assert set(await world.statuses(ids)) == {Status.PENDING}  # type: ignore[arg-type]
    assert {info.crash_count for info in await world.everything()} == {0}
    assert await world.memory.workers() == []


async def test_cancelling_run_is_bounded_though_the_store_hangs(world: World) -> None:
    store = world.view()
    await submit(world, 1000)
    engine = world.engine(store)
    began = 0.0
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await anyio.sleep(1)
        store.hang(*EVERY_CALL)
        group.cancel_scope.cancel()
        began = anyio.current_time()
    assert anyio.current_time() - began <= MARGIN + 0.1


async def test_cancelling_at_any_moment_leaves_nothing_claimed(world: World) -> None:
    """fault:J3, seed:W27."""
    for number in range(60):
        for _ in range(5):
            await world.submit("sleeper", '{"seconds":0.02}')
        engine = world.engine(View(world.memory), concurrency=3)
        with anyio.move_on_after(0.0007 * number):
            await engine.run()
        assert await world.count(Status.PROCESSING) == 0
    assert {info.crash_count for info in await world.everything()} == {0}
    assert await world.memory.workers() == []
