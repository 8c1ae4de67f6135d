"""The keeper beside the store: blocked loops, stuck loops, dead storage threads."""

from __future__ import annotations

import time

import anyio
import pytest

from taskq import events
from taskq.backends import Heartbeat, Renewal
from taskq.bridge import DirectBridge, ResidentBridge, serve_in_thread
from taskq.engine.keeping import pulse
from taskq.model import Status
from tests.engine.world import QUICK, World, until

SHORT = {"lease": 0.6, "renew_interval": 0.1, "reaper_interval": 0.05, **QUICK}


async def test_a_handler_that_blocks_the_event_loop_keeps_its_lease(world: World) -> None:
    """issue point 8, bug:B25, fault:C1."""
    runs: list[int] = []

    async def block() -> str:
        runs.append(1)
        time.sleep(3 * SHORT["lease"])  # noqa: ASYNC251
        return "done"

    world.on("block", block)
    bridge = ResidentBridge()
    reaper = serve_in_thread(world.engine(queues=("other",), **SHORT).run)
    async with world.running(world.engine(bridge=bridge, **SHORT)):
        await anyio.sleep(0.7)
        ids = await world.submit_many("block", 2)
        for id in ids:
            info = await world.ended(id)
            assert (info.status, info.claim, info.crash_count) == (Status.COMPLETED, 1, 0)
    reaper.stop()
    await bridge.aclose()
    assert runs == [1, 1]
    assert world.seen(events.WorkerLost) == []


async def test_after_blocking_the_loop_a_handler_is_not_cancelled_if_its_lease_is_renewed(
    world: World,
) -> None:
    """On a store without a thread of its own, the keeper gets its turn before the fence acts."""

    async def block() -> str:
        time.sleep(1.5 * SHORT["lease"])  # noqa: ASYNC251
        await anyio.sleep(0.3)
        return "done"

    world.on("block", block)
    async with world.running(world.engine(**SHORT)):
        info = await world.ended(await world.submit("block"))
    assert (info.status, info.claim) == (Status.COMPLETED, 1)


async def test_a_loop_that_is_stuck_beyond_every_timeout_is_reported_and_not_renewed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """design 7.5."""
    monkeypatch.setattr(pulse, "LEAST", 0.2)
    from taskq.engine.keeping import keeper

    monkeypatch.setattr(keeper, "TICK", 0.05)
    dumped: list[float] = []
    blocked_until: list[float] = []
    health: list[tuple[str, ...]] = []

    beats: list[float] = []
    heartbeat = world.memory.heartbeat

    async def spying(beat: Heartbeat) -> Renewal:
        beats.append(time.monotonic())
        return await heartbeat(beat)

    async def block() -> None:
        time.sleep(1.2)  # noqa: ASYNC251
        blocked_until.append(time.monotonic())
        health.append(engine.health().reasons)

    world.on("block", block)
    monkeypatch.setattr(world.memory, "heartbeat", spying)
    bridge = ResidentBridge()
    engine = world.engine(bridge=bridge, dump=lambda: dumped.append(time.monotonic()), **SHORT)
    async with world.running(engine, grace=0):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        began = time.monotonic()
        id = await world.submit("block", timeout=0.4)
        await until(lambda: bool(health))
        await until(lambda: engine.health().healthy)
    await bridge.aclose()
    assert len(dumped) == 1
    assert dumped[0] - began > 0.4
    assert not any(dumped[0] + 0.05 < beat < blocked_until[0] for beat in beats)
    assert health[0][-1] == "the event loop is stuck"
    assert any("stuck" in str(error.error) for error in engine.errors.kept())
    assert await world.status(id) is not Status.PROCESSING


async def test_a_storage_thread_that_dies_is_started_again(world: World) -> None:
    async def noop() -> None: ...

    world.on("noop", noop)
    bridge = ResidentBridge()
    engine = world.engine(bridge=bridge, **SHORT)
    async with world.running(engine):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        for _ in range(2):
            bridge.close(0)
            info = await world.ended(await world.submit("noop"))
            assert info.status is Status.COMPLETED
        await until(lambda: engine.health().healthy)
    await bridge.aclose()


async def test_a_call_that_hangs_beside_the_store_does_not_hold_the_stop(world: World) -> None:
    """fault:DB8."""

    async def noop() -> None: ...

    world.on("noop", noop)
    bridge, store = ResidentBridge(), world.view()
    engine = world.engine(store, bridge=bridge, **SHORT)
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        store.hang("claim", "heartbeat", "settle", "held", "promote", "expired")
        await world.submit("noop")
        await anyio.sleep(0.1)
        began = time.monotonic()
        engine.stop(0)
    assert time.monotonic() - began < 4
    await bridge.aclose()


async def test_errors_can_be_read_while_the_worker_runs_and_end_with_it(world: World) -> None:
    """seed:W24, seed:W25."""

    async def noop() -> None: ...

    world.on("noop", noop)
    store = world.view()
    engine = world.engine(store, bridge=DirectBridge(), **QUICK)
    read: list[str] = []

    async def reader() -> None:
        async for error in engine.errors:
            read.append(error.loop)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await group.start(engine.run)
            store.fail("claim", after=False)
            await until(lambda: "dispatcher" in read)
            store.fail("promote", after=False)
            await world.submit("noop", delay=0.001)
            await until(lambda: "promoter" in read)
            engine.stop()
    assert read == [error.loop for error in engine.errors.kept()]


@pytest.mark.parametrize("hinted", [True, False])
async def test_a_cancel_reaches_a_handler_from_beside_the_store(world: World, hinted: bool) -> None:
    """promise:G10, from other threads: by a hint, or with a renewal."""

    async def sleeper() -> None:
        await anyio.sleep(3600)

    world.on("sleeper", sleeper)
    bridge, store = ResidentBridge(), world.view()
    if not hinted:
        store.hang("watch")
    async with world.running(world.engine(store, bridge=bridge, **SHORT)):
        id = await world.submit("sleeper", timeout=None)
        await until(lambda: bool(world.seen(events.Started)))
        await bridge.call(world.memory.cancel, [id])
        assert (await world.ended(id)).status is Status.CANCELLED
    await bridge.aclose()


async def test_a_lost_lease_is_told_from_beside_the_store(world: World) -> None:
    async def sleeper() -> None:
        await anyio.sleep(3600)

    world.on("sleeper", sleeper)
    bridge = ResidentBridge()
    async with world.running(world.engine(bridge=bridge, **SHORT), grace=0):
        id = await world.submit("sleeper", timeout=None)
        await until(lambda: bool(world.seen(events.Started)))
        world.memory._tables.rows[id].claim += 1
        await until(lambda: bool(world.seen(events.OutcomeRefused)))
    await bridge.aclose()
