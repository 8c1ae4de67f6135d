"""A bulk command that is begun again: it goes on behind what is on record. threat:T22"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from taskq import NonRetryError, TaskQ
from taskq.audit import Command
from taskq.backends.memory import MemoryBackend
from taskq.bulk import journal
from taskq.bulk.action import Action
from taskq.bulk.handler import Standing, standing_of
from taskq.bulk.order import Order, activity_of, order_of
from taskq.errors import SerializationError
from taskq.model import Priority, Status
from tests.faulty import FaultyBackend


@pytest.fixture
def store() -> FaultyBackend:
    return FaultyBackend(MemoryBackend())


@pytest.fixture
async def app(store: FaultyBackend) -> AsyncIterator[TaskQ]:
    async with TaskQ(backend=store) as taskq:

        @taskq.activity
        async def send(to: str) -> None:
            raise NonRetryError("there is nobody")

        yield taskq


async def failed(app: TaskQ, count: int) -> list[UUID]:
    """The ids of so many that have failed, the oldest first."""
    send: Any = app.tasks["send"]
    futures = await app.aenqueue([send.build(to="a") for _ in range(count)])
    await app.run_worker(burst=True)
    await app.queues.apause(queue="default")
    return [future.id for future in futures]


async def given(app: TaskQ, **more: Any) -> UUID:
    """A bulk retry of all that have failed, in chunks of two."""
    order = Order(action=Action.RETRY, actor="ada", filter="status:failed", size=2, **more)
    [receipt] = await app.operator.aenqueue([activity_of(order)], action="bulk.retry")
    return receipt.id


async def retried(app: TaskQ) -> list[str]:
    """The ids of all chunks on record, in their order."""
    entries = [
        each
        for each in await app.operator.aaudit()
        if each.action == "retry" and each.actor == "ada"
    ]
    return [str(id) for entry in reversed(entries) for id in list[object](entry.detail["ids"])]


async def test_after_a_lost_reply_it_goes_on_behind_what_was_done(
    app: TaskQ, store: FaultyBackend
) -> None:
    """The second chunk is done, but nobody is told: it is on record, and not done again."""
    ids = await failed(app, 5)
    bulk = await given(app)
    store.fail("retry", after=True, times=1)

    await app.run_worker(burst=True)
    assert (await app.client.ainfo(bulk)).status is Status.RETRYING
    await app.operator.arun_now([bulk])
    await app.run_worker(burst=True)

    assert await retried(app) == [str(id) for id in ids]
    assert await app.future(bulk) == {"done": 5, "skipped": 0}


async def test_what_fails_again_meanwhile_is_not_met_again(
    app: TaskQ, store: FaultyBackend
) -> None:
    """Two have been retried and fail again before the command goes on: they match, and are left."""
    ids = await failed(app, 4)
    bulk = await given(app)
    store.fail("retry", after=True, times=1)
    await app.run_worker(burst=True)
    await app.queues.aresume(queue="default")
    await app.run_worker(burst=True)
    assert (await app.client.ainfo(ids[0])).status is Status.FAILED

    await app.operator.arun_now([bulk])
    await app.run_worker(burst=True)

    assert await retried(app) == [str(id) for id in ids]


async def test_what_failed_before_it_was_done_is_done_then(
    app: TaskQ, store: FaultyBackend
) -> None:
    ids = await failed(app, 5)
    bulk = await given(app)
    store.fail("retry", after=False, times=1)

    await app.run_worker(burst=True)
    await app.operator.arun_now([bulk])
    await app.run_worker(burst=True)

    assert await retried(app) == [str(id) for id in ids]


async def test_a_chunk_that_another_run_was_first_with_counts_as_it_did_it(
    app: TaskQ, store: FaultyBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was thought lost goes on: both take the first chunk, one of them is first."""
    ids = await failed(app, 5)
    bulk = await given(app)
    command = Command(actor="ada", id=journal.command_id(bulk, 0))
    retry, calls = store.retry, store.calls

    async def late(*args: Any, **how: Any) -> Any:
        if not calls["retry"]:
            await retry(ids[:1], command=command)
        return await retry(*args, **how)

    monkeypatch.setattr(store, "retry", late)
    await app.run_worker(burst=True)
    if (await app.client.ainfo(bulk)).status is not Status.COMPLETED:
        await app.operator.arun_now([bulk])
        await app.run_worker(burst=True)

    assert await retried(app) == [str(id) for id in ids]
    assert await app.future(bulk) == {"done": 5, "skipped": 0}


async def test_no_more_than_its_limit_are_taken(app: TaskQ) -> None:
    ids = await failed(app, 5)
    bulk = await given(app, limit=3)
    await app.run_worker(burst=True)
    assert await retried(app) == [str(id) for id in ids[:3]]
    assert await app.future(bulk) == {"done": 3, "skipped": 0}


async def test_a_failed_one_that_goes_round_again_goes_on_where_it_was(
    app: TaskQ, store: FaultyBackend
) -> None:
    ids = await failed(app, 4)
    bulk = await given(app, rate=0.5)
    await app.run_worker(burst=True)
    await app.operator.acancel(bulk)
    await app.operator.aretry(bulk)
    await app.run_worker(burst=True)
    await app.operator.arun_now([bulk])
    await app.run_worker(burst=True)
    assert await retried(app) == [str(id) for id in ids]


def test_an_order_comes_back_from_its_activity_as_it_was() -> None:
    order = Order(
        action=Action.PRIORITY,
        actor="ada",
        filter="type:a",
        priority=Priority.LOW,
        changes={"size": 10**30},
    )
    assert order_of(activity_of(order).payload) == order


@pytest.mark.parametrize("payload", ["{}", "[]", '{"action":"burn","actor":"a"}', "{"])
def test_what_is_no_order_says_so(payload: str) -> None:
    with pytest.raises(SerializationError):
        order_of(payload)


def test_a_note_that_is_not_a_standing_says_nothing() -> None:
    assert standing_of(3, "half way") == Standing()
    standing = Standing(chunk=2, met=5, skipped=1, problem="p")
    assert standing_of(5, standing.note) == standing
