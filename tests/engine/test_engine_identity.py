"""What an engine takes on, who it is, and what its row and its counts say."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from taskq import events
from taskq.errors import (
    ConfigurationError,
    InvalidState,
    NonRetryError,
)
from taskq.model import Status
from tests.engine.world import World, until


async def test_only_registered_types_are_claimed(world: World) -> None:
    """design 7.3: what nobody here knows waits in its queue. seed:R15"""

    async def noop() -> None: ...

    world.on("known", noop)
    unknown = await world.submit("unknown")
    known = await world.submit("known")
    with anyio.fail_after(10):
        await world.engine(burst=True).run()

    assert await world.statuses([unknown, known]) == [Status.PENDING, Status.COMPLETED]


async def test_a_type_filter_claims_only_those(world: World) -> None:
    async def noop() -> None: ...

    world.on("one", noop)
    world.on("two", noop)
    one, two = await world.submit("one"), await world.submit("two")
    with anyio.fail_after(10):
        await world.engine(burst=True, types=("two",)).run()

    assert await world.statuses([one, two]) == [Status.PENDING, Status.COMPLETED]


def test_a_listed_type_without_a_handler_is_refused_before_anything_starts(world: World) -> None:
    """seed:E5, D34."""

    async def noop() -> None: ...

    world.on("known", noop)
    with pytest.raises(ConfigurationError, match="missing"):
        world.engine(types=("known", "missing"))
    assert world.events == []


def test_an_engine_with_nothing_to_run_is_refused(world: World) -> None:
    with pytest.raises(ConfigurationError, match="no handler"):
        world.engine()


async def test_an_engine_runs_only_once(world: World) -> None:
    """seed:E19"""

    async def noop() -> None: ...

    world.on("noop", noop)
    engine = world.engine(burst=True)
    await engine.run()
    with pytest.raises(InvalidState, match="once"):
        await engine.run()


async def test_each_start_has_an_identity_of_its_own(world: World) -> None:
    """fault:A9: the same name, host and pid, and still two workers. seed:W11, seed:N10"""

    async def noop() -> None: ...

    world.on("noop", noop)
    first, second = world.engine(), world.engine()
    async with world.running(first, second):
        await until(lambda: len(world.seen(events.WorkerStarted)) == 2)
        workers = await world.memory.workers()

    assert {worker.id for worker in workers} == {first.id, second.id}
    assert len(workers) == 2


async def test_the_workers_row_says_who_it_is(world: World, anyio_backend_name: str) -> None:
    """seed:E22, seed:W14"""

    async def noop() -> None: ...

    world.on("noop", noop)
    engine = world.engine(name="n", host="h", pid=7, version="1.2", concurrency=3, types=("noop",))
    async with world.running(engine):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        (worker,) = await world.memory.workers()

    assert (worker.id, worker.name, worker.host, worker.pid) == (engine.id, "n", "h", 7)
    assert (worker.queues, worker.types, worker.concurrency) == (("default",), ("noop",), 3)
    assert (worker.version, worker.async_backend) == ("1.2", anyio_backend_name)
    assert (worker.state, worker.slots_used, worker.threads_stuck) == ("running", 0, 0)
    assert await world.memory.workers() == []


async def test_the_counts_of_a_worker_reach_the_rollup_when_it_stops(world: World) -> None:
    """design 7.7."""

    async def noop() -> None: ...

    async def fail() -> None:
        raise NonRetryError

    world.on("noop", noop)
    world.on("fail", fail)
    await world.submit_many("noop", 5)
    await world.submit("fail")
    begin = world.clock.now().replace(second=0, microsecond=0)
    await world.engine(burst=True).run()

    from datetime import timedelta

    buckets = await world.memory.series(begin, world.clock.now() + timedelta(minutes=1))
    counted = {}
    for bucket in buckets:
        key = (bucket.type, bucket.outcome)
        counted[key] = counted.get(key, 0) + bucket.count
        assert sum(bucket.waits) == sum(bucket.runs) == bucket.count
    assert counted == {("noop", "completed"): 5, ("fail", "failed"): 1}
