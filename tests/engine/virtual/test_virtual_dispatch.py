"""Claiming: when, how much, ahead, alone."""

from __future__ import annotations

from itertools import count, pairwise

import anyio
import anyio.lowlevel
import pytest

from taskq import events
from taskq.backends import ClaimRequest
from taskq.engine.claiming.dispatcher import MOST
from taskq.model import Priority, Status
from tests.engine.world import World, until


class Claims:
    """What was asked of the store, and what it gave."""

    def __init__(self, world: World) -> None:
        self.requests: list[tuple[float, ClaimRequest, int]] = []
        claim = world.memory.claim

        async def spying(request: ClaimRequest) -> object:
            attempts = await claim(request)
            self.requests.append((anyio.current_time(), request, len(attempts)))
            return attempts

        world.memory.claim = spying  # type: ignore[method-assign, assignment]

    @property
    def plain(self) -> list[tuple[float, ClaimRequest, int]]:
        """Those that did not ask for isolated activities."""
        return [entry for entry in self.requests if not entry[1].alone]


async def noop() -> None:
    """Ends at once."""


async def second() -> None:
    """Takes a second."""
    await anyio.sleep(1)


async def test_one_slot_claims_again_the_moment_it_is_free(world: World) -> None:
    """bug:B133, seed:W15."""
    world.on("noop", noop)
    ids = await world.submit_many("noop", 100)
    began = anyio.current_time()
    async with world.running(
        world.engine(concurrency=1, claim_ahead=0, poll_interval=5.0, poll_max=5.0)
    ):
        for id in ids:
            await world.ended(id)
        assert anyio.current_time() - began < 2


async def test_arguments_that_do_not_fit_say_nothing_about_how_long_their_type_runs(
    world: World,
) -> None:
    """fault:D9: what never began is not measured, and the worker goes on claiming."""
    world.on("noop", noop)
    async with world.running(world.engine()):
        for _ in range(3):
            await world.ended(await world.submit("noop", "[1, 2]"))
            await world.ended(await world.submit("noop"))


async def test_never_more_than_its_slots_run_at_once(world: World) -> None:
    """promise:G11, seed:E3, seed:W1."""
    running: list[int] = []
    most: list[int] = []

    async def work() -> None:
        running.append(1)
        most.append(len(running))
        await anyio.sleep(0.5)
        running.pop()

    world.on("work", work)
    await world.submit_many("work", 50)
    await world.engine(burst=True, concurrency=4).run()
    assert max(most) == 4


async def test_higher_priority_is_run_first(world: World) -> None:
    """seed:P1, promise:G15."""
    order: list[str] = []

    async def note(name: str) -> None:
        order.append(name)
        await anyio.sleep(0.2)

    world.on("note", note)
    for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL):
        await world.submit("note", f'{{"name":"{priority.name}"}}', priority=priority)
    await world.engine(burst=True, concurrency=1).run()
    assert order == ["CRITICAL", "HIGH", "NORMAL", "LOW"]


async def test_an_idle_worker_polls_less_and_less_often(world: World) -> None:
    """seed:W3"""

    world.on("noop", noop)
    claims = Claims(world)
    async with world.running(world.engine(poll_interval=1.0, poll_max=5.0)):
        await anyio.sleep(100)
    times = [time for time, _, _ in claims.plain]
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert 0.5 <= gaps[0] <= 1.0
    assert all(2.5 <= gap <= 5.01 for gap in gaps[4:])


async def test_a_worker_without_a_free_slot_does_not_ask(world: World) -> None:
    """seed:W28."""
    world.on("second", second)
    await world.submit_many("second", 30)
    claims = Claims(world)
    async with world.running(world.engine(concurrency=3, claim_ahead=0)):
        await anyio.sleep(0.9)
        assert len(claims.plain) == 1


async def test_nothing_is_claimed_ahead_before_a_run_time_was_measured(world: World) -> None:
    world.on("noop", noop)
    await world.submit_many("noop", 100)
    claims = Claims(world)
    async with world.running(world.engine(concurrency=5)):
        await until(lambda: len(claims.plain) > 3)
    assert claims.plain[0][1].limit == 5
    assert max(request.limit for _, request, _ in claims.plain) == MOST


async def test_slow_work_is_claimed_ahead_only_when_a_slot_is_about_to_be_free(
    world: World,
) -> None:
    """design 7.9."""
    world.on("second", second)
    await world.submit_many("second", 40)
    seen: set[int] = set()
    async with world.running(world.engine(concurrency=5)):
        await until(lambda: len(world.seen(events.Started)) == 5)
        for _ in range(70):
            await anyio.sleep(0.1)
            seen.add(await world.count(Status.PROCESSING))
    assert {5, 10} >= seen - {0} and 5 in seen
    assert world.seen(events.HandedBack) == []


async def test_what_was_claimed_ahead_and_waits_is_handed_back_at_its_old_place(
    world: World,
) -> None:
    """design 7.9: a worker that gets slow does not hoard."""
    pause = 0.001

    async def varying() -> None:
        await anyio.sleep(pause)

    world.on("varying", varying)
    await world.submit_many("varying", 40)
    engine = world.engine(concurrency=2)
    async with world.running(engine):
        await until(lambda: len(world.seen(events.Completed)) == 40)
        pause = 60
        ids = await world.submit_many("varying", 50)
        before = [(await world.info(id)).ready_at for id in ids]
        await until(lambda: bool(world.seen(events.HandedBack)))
        assert await world.count(Status.PROCESSING) == 2
        await anyio.sleep(30)
        assert await world.count(Status.PROCESSING) == 2, "nothing is claimed ahead any more"
        assert [(await world.info(id)).ready_at for id in ids] == before
        assert {(await world.info(id)).crash_count for id in ids} == {0}


async def test_a_fixed_claim_ahead_is_kept_waiting(world: World) -> None:
    world.on("second", second)
    await world.submit_many("second", 100)
    async with world.running(world.engine(concurrency=20, claim_ahead=20)):
        await anyio.sleep(0.5)
        assert await world.count(Status.PROCESSING) == 40
    assert len(world.seen(events.HandedBack)) == 20


async def test_an_error_of_the_store_is_reported_and_claiming_goes_on(world: World) -> None:
    """seed:W29, bug:B54, seed:W4."""
    world.on("noop", noop)
    store = world.view()
    engine = world.engine(store)
    async with world.running(engine):
        for method in ("claim", "promote", "expired", "heartbeat", "settle"):
            store.fail(method, after=False, times=3)
        id = await world.submit("noop")
        await world.ended(id, within=60)
        await anyio.sleep(60)
        assert engine.health().healthy
    loops = {event.loop for event in world.seen(events.BackgroundError)}
    assert {"dispatcher", "promoter", "keeper", "ledger"} <= loops
    assert [error.loop for error in engine.errors.kept()] == [
        event.loop for event in world.seen(events.BackgroundError)
    ]


async def test_a_claim_whose_reply_was_lost_runs_again_within_one_heartbeat(world: World) -> None:
    """issue point 7, fault:DB6."""
    ran: list[float] = []

    async def count() -> None:
        ran.append(anyio.current_time())

    world.on("count", count)
    store = world.view()
    async with world.running(world.engine(store)):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        await anyio.sleep(1)
        store.fail("claim", after=True)
        lost = anyio.current_time()
        id = await world.submit("count")
        info = await world.ended(id, within=10)
        await anyio.sleep(20)
        assert store.calls["held"] == 1, "asked once, and not again"

    assert (info.claim, info.crash_count, info.retry_count) == (2, 0, 0)
    assert len(ran) == 1 and ran[0] - lost < 10


async def test_a_claim_that_hangs_is_given_up_and_its_rows_are_found(world: World) -> None:
    """seed:W2"""

    world.on("noop", noop)
    claim = world.memory.claim

    async def hanging(request: ClaimRequest) -> object:
        attempts = await claim(request)
        if attempts:
            world.memory.claim = claim  # type: ignore[method-assign]
            await anyio.sleep_forever()
        return attempts

    world.memory.claim = hanging  # type: ignore[method-assign, assignment]
    id = await world.submit("noop")
    async with world.running(world.engine()):
        info = await world.ended(id, within=60)
    assert (info.claim, info.crash_count) == (2, 0)


@pytest.mark.parametrize("after", [False, True])
async def test_a_hand_back_whose_reply_was_lost_is_made_good(world: World, after: bool) -> None:
    """issue point 7."""
    pause = 0.001

    async def varying() -> None:
        await anyio.sleep(pause)

    world.on("varying", varying)
    await world.submit_many("varying", 40)
    store = world.view()
    engine = world.engine(store, concurrency=2)
    async with world.running(engine):
        await until(lambda: len(world.seen(events.Completed)) == 40)
        pause = 20
        store.fail("hand_back", after=after)
        ids = await world.submit_many("varying", 20)

        async def only_two() -> bool:
            return await world.count(Status.PROCESSING) == 2

        await until(only_two, within=25)
        pause = 0.001
        for id in ids:
            info = await world.ended(id, within=100)
            assert (info.status, info.crash_count) == (Status.COMPLETED, 0)


async def test_a_lost_hand_back_is_made_good_though_every_slot_is_taken(world: World) -> None:
    """design 7.9, hand-backs consume nothing: what nobody renews is no crash, whoever reaps it."""
    pause = 0.001

    async def varying() -> None:
        await anyio.sleep(pause)

    world.on("varying", varying)
    await world.submit_many("varying", 40)
    store = world.view()
    async with world.running(
        world.engine(store, concurrency=2), world.engine(queues=("other",)), grace=0
    ):
        await until(lambda: len(world.seen(events.Completed)) == 40)
        pause = 300
        store.fail("hand_back", after=False)
        ids = await world.submit_many("varying", 20, timeout=None)

        async def only_two() -> bool:
            return await world.count(Status.PROCESSING) == 2

        await until(lambda: store.pending("hand_back") == 0, within=5)
        await until(only_two, within=10)
        await anyio.sleep(100)
        assert {(await world.info(id)).crash_count for id in ids} == {0}
    assert world.seen(events.WorkerLost) == []


async def test_a_doubt_that_comes_while_every_slot_is_taken_is_cleared_up(world: World) -> None:
    """A slot's own hand-back may lose its reply, and no room comes for a long time."""
    world.on("long", anyio.sleep_forever)
    await world.submit_many("long", 2, timeout=None)
    store = world.view()
    engine = world.engine(store, concurrency=2)
    async with world.running(engine, grace=0):
        await until(lambda: len(world.seen(events.Started)) == 2)
        await anyio.sleep(10)
        parts = engine._parts
        assert parts is not None
        (lost,) = await world.submit_many("long", 1)
        request = ClaimRequest(
            worker=engine.id, queues=("default",), types=None, limit=1, lease=30.0
        )
        await world.memory.claim(request)
        parts.dispatcher._returns.in_doubt = True
        await world.reaches(lost, Status.PENDING, within=6)


async def test_an_unknown_type_under_a_catch_all_is_put_back_for_five_seconds(
    world: World,
) -> None:
    """seed:W21, design 7.3, seed:R15."""
    world.on("known", noop)
    unknown = await world.submit("unknown")
    claims = Claims(world)
    async with world.running(world.engine(catch_all=True)):
        await anyio.sleep(60)
        known = await world.ended(await world.submit("known"))
    info = await world.info(unknown)

    assert known.status is Status.COMPLETED
    assert info.status in (Status.SCHEDULED, Status.PENDING)
    assert (info.retry_count, info.crash_count) == (0, 0)
    assert 10 <= info.claim <= 13, "about once in five seconds"
    kinds = {entry.kind for entry in await world.memory.timeline(unknown)}
    assert kinds <= {"enqueued", "started"}, "putting it back leaves no row each time"
    assert claims.plain[0][1].types is None
    workers = [event.worker for event in world.seen(events.WorkerStarted)]
    assert len(workers) == 1


async def test_an_isolated_activity_runs_with_nothing_beside_it(world: World) -> None:
    """design 7.5, promise:G8."""
    running: set[str] = set()
    beside: dict[str, set[str]] = {}

    async def work(name: str) -> None:
        running.add(name)
        await anyio.sleep(0.5)
        beside[name] = running - {name}
        running.discard(name)

    world.on("work", work)
    for number in range(30):
        await world.submit("work", f'{{"name":"plain {number}"}}')
        if number % 10 == 0:
            await world.submit("work", f'{{"name":"alone {number}"}}', max_crashes=1)
    await world.engine(burst=True, concurrency=5).run()

    assert len(beside) == 33
    assert all(not others for name, others in beside.items() if name.startswith("alone"))
    assert any(others for name, others in beside.items() if name.startswith("plain"))


async def test_under_constant_load_isolated_activities_get_their_turn(world: World) -> None:
    running: list[int] = []
    alone: list[int] = []
    lengths = count()

    async def busy() -> None:
        running.append(1)
        await anyio.sleep(0.5 + next(lengths) % 7 / 10)
        running.pop()

    async def killer() -> None:
        alone.append(len(running))
        await anyio.sleep(2)
        alone.append(len(running))

    world.on("busy", busy)
    world.on("killer", killer)
    await world.submit_many("busy", 2000)
    async with world.running(world.engine(concurrency=4, claim_ahead=0), grace=0):
        await anyio.sleep(3)
        isolated = await world.submit_many("killer", 3, max_crashes=1)
        for id in isolated:
            info = await world.ended(id, within=45)
            assert (info.status, info.crash_count) == (Status.COMPLETED, 0)
    assert alone == [0] * 6


async def test_without_isolated_activities_constant_load_is_never_interrupted(
    world: World,
) -> None:
    """A worker does not run empty every half minute for the sake of what is not there."""
    running: list[int] = []

    async def long() -> None:
        running.append(1)
        await anyio.sleep(70)
        running.pop()

    world.on("long", long)
    await world.submit_many("long", 200)
    async with world.running(world.engine(concurrency=4, claim_ahead=0), grace=0):
        await anyio.sleep(0.5)
        for _ in range(300):
            await anyio.sleep(1)
            assert len(running) == 4


async def test_a_scheduled_activity_starts_at_its_instant_not_before(world: World) -> None:
    """promise:G7, bug:B73, seed:E6."""
    started: list[float] = []

    async def note() -> None:
        started.append(anyio.current_time())

    world.on("note", note)
    async with world.running(world.engine()):
        await anyio.sleep(1.234)
        began = anyio.current_time()
        await world.submit("note", delay=100.0)
        await world.submit("note", delay=7.25)
        await until(lambda: len(started) == 2, within=200)
    assert started[0] - began == pytest.approx(7.25, abs=0.06)
    assert started[1] - began == pytest.approx(100.0, abs=0.06)
    assert started[0] - began >= 7.25 and started[1] - began >= 100.0


async def test_what_was_promoted_is_claimed_at_once_also_without_hints(world: World) -> None:
    world.on("noop", noop)
    store = world.view()
    store.hang("watch")
    id = await world.submit("noop", delay=20.0)
    began = anyio.current_time()
    async with world.running(world.engine(store, poll_interval=4.0, poll_max=30.0), grace=0):
        await world.ended(id, within=40)
        assert anyio.current_time() - began < 20.5


async def test_more_due_activities_than_one_promotion_moves_are_all_moved(world: World) -> None:
    """seed:W7"""

    world.on("noop", noop)
    ids = await world.submit_many("noop", 2500, delay=5.0)
    async with world.running(world.engine(concurrency=50)):
        await anyio.sleep(6)

        async def all_done() -> bool:
            return await world.count(Status.COMPLETED) == len(ids)

        await until(all_done, within=5)


async def test_a_failed_attempt_is_retried_when_its_delay_is_over(world: World) -> None:
    """promise:G9, seed:R16."""
    from taskq.context import current
    from taskq.model import Policy
    from taskq.retry import RetryPolicy

    times: list[tuple[int, float]] = []

    async def failing() -> str:
        times.append((current().attempt, anyio.current_time()))
        if current().retry_count < 3:
            raise ValueError("not yet")
        return "at last"

    world.on("failing", failing)
    policy = Policy(retry=RetryPolicy.runnerq())
    id = await world.submit("failing", max_retries=3, policy=policy)
    async with world.running(world.engine()):
        info = await world.ended(id, within=60)
    assert (info.status, info.result, info.retry_count) == (Status.COMPLETED, '"at last"', 3)
    assert [number for number, _ in times] == [1, 2, 3, 4]
    gaps = [later - sooner for (_, sooner), (_, later) in pairwise(times)]
    assert gaps == [pytest.approx(gap, abs=0.1) for gap in (2.0, 4.0, 8.0)]
