"""Leases: renewing, losing and fencing them, and what is done about lost workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import anyio
import pytest
from msgspec.structs import replace

from taskq import events
from taskq.backends import Heartbeat, Renewal
from taskq.context import current
from taskq.engine import Engine
from taskq.errors import BackendError, BackendUnavailable, Unstorable
from taskq.lifecycle import Settlement, Transition
from taskq.model import Policy, Status
from tests.engine.world import World, until


async def slow() -> str:
    """Runs longer than any lease."""
    await anyio.sleep(100)
    return "done"


@pytest.fixture
def world(world: World) -> World:
    """With a slow handler."""
    world.on("slow", slow)
    return world


async def crash(engine: Engine, store: object) -> None:
    """The machine is gone: no word from it any more."""
    store.go_down()  # type: ignore[attr-defined]
    engine.stop(0)


async def test_a_lease_is_renewed_for_as_long_as_its_handler_runs(world: World) -> None:
    """seed:W9"""

    id = await world.submit("slow")
    async with world.running(world.engine()):
        info = await world.ended(id, within=200)

    assert (info.status, info.crash_count, info.claim) == (Status.COMPLETED, 0, 1)


async def test_what_ends_at_once_is_never_renewed(world: World) -> None:
    """design 7.7: a happy activity writes three times."""
    beats: list[Heartbeat] = []
    heartbeat = world.memory.heartbeat

    async def spying(beat: Heartbeat) -> object:
        beats.append(beat)
        return await heartbeat(beat)

    async def noop() -> None: ...

    world.memory.heartbeat = spying  # type: ignore[method-assign, assignment]
    world.on("noop", noop)
    async with world.running(world.engine()):
        for _ in range(10):
            await world.submit("noop")
            await anyio.sleep(5)

    assert beats and all(beat.leases == () for beat in beats)


async def test_one_failed_renewal_is_no_lost_lease(world: World) -> None:
    """bug:B28."""
    store = world.view()
    id = await world.submit("slow")
    engine = world.engine(store)
    async with world.running(engine):
        await until(lambda: bool(world.seen(events.Started)))
        for after in (False, True, False):
            store.fail("heartbeat", after=after)
            await anyio.sleep(20)
        info = await world.ended(id, within=200)

    assert (info.status, info.claim) == (Status.COMPLETED, 1)
    assert {event.loop for event in world.seen(events.BackgroundError)} == {"keeper"}


async def test_a_renewal_that_hangs_is_given_up_and_tried_again(world: World) -> None:
    store = world.view()
    id = await world.submit("slow")
    async with world.running(world.engine(store)):
        await until(lambda: bool(world.seen(events.Started)))
        store.hang("heartbeat")
        await anyio.sleep(15)
        store.come_back()
        info = await world.ended(id, within=200)

    assert (info.status, info.claim) == (Status.COMPLETED, 1)


async def test_a_worker_that_cannot_renew_stops_its_handlers_before_the_lease_can_end(
    world: World,
) -> None:
    """rule R4."""
    stopped: list[float] = []

    async def watched() -> None:
        try:
            await anyio.sleep(1000)
        finally:
            stopped.append(anyio.current_time())

    world.on("watched", watched)
    store = world.view()
    id = await world.submit("watched", timeout=None)
    async with world.running(world.engine(store), grace=0):
        await until(lambda: bool(world.seen(events.Started)))
        await anyio.sleep(12)
        store.go_down()
        lease_until = (await world.info(id)).lease_until
        await until(lambda: bool(stopped), within=60)
        assert lease_until is not None
        left = (lease_until - world.clock.now()).total_seconds()
        assert 0 < left <= 3.1, "cancelled within the margin before the end"


async def test_after_an_outage_a_live_worker_puts_back_what_it_stopped_and_nothing_is_burnt(
    world: World,
) -> None:
    """design 7.5: no reaper acts before it has reached the store for a whole lease."""
    stores = [world.view(), world.view()]
    id = await world.submit("slow")
    async with world.running(*(world.engine(store) for store in stores), grace=0):
        await until(lambda: bool(world.seen(events.Started)))
        await anyio.sleep(35)
        for store in stores:
            store.go_down()
        await anyio.sleep(300)
        for store in stores:
            store.come_back()
        info = await world.ended(id, within=300)

    assert (info.status, info.crash_count, info.retry_count) == (Status.COMPLETED, 0, 0)
    assert len(world.seen(events.Interrupted)) == 1
    assert world.seen(events.WorkerLost) == []


async def test_whoever_reaches_the_store_first_after_an_outage_does_not_reap_the_others(
    world: World,
) -> None:
    """Shorter than a lease, but leases have ended in it."""
    working, sweeping = world.view(), world.view()
    engines = world.engine(working), world.engine(sweeping, queues=("other",))
    id = await world.submit("slow")
    async with world.running(*engines, grace=0):
        await anyio.sleep(39)
        working.go_down()
        sweeping.go_down()
        await anyio.sleep(16)
        sweeping.come_back()
        await anyio.sleep(20)
        working.come_back()
        info = await world.ended(id, within=300)
    assert (info.status, info.crash_count) == (Status.COMPLETED, 0)
    assert world.seen(events.WorkerLost) == []


async def test_a_result_that_came_during_an_outage_is_stored_after_it(world: World) -> None:
    """The row is still this worker's: nobody has taken it."""

    async def short() -> str:
        await anyio.sleep(5)
        return "kept"

    world.on("short", short)
    store = world.view()
    id = await world.submit("short")
    async with world.running(world.engine(store)):
        await until(lambda: bool(world.seen(events.Started)))
        store.go_down()
        await anyio.sleep(120)
        store.come_back()
        info = await world.ended(id)

    assert (info.status, info.result, info.claim) == (Status.COMPLETED, '"kept"', 1)


async def test_a_lost_workers_activity_runs_elsewhere_within_lease_and_sweep(world: World) -> None:
    """promise:G4, fault:A1, seed:W8."""
    dead_store = world.view()
    dead, alive = world.engine(dead_store), world.engine(queues=("other",))
    async with world.running(dead, alive):
        await anyio.sleep(40)
        id = await world.submit("slow", queue="default")
        await world.reaches(id, Status.PROCESSING)
        await crash(dead, dead_store)
        died = anyio.current_time()
        info = await world.reaches(id, Status.PENDING, within=60)

    assert anyio.current_time() - died >= 0
    assert (info.crash_count, info.retry_count) == (1, 0)
    (lost,) = world.seen(events.WorkerLost)
    assert (lost.attempt.worker, lost.dead) == (dead.id, False)


async def test_a_lost_worker_is_noticed_by_a_worker_that_was_started_before_and_after(
    world: World,
) -> None:
    """bug:B79: sweeping is periodic, not a matter of starting."""
    dead_store = world.view()
    dead = world.engine(dead_store)
    async with world.running(dead, world.engine()):
        await anyio.sleep(500)
        ids = await world.submit_many("slow", 20)
        for id in ids:
            await world.reaches(id, Status.PROCESSING)
        await crash(dead, dead_store)
        began = anyio.current_time()

        async def all_completed() -> bool:
            return set(await world.statuses(ids)) == {Status.COMPLETED}

        await until(all_completed, within=400)
    assert anyio.current_time() - began < 30 + 5 + 2 * 101 + 10


async def test_the_reaper_waits_until_it_has_reached_the_store_for_one_lease(world: World) -> None:
    """seed:W18"""

    dead_store = world.view()
    dead = world.engine(dead_store)
    id = await world.submit("slow")
    async with world.running(dead):
        await world.reaches(id, Status.PROCESSING)
        await crash(dead, dead_store)
    await anyio.sleep(100)
    async with world.running(world.engine(queues=("other",))):
        await anyio.sleep(29)
        assert await world.status(id) is Status.PROCESSING
        await world.reaches(id, Status.PENDING, within=10)


async def test_an_error_inside_a_sweep_leaves_the_rest_to_the_next_one(world: World) -> None:
    """bug:B13, seed:W33."""
    dead_store, store = world.view(), world.view()
    dead = world.engine(dead_store, concurrency=30)
    ids = await world.submit_many("slow", 30)
    async with world.running(dead):
        for id in ids:
            await world.reaches(id, Status.PROCESSING)
        await crash(dead, dead_store)
    reaper = world.engine(store, queues=("other",), reaper_batch=10)
    async with world.running(reaper):
        await anyio.sleep(25)
        store.fail("settle", after=False, times=2)
        store.fail("settle", after=True, times=1)

        async def all_back() -> bool:
            return set(await world.statuses(ids)) == {Status.PENDING}

        await until(all_back, within=120)
    assert {info.crash_count for info in await world.everything()} == {1}


async def test_a_late_outcome_of_a_worker_that_was_given_up_is_refused(world: World) -> None:
    """promise:G5, seed:W22, fault:A3, seed:W12."""

    async def deaf() -> str:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(90)
        return "too late"

    world.on("deaf", deaf)
    store = world.view()
    frozen = world.engine(store, types=("deaf",))
    id = await world.submit("deaf")
    async with world.running(frozen, world.engine(types=("slow",))):
        await until(lambda: bool(world.seen(events.Started)))
        store.hang("heartbeat", "settle", "claim", "expired", "held", "hand_back")
        info = await world.reaches(id, Status.PENDING, within=80)
        store.come_back()
        await until(lambda: bool(world.seen(events.OutcomeRefused)), within=60)

    assert info.crash_count == 1
    assert (await world.info(id)).result is None


async def test_a_worker_is_told_at_the_next_renewal_that_it_lost_a_lease(world: World) -> None:
    stopped: list[float] = []

    async def watched() -> None:
        try:
            await anyio.sleep(1000)
        finally:
            stopped.append(anyio.current_time())

    world.on("watched", watched)
    id = await world.submit("watched", timeout=None)
    async with world.running(world.engine(), grace=0):
        await until(lambda: bool(world.seen(events.Started)))
        row = world.memory._tables.rows[id]
        row.claim += 1
        await until(lambda: bool(stopped), within=25)
    assert len(world.seen(events.OutcomeRefused)) == 1


async def test_an_activity_this_worker_claims_again_waits_for_its_own_earlier_attempt(
    world: World,
) -> None:
    """fault:A4: never two copies in one process."""
    running: list[int] = []
    most: list[int] = []

    async def exclusive() -> None:
        running.append(1)
        most.append(len(running))
        try:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(20)
        finally:
            running.pop()

    world.on("exclusive", exclusive)
    engine = world.engine()
    id = await world.submit("exclusive", timeout=None)
    async with world.running(engine):
        await until(lambda: bool(world.seen(events.Started)))
        held = await world.memory.held(engine.id)
        await world.memory.hand_back(engine.id, held)
        info = await world.ended(id, within=100)

    assert (info.status, info.claim) == (Status.COMPLETED, 2)
    assert most == [1, 1]


async def test_a_poison_activity_ends_dead_letter_and_counts_no_retry(world: World) -> None:
    """promise:G8, seed:R21."""
    dead_policy = Policy(hooks=("on_dead_letter",))
    id = await world.submit("slow", max_crashes=2, policy=dead_policy)
    async with world.running(world.engine(queues=("other",), types=("slow",))):
        await anyio.sleep(31)
        for _ in range(2):
            store = world.view()
            victim = world.engine(store)
            async with world.running(victim):
                await world.reaches(id, Status.PROCESSING, within=30)
                await crash(victim, store)
            await anyio.sleep(60)
        info = await world.info(id)

    assert (info.status, info.crash_count, info.retry_count) == (Status.DEAD_LETTER, 2, 0)
    assert [event.dead for event in world.seen(events.WorkerLost)] == [False, True]
    hooks = [info.type for info in await world.everything() if info.parent_id == id]
    assert hooks == ["slow:on_dead_letter"]


@pytest.mark.parametrize("broken", [False, True])
async def test_an_attempt_whose_lease_is_nearly_over_is_not_started(
    world: World, broken: bool
) -> None:
    """fault:A5: handed back, nothing counted, also when that has to be tried twice."""
    store = world.view()
    if broken:
        store.fail("hand_back", after=False)
    ran: list[int] = []

    async def count() -> None:
        ran.append(current().claim)

    world.on("count", count)
    claim = world.memory.claim

    async def late(request: object) -> object:
        attempts = await claim(request)  # type: ignore[arg-type]
        if attempts:
            world.memory.claim = claim  # type: ignore[method-assign]
            await anyio.sleep(28)
        return attempts

    world.memory.claim = late  # type: ignore[method-assign, assignment]
    id = await world.submit("count")
    async with world.running(world.engine(store)):
        info = await world.ended(id, within=60)

    assert store.pending("hand_back") == 0
    assert len(world.seen(events.HandedBack)) == (0 if broken else 1)
    assert (info.crash_count, ran) == (0, [2])


async def test_a_handler_that_swallows_its_timeout_loses_its_lease(world: World) -> None:
    """fault:C4."""

    async def deaf() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(200)

    world.on("deaf", deaf)
    id = await world.submit("deaf", timeout=1.0)
    async with world.running(world.engine(types=("deaf",)), world.engine(types=("slow",))):

        async def given_up() -> bool:
            return (await world.info(id)).crash_count == 1

        await until(given_up, within=120)


async def test_counts_are_added_once_though_replies_to_heartbeats_are_lost(world: World) -> None:
    from datetime import timedelta

    async def noop() -> None: ...

    world.on("noop", noop)
    store = world.view()
    begin = world.clock.now()
    async with world.running(world.engine(store)):
        for _ in range(12):
            await world.submit("noop")
            store.fail("heartbeat", after=True)
            await anyio.sleep(11)
    buckets = await world.memory.series(begin - timedelta(minutes=1), begin + timedelta(days=1))
    assert sum(bucket.count for bucket in buckets) == 12
    assert len(buckets) >= 2


async def test_what_the_store_refuses_starves_no_innocent_and_is_ended(world: World) -> None:
    """promise:G4: a whole batch that cannot be taken back stands first. Only what never can be
    stored is ended; an error that says nothing about the value ends nothing."""
    dead_store, store = world.view(), world.view()
    dead = world.engine(dead_store, concurrency=30)
    poison = await world.submit_many("slow", 10)
    innocent = await world.submit_many("slow", 5)
    ids = poison + innocent
    async with world.running(dead):
        for id in ids:
            await world.reaches(id, Status.PROCESSING)
        await crash(dead, dead_store)
    settle, ends = world.memory.settle, set(poison[:3])

    async def refusing(transitions: Sequence[Transition]) -> list[Settlement]:
        for each in transitions:
            if each.id in ends and each.status is Status.PENDING:
                raise Unstorable("never")
            if each.id in poison and each.id not in ends:
                raise BackendError("a trigger raised")
        return await settle(transitions)

    world.memory.settle = refusing  # type: ignore[method-assign, assignment]
    async with world.running(world.engine(store, queues=("other",), reaper_batch=5)):

        async def taken() -> bool:
            return set(await world.statuses(innocent)) == {Status.PENDING}

        await until(taken, within=120)
    assert set(await world.statuses(poison[:3])) == {Status.FAILED}
    assert set(await world.statuses(poison[3:])) == {Status.PROCESSING}
    assert [(await world.info(id)).crash_count for id in innocent] == [1] * 5


async def test_counts_that_the_store_refuses_are_dropped_and_told(world: World) -> None:
    """The leases were renewed: nothing is stopped, and the next portion is another one."""
    beats: list[Heartbeat] = []
    errors = deque([BackendUnavailable("locked"), BackendError("refused")])
    heartbeat = world.memory.heartbeat

    async def unreporting(beat: Heartbeat) -> Renewal:
        renewal = await heartbeat(beat)
        beats.append(beat)
        return replace(renewal, unreported=errors.popleft() if errors else None)

    world.memory.heartbeat = unreporting  # type: ignore[method-assign, assignment]
    id = await world.submit("slow")
    async with world.running(world.engine()):
        info = await world.ended(id, within=200)

    assert (info.status, info.claim) == (Status.COMPLETED, 1)
    assert [beat.number for beat in beats[:4]] == [1, 1, 2, 3]
    told = [str(event.error) for event in world.seen(events.BackgroundError)]
    assert told == ["locked", "refused"]
