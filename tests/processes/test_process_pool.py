"""The pool: which processes are kept, and for how long."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import msgspec
import pytest
from anyio.abc import SocketAttribute

from taskq.context import Context
from taskq.model import Activity, Attempt
from taskq.processes import pool as pools
from taskq.processes.pool import ProcessPool
from taskq.processes.reference import reference
from taskq.testing import ManualClock
from tests.processes import work
from tests.processes.alive import alive

REFERENCE = reference(work.pid.definition)


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def pool(clock: ManualClock) -> AsyncIterator[ProcessPool]:
    pool = ProcessPool(work.app.client, clock=clock, most_idle=1, logs=None)
    yield pool
    await pool.aclose()
    assert pool.pids == frozenset()


def attempt(activity: Activity[int] | None = None) -> Attempt:
    activity = activity or work.pid.build()
    fields = {
        name: getattr(activity, name)
        for name in ("id", "type", "queue", "payload", "root_id", "origin_id")
    }
    now = work.app.clock.now()
    return Attempt(worker=activity.id, claim=1, created_at=now, ready_at=now, **fields)


async def run(pool: ProcessPool, spoil: str | None = None) -> int:
    """Run one attempt; the process id where it ran."""
    call = work.pid.build() if spoil is None else work.spoil.build(spoil)
    definition = work.pid.definition if spoil is None else work.spoil.definition
    one = attempt(call)
    async with await pool.outside(reference(definition)).program(one) as program:
        text = await program.run(one, Context(one, owner=work.app))
    return int(msgspec.json.decode(text))


async def test_idle_processes_are_ended_after_a_minute(
    pool: ProcessPool, clock: ManualClock
) -> None:
    pid = await run(pool)
    clock.advance(pools.MOST_IDLE - 1)
    await pool.tidy()
    assert await run(pool) == pid

    clock.advance(pools.MOST_IDLE)
    await pool.tidy()

    assert pool.pids == frozenset() and not alive(pid)


async def test_no_more_are_kept_than_may_be_needed(pool: ProcessPool) -> None:
    one, other = [await pool.take(attempt(), REFERENCE) for _ in range(2)]
    assert pool.pids == {one.pid, other.pid}

    await pool.give_back(one)
    await pool.give_back(other)

    assert pool.pids == {other.pid} and not alive(one.pid)


async def test_one_that_has_run_many_attempts_or_died_idle_is_replaced(
    pool: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await run(pool)
    [child] = pool._children
    child._process.kill()
    second = await run(pool)
    assert second != first

    monkeypatch.setattr(pools, "MOST_ATTEMPTS", 2)
    assert await run(pool) == second
    assert not alive(second)


async def test_what_one_attempt_has_spoilt_is_not_the_next_ones_fault(pool: ProcessPool) -> None:
    """It runs in a fresh process, once it is seen that the other is of no use any more."""
    for how in ("garbage", "length", "modules"):
        spoilt = await run(pool, how)
        [child] = pool._children
        if how != "modules":  # it has come when there is something to read
            await anyio.wait_readable(child._stream.extra(SocketAttribute.raw_socket))
        assert await run(pool) != spoilt
        assert not alive(spoilt)
