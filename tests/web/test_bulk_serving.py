"""Every worker serves what is taskq's own, and nobody else has it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from taskq import TaskQ
from taskq.bulk.action import Action
from taskq.bulk.order import Order, activity_of
from taskq.engine.claiming.reserved import EVERY, Reserved
from taskq.errors import ConfigurationError
from taskq.model import Status
from taskq.reserved import BULK
from taskq.testing import ManualClock


def made() -> TaskQ:
    taskq = TaskQ("memory://")

    @taskq.activity
    async def send() -> None: ...

    @taskq.activity(queue="mail")
    async def post() -> None: ...

    return taskq


async def given(taskq: TaskQ) -> Any:
    """A bulk command about one activity that waits."""
    send: Any = taskq.tasks["send"]
    waits = await send.aschedule(3600)
    order = Order(action=Action.CANCEL, actor="ada", ids=[waits.id])
    [receipt] = await taskq.operator.aenqueue([activity_of(order)])
    return taskq.future(receipt.id)


@pytest.mark.parametrize(
    "options",
    [{}, {"queues": ["mail"]}, {"types": ["post"]}, {"types": "*"}, {"concurrency": 1}],
)
async def test_every_worker_carries_bulk_commands_out(options: dict[str, Any]) -> None:
    async with made() as taskq:
        future = await given(taskq)
        async with taskq.worker(**options):
            with anyio.fail_after(10):
                assert await future == {"done": 1, "skipped": 0}


async def test_a_burst_is_not_over_before_they_are_done() -> None:
    async with made() as taskq:
        first, second = await given(taskq), await given(taskq)
        await taskq.run_worker(burst=True)
        assert await first == await second == {"done": 1, "skipped": 0}


async def test_nothing_tells_of_them_where_the_worker_tells_what_it_serves() -> None:
    async with made() as taskq:
        future = await given(taskq)
        async with taskq.worker():
            with anyio.fail_after(10):
                await future
            [worker] = await taskq.client.call(taskq.client.store.workers)
        assert worker.queues == ("default", "mail")
        assert worker.types == ("post", "send")
        assert worker.serves(BULK, BULK)


async def test_they_are_not_unserved_while_a_worker_lives() -> None:
    async with made() as taskq:
        await given(taskq)
        unserved = taskq.client.store.unserved
        assert {gap.queue for gap in await taskq.client.call(unserved)} == {"default", BULK}
        await taskq.queues.apause(queue=BULK)
        async with taskq.worker():
            with anyio.fail_after(10):
                while not await taskq.client.call(taskq.client.store.workers):
                    await anyio.sleep(0.01)
            assert await taskq.client.call(unserved) == []


async def test_paused_they_wait() -> None:
    async with made() as taskq:
        await taskq.queues.apause(queue=BULK)
        future = await given(taskq)
        await taskq.run_worker(burst=True)
        assert (await future.ainfo()).status is Status.PENDING


async def test_one_that_has_crashed_often_runs_alone() -> None:
    """Isolated, it is found by the claim for isolated ones."""
    async with made() as taskq:
        send: Any = taskq.tasks["send"]
        waits = await send.aschedule(3600)
        order = Order(action=Action.CANCEL, actor="ada", ids=[waits.id])
        activity = replace(activity_of(order), max_crashes=1)
        [receipt] = await taskq.operator.aenqueue([activity])
        await taskq.run_worker(burst=True)
        assert (await taskq.client.ainfo(receipt.id)).status is Status.COMPLETED


def test_their_names_are_refused() -> None:
    taskq = TaskQ("memory://")
    with pytest.raises(ConfigurationError, match=r"taskq\.bulk.*taskq's own"):

        @taskq.activity(name=BULK)
        async def one() -> None: ...

    with pytest.raises(ConfigurationError, match="taskq's own"):

        @taskq.activity(queue=BULK)
        async def two() -> None: ...

    with pytest.raises(ConfigurationError, match="taskq's own"):

        @taskq.activity(aliases=[BULK])
        async def three() -> None: ...

    with pytest.raises(ConfigurationError, match="taskq's own"):
        taskq.queue(BULK)
    with pytest.raises(ConfigurationError, match="taskq's own"):
        TaskQ("memory://", queue=BULK)
    with pytest.raises(ConfigurationError, match="every worker serves it"):
        made().worker(queues=[BULK])
    assert BULK not in made().tasks


def test_they_are_asked_for_once_a_second() -> None:
    clock = ManualClock()
    reserved = Reserved((BULK,), clock)
    assert reserved.due() and not reserved.due()
    assert 0 < reserved.left <= EVERY
    clock.advance(EVERY)
    assert reserved.left == 0 and reserved.due()
    assert reserved.left == float("inf")
