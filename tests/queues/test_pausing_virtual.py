"""Pauses as a worker keeps them, in virtual time."""

from __future__ import annotations

from functools import partial

import anyio
import pytest
from trio.testing import MockClock

from taskq import events
from taskq.audit import Command
from taskq.model import Status
from taskq.pausing import Kind
from taskq.testing import LoopClock
from tests.engine.world import World, until

COMMAND = Command(actor="ada", reason="provider is down")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    """Trio with a clock that jumps; a fresh one for each test."""
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def world() -> World:
    """The store and the engines follow the event loop's virtual time."""
    return World(LoopClock())


async def noop() -> None:
    """Ends at once."""


async def pause(world: World, name: str, kind: Kind = Kind.QUEUE) -> None:
    await world.memory.pause(kind, name, command=COMMAND)


async def resume(world: World, name: str, kind: Kind = Kind.QUEUE) -> None:
    await world.memory.resume(kind, name, command=COMMAND)


@pytest.mark.parametrize("catch_all", [False, True])
async def test_nothing_of_a_paused_type_is_begun_and_others_go_on(
    world: World, catch_all: bool
) -> None:
    world.on("send", noop)
    world.on("other", noop)
    await pause(world, "send", Kind.TYPE)
    waits = await world.submit("send")
    async with world.running(world.engine(catch_all=catch_all)):
        await world.ended(await world.submit("other"))
        await anyio.sleep(60)
        assert (await world.info(waits)).claim == 0

        await resume(world, "send", Kind.TYPE)
        await world.ended(waits, within=1.0)


async def test_a_paused_queue_of_several_is_left_out(world: World) -> None:
    world.on("work", noop)
    await pause(world, "mail")
    waits = await world.submit("work", queue="mail")
    async with world.running(world.engine(queues=("default", "mail"))):
        await world.ended(await world.submit("work"))
        await anyio.sleep(60)
        assert await world.status(waits) is Status.PENDING


async def test_a_pause_holds_within_a_second_where_no_hint_comes(world: World) -> None:
    world.on("work", noop)
    view = world.view()
    view.hang("watch")
    async with world.running(world.engine(view)):
        await world.ended(await world.submit("work"))
        await pause(world, "default")
        await anyio.sleep(1)
        waits = await world.submit("work")
        await anyio.sleep(60)
        assert await world.status(waits) is Status.PENDING
        [told] = world.seen(events.PausesChanged)
        assert str(told) == (
            "queue 'default' is paused by ada (provider is down): nothing of it is begun"
        )

        await resume(world, "default")
        await world.ended(waits, within=7.0)
    assert str(world.seen(events.PausesChanged)[-1]) == "queue 'default' goes on"


async def test_what_was_claimed_ahead_goes_back_and_what_runs_goes_on(world: World) -> None:
    released = anyio.Event()
    world.on("work", released.wait)
    ids = await world.submit_many("work", 3)
    async with world.running(world.engine(concurrency=1, claim_ahead=2)):
        await until(lambda: len(world.seen(events.Started)) == 1)
        assert await world.count(Status.PROCESSING) == 3

        await pause(world, "default")
        await world.reaches(ids[1], Status.PENDING, within=1.0)

        assert await world.statuses(ids) == [Status.PROCESSING, Status.PENDING, Status.PENDING]
        assert (await world.info(ids[1])).crash_count == 0
        released.set()
        await world.reaches(ids[0], Status.COMPLETED)
        await anyio.sleep(60)
        assert await world.count(Status.PENDING) == 2


async def test_what_is_paused_while_its_claim_is_on_its_way_is_not_begun(world: World) -> None:
    world.on("work", noop)
    claim = world.memory.claim
    asked, answer = anyio.Event(), anyio.Event()

    async def slow(request: object) -> object:
        attempts = await claim(request)  # type: ignore[arg-type]
        if attempts:
            asked.set()
            await answer.wait()
        return attempts

    world.memory.claim = slow  # type: ignore[method-assign, assignment]
    async with world.running(world.engine()):
        id = await world.submit("work")
        await asked.wait()
        await pause(world, "default")
        await until(lambda: bool(world.seen(events.PausesChanged)))
        answer.set()
        await world.reaches(id, Status.PENDING)
        assert not world.seen(events.Started)


async def test_a_worker_reads_what_is_paused_before_its_first_claim(world: World) -> None:
    world.on("work", noop)
    await pause(world, "default")
    id = await world.submit("work")
    view = world.view()
    view.hang("pauses")
    async with world.running(world.engine(view)):
        await anyio.sleep(20)
        assert view.calls["claim"] == 0
        view.come_back()
        await anyio.sleep(60)
        assert (await world.info(id)).claim == 0


async def test_what_was_known_last_holds_while_it_cannot_be_read(world: World) -> None:
    world.on("work", noop)
    await pause(world, "default")
    view = world.view()
    async with world.running(world.engine(view)):
        await until(lambda: bool(world.seen(events.PausesChanged)))
        view.fail("pauses", after=False, times=1000)
        id = await world.submit("work")
        await anyio.sleep(60)
        assert await world.status(id) is Status.PENDING


async def test_for_a_burst_a_paused_queue_is_empty(world: World) -> None:
    world.on("work", noop)
    await pause(world, "default")
    id = await world.submit("work")
    with anyio.fail_after(30):
        await world.engine(burst=True).run()
    assert await world.status(id) is Status.PENDING


async def test_leaves_isolated_ones_and_children_are_paused_too(world: World) -> None:
    world.on("leaf", noop)
    await pause(world, "leaf", Kind.TYPE)
    alone = await world.submit("leaf", max_crashes=1)
    leaf = await world.submit("leaf")
    waiting = anyio.Event()
    world.on("parent", waiting.wait)
    engine = world.engine(concurrency=2, reserve_slots_for_leaves=1, leaf_types=("leaf",))
    async with world.running(engine):
        parents = await world.submit_many("parent", 2)
        await until(lambda: len(world.seen(events.Started)) == 2)
        await anyio.sleep(100)
        waiting.set()
        for id in parents:
            await world.ended(id)
        await anyio.sleep(100)
        assert [(await world.info(id)).claim for id in (alone, leaf)] == [0, 0]


async def test_what_has_expired_ends_in_a_paused_queue_too(world: World) -> None:
    world.on("work", noop)
    await pause(world, "default")
    id = await world.submit("work", expires_in=10.0)
    async with world.running(world.engine()):
        ended = await world.ended(id, within=60)
    assert ended.status is Status.CANCELLED


async def test_running_handlers_are_renewed_and_reaped_as_ever(world: World) -> None:
    world.on("work", partial(anyio.sleep, 100))
    id = await world.submit("work")
    async with world.running(world.engine(lease=3.0, renew_interval=1.0)):
        await world.reaches(id, Status.PROCESSING)
        await pause(world, "default")
        assert (await world.ended(id, within=200)).status is Status.COMPLETED
