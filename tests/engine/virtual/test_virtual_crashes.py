"""Handlers that take the whole process with them."""

from __future__ import annotations

import anyio

from taskq import events
from taskq.context import current
from taskq.model import Status
from tests.engine.world import World, until


async def test_a_killer_ends_dead_letter_and_its_innocent_neighbours_complete(
    world: World,
) -> None:
    """issue point 3, promise:G4, promise:G8: one worker, started again whenever it died."""
    struck = anyio.Event()

    async def killer() -> None:
        await anyio.sleep(1)
        struck.set()
        await anyio.sleep(1000)

    async def innocent() -> str:
        await anyio.sleep(5)
        return "unharmed"

    world.on("killer", killer)
    world.on("innocent", innocent)
    guilty = await world.submit("killer")
    innocents = await world.submit_many("innocent", 9)

    async def live_until_killed() -> None:
        store = world.view()
        engine = world.engine(store)
        async with anyio.create_task_group() as group:
            await group.start(engine.run)
            with anyio.move_on_after(300):
                await struck.wait()
            store.go_down()
            engine.stop(0)

    deaths = 0
    for _ in range(10):
        struck = anyio.Event()
        await live_until_killed()
        deaths += struck.is_set()

    info = await world.info(guilty)
    assert (info.status, info.crash_count, info.retry_count) == (Status.DEAD_LETTER, 3, 0)
    assert deaths == 3
    assert set(await world.statuses(innocents)) == {Status.COMPLETED}
    assert {(await world.info(id)).retry_count for id in innocents} == {0}


async def test_forty_claimed_activities_of_a_killed_worker_are_all_run_elsewhere(
    world: World,
) -> None:
    """issue point 3: 20 running and 20 claimed ahead; within the lease and one sweep."""
    done: list[int] = []

    async def work() -> None:
        if current().crash_count == 0:
            await anyio.sleep(1000)
        done.append(1)

    world.on("work", work)
    store = world.view()
    victim = world.engine(store, concurrency=20, claim_ahead=20)
    heir = world.engine(concurrency=20, claim_ahead=0)
    async with anyio.create_task_group() as group:
        await group.start(victim.run)
        ids = await world.submit_many("work", 40)
        for id in ids:
            await world.reaches(id, Status.PROCESSING)
        await group.start(heir.run)
        await anyio.sleep(35)
        store.go_down()
        victim.stop(0)
        died = anyio.current_time()
        await until(lambda: len(world.seen(events.WorkerLost)) == 40, within=60)
        assert anyio.current_time() - died <= 30 + 5 + 1
        for id in ids:
            assert (await world.ended(id)).crash_count == 1
        heir.stop()
    assert len(done) == 40
    assert len(world.seen(events.Completed)) == 40


async def test_a_process_that_was_stopped_and_goes_on_is_refused_and_stops_its_handler(
    world: World,
) -> None:
    """issue point 5, fault:A3: frozen past its lease, while another one did the work."""
    told: list[str] = []

    async def work() -> str:
        if current().crash_count:
            return "by the heir"
        try:
            await anyio.sleep(1000)
        finally:
            told.append("stopped")
        return "by the ghost"

    world.on("work", work)
    store = world.view()
    ghost, heir = world.engine(store), world.engine(queues=("other",))
    id = await world.submit("work")
    async with world.running(ghost, heir):
        await until(lambda: bool(world.seen(events.Started)))
        await anyio.sleep(40)
        store.hang("claim", "expired", "heartbeat")
        world.memory._tables.rows[id].lease_until = world.clock.now()
        info = await world.reaches(id, Status.PENDING, within=10)
        async with world.running(world.engine()):
            info = await world.ended(id)
        assert told == []
        store.come_back()
        await until(lambda: bool(told), within=15)
        await until(lambda: bool(world.seen(events.OutcomeRefused)))
    assert (info.result, info.crash_count) == ('"by the heir"', 1)
    assert (await world.info(id)).result == '"by the heir"'
    assert len(world.seen(events.OutcomeRefused)) == 1


async def test_what_this_worker_has_and_does_not_know_is_handed_back_not_called_a_crash(
    world: World,
) -> None:
    """A claim whose reply came to nobody, found by its own sweep."""
    from taskq.backends import ClaimRequest

    async def work() -> None: ...

    world.on("work", work)
    engine = world.engine(queues=("other",))
    async with world.running(engine):
        await anyio.sleep(40)
        id = await world.submit("work")
        request = ClaimRequest(
            worker=engine.id, queues=("default",), types=None, limit=1, lease=1.0
        )
        assert len(await world.memory.claim(request)) == 1
        info = await world.reaches(id, Status.PENDING)
    assert info.crash_count == 0
    assert world.seen(events.WorkerLost) == []
