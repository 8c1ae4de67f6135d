"""Sync handlers: threads, their limit, their timeouts, and what cannot be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import anyio
import pytest

from taskq import events
from taskq.context import Context, current
from taskq.middleware import Next
from taskq.model import ErrorKind, Status
from tests.engine.world import QUICK, World, until


class Gate:
    """Holds handlers in their threads until it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.inside = 0
        self.left = 0
        self.most = 0
        self.cancelled: list[bool] = []
        self._lock = threading.Lock()

    def pass_through(self) -> str:
        """The handler."""
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        assert self.open.wait(20)
        with self._lock:
            self.inside -= 1
            self.left += 1
            self.cancelled.append(current().cancelled)
        return "through"


@pytest.fixture
def gate(world: World) -> Iterator[Gate]:
    """A gate that is opened at the end, so that no thread is left."""
    gate = Gate()
    world.on("gate", gate.pass_through)
    yield gate
    gate.open.set()
    deadline = time.monotonic() + 10
    while gate.inside and time.monotonic() < deadline:
        time.sleep(0.005)


async def noop() -> None:
    """Ends at once."""


async def test_a_sync_handler_runs_in_a_thread_with_the_attempts_context(world: World) -> None:
    seen: list[object] = []

    def work(number: int) -> int:
        seen.extend([threading.current_thread() is threading.main_thread(), current().attempt])
        return number * 2

    world.on("work", work)
    async with world.running(world.engine()):
        info = await world.ended(await world.submit("work", '{"number":21}'))
    assert (info.status, info.result) == (Status.COMPLETED, "42")
    assert seen == [False, 1]


async def test_a_thread_says_its_progress_without_waiting(world: World) -> None:
    def work() -> None:
        for place in range(1000):
            current().progress(place + 1, 1000, f"line {place}")

    world.on("work", work)
    async with world.running(world.engine(**QUICK)):
        info = await world.ended(await world.submit("work"))
    assert info.progress is not None
    assert (info.progress.done, info.progress.note) == (1000, "line 999")


async def test_what_a_sync_handler_raises_is_recorded_from_its_own_frame(world: World) -> None:
    def fail() -> None:
        raise ValueError("in a thread")

    world.on("fail", fail)
    async with world.running(world.engine()):
        info = await world.ended(await world.submit("fail", max_retries=0))
    assert info.error is not None
    assert (info.error.type, info.error.message) == ("ValueError", "in a thread")
    assert info.error.traceback.count("File ") == 1, "no frame of anybody else's"


async def test_no_more_threads_than_allowed_run_at_once(world: World, gate: Gate) -> None:
    ids = await world.submit_many("gate", 6)
    async with world.running(world.engine(concurrency=6, threads=2)):
        await until(lambda: gate.inside == 2)
        await anyio.sleep(0.05)
        assert gate.inside == 2
        gate.open.set()
        for id in ids:
            await world.ended(id)
    assert gate.most == 2


async def test_waiting_for_a_thread_is_no_running_time(world: World, gate: Gate) -> None:
    first = await world.submit("gate", timeout=None)
    async with world.running(world.engine(concurrency=2, threads=1)):
        await until(lambda: gate.inside == 1)
        second = await world.submit("gate", timeout=0.3, max_retries=0)
        await until(lambda: len(world.seen(events.Started)) == 2)
        await anyio.sleep(0.5)
        gate.open.set()
        assert (await world.ended(first)).status is Status.COMPLETED
        assert (await world.ended(second)).status is Status.COMPLETED


async def test_a_thread_past_its_timeout_is_recorded_at_once_and_keeps_its_slot(
    world: World, gate: Gate
) -> None:
    """design 7.15, fault:C3."""
    world.on("noop", noop)
    engine = world.engine(concurrency=2, **QUICK)
    id = await world.submit("gate", timeout=0.05, max_retries=0)
    async with world.running(engine):
        info = await world.ended(id)
        assert info.status is Status.DEAD_LETTER
        assert info.error is not None and info.error.kind is ErrorKind.TIMEOUT
        await until(lambda: engine.health().threads_stuck == 1)
        (overran,) = world.seen(events.ThreadOverran)
        assert overran.attempt.id == id
        assert engine.health().slots_used == 1
        assert engine.health().healthy
        assert (await world.ended(await world.submit("noop"))).status is Status.COMPLETED

        gate.open.set()
        await until(lambda: engine.health().slots_used == 0)
        assert engine.health().threads_stuck == 0
    assert gate.cancelled == [True], "the thread could see that it was to stop"
    assert (await world.info(id)).status is Status.DEAD_LETTER, "its late result is dropped"


async def test_when_every_permit_is_a_stuck_thread_the_worker_is_unhealthy_and_claims_nothing(
    world: World, gate: Gate
) -> None:
    """design 7.15."""
    world.on("noop", noop)
    engine = world.engine(concurrency=2, claim_ahead=3, **QUICK)
    await world.submit_many("gate", 2, timeout=0.2, max_retries=0)
    async with world.running(engine):
        await until(lambda: gate.inside == 2)
        waiting = await world.submit_many("noop", 3)
        await until(lambda: engine.health().threads_stuck == 2)
        health = engine.health()
        assert not health.healthy
        assert health.reasons == ("every slot is held by a thread past its timeout",)

        async def all_back() -> bool:
            return set(await world.statuses(waiting)) == {Status.PENDING}

        await until(all_back)
        await anyio.sleep(0.3)
        assert set(await world.statuses(waiting)) == {Status.PENDING}

        gate.open.set()
        for id in waiting:
            assert (await world.ended(id)).status is Status.COMPLETED
        await until(lambda: engine.health().healthy)


async def test_a_cancelled_sync_handler_is_told_and_its_own_end_decides(
    world: World, gate: Gate
) -> None:
    told = threading.Event()

    def obedient() -> str:
        while not current().cancelled:
            time.sleep(0.002)
        told.set()
        raise RuntimeError("stopping")

    world.on("obedient", obedient)
    obeys = await world.submit("obedient")
    async with world.running(world.engine()):
        await until(lambda: len(world.seen(events.Started)) == 1)
        await world.memory.cancel([obeys])
        assert (await world.ended(obeys)).status is Status.CANCELLED
        assert told.is_set()

        finishes = await world.submit("gate")
        await until(lambda: gate.inside == 1)
        await world.memory.cancel([finishes])
        gate.open.set()
        assert (await world.ended(finishes)).status is Status.COMPLETED


async def test_a_cancelled_sync_handler_that_does_not_look_ends_cancelled_by_its_timeout(
    world: World, gate: Gate
) -> None:
    id = await world.submit("gate", timeout=0.3)
    async with world.running(world.engine()):
        await until(lambda: gate.inside == 1)
        await world.memory.cancel([id])
        info = await world.ended(id)
        assert info.status is Status.CANCELLED
        gate.open.set()


async def test_at_a_stop_threads_get_the_grace_and_are_then_left_alone(
    world: World, gate: Gate
) -> None:
    """fault:D15: run returns in time, whatever the thread does."""
    id = await world.submit("gate", timeout=None)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await until(lambda: gate.inside == 1)
        began = time.monotonic()
        engine.stop(0.1)
    assert time.monotonic() - began < 3
    info = await world.info(id)
    assert (info.status, info.retry_count, info.crash_count) == (Status.PENDING, 0, 0)
    assert gate.inside == 1
    assert world.seen(events.ThreadOverran) == []
    gate.open.set()
    await until(lambda: gate.left == 1)
    assert gate.cancelled == [True]
    assert await world.status(id) is Status.PENDING


async def test_a_stop_does_not_wait_for_threads_past_their_timeout(
    world: World, gate: Gate
) -> None:
    await world.submit("gate", timeout=0.05, max_retries=0)
    engine = world.engine()
    async with anyio.create_task_group() as group:
        await group.start(engine.run)
        await until(lambda: engine.health().threads_stuck == 1)
        began = time.monotonic()
        engine.stop(30)
    assert time.monotonic() - began < 3


async def test_a_lost_lease_is_told_to_the_thread_and_its_late_result_refused(
    world: World, gate: Gate
) -> None:
    id = await world.submit("gate")
    engine = world.engine(lease=0.6, renew_interval=0.1)
    async with world.running(engine):
        await until(lambda: gate.inside == 1)
        world.memory._tables.rows[id].claim += 1
        await anyio.sleep(0.5)
        gate.open.set()
        await until(lambda: bool(world.seen(events.OutcomeRefused)))
    assert gate.cancelled == [True]


async def test_a_thread_whose_lease_is_lost_causes_no_renewal_after_renewal(
    world: World, gate: Gate
) -> None:
    id = await world.submit("gate", timeout=None)
    store = world.view()
    engine = world.engine(store, lease=0.6, renew_interval=0.2, **QUICK)
    async with world.running(engine, grace=0):
        await until(lambda: gate.inside == 1)
        world.memory._tables.rows[id].claim += 1
        await anyio.sleep(1)
        before = store.calls["heartbeat"]
        await anyio.sleep(1)
        assert store.calls["heartbeat"] - before <= 10
        assert gate.inside == 1


async def test_only_a_thread_past_its_timeout_is_called_so(world: World, gate: Gate) -> None:
    """What middleware gave up, or what has lost its lease, still holds its slot."""

    async def impatient(attempt: Context, call_next: Next) -> object:
        with anyio.move_on_after(0.05):
            return await call_next()
        return "gave up"

    id = await world.submit("gate")
    engine = world.engine(middleware=(impatient,), **QUICK)
    async with world.running(engine):
        assert (await world.ended(id)).result == '"gave up"'
        await until(lambda: engine.health().threads_stuck == 1)
        gate.open.set()
        await until(lambda: engine.health().threads_stuck == 0)
    assert world.seen(events.ThreadOverran) == []


async def test_a_thread_that_cannot_be_started_fails_the_attempt_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fault:A15."""
    from taskq.engine.running import attempt

    async def refuse(function: object, *, on_end: object) -> object:
        on_end()  # type: ignore[operator]
        raise RuntimeError("can't start new thread")

    def work() -> None: ...

    world.on("work", work)
    async with world.running(world.engine()):
        with monkeypatch.context() as patch:
            patch.setattr(attempt, "run_in_thread", refuse)
            info = await world.ended(await world.submit("work", max_retries=0))
        assert info.error is not None and "can't start" in info.error.message
        assert (await world.ended(await world.submit("work"))).status is Status.COMPLETED
