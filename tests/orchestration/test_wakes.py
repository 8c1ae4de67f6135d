"""Whatever way a child ends, its parent is woken, once (promise:G13; D21)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from taskq import (
    ActivityCancelled,
    ActivityDeadLettered,
    ActivityError,
    ActivityFailed,
    ActivityFuture,
    ActivityNotFound,
    NonRetryError,
    TaskQ,
)
from taskq.backends.memory import MemoryBackend
from taskq.model import ErrorKind
from tests.orchestration.conftest import permits_are_whole

Ending = Callable[[ActivityFuture[Any]], Awaitable[None]]


class Family:
    """A parent that awaits one child, and says how that ended; ``woken`` counts how often."""

    def __init__(self, app: TaskQ, **options: Any) -> None:
        self.woken: Counter[str] = Counter()
        self.waits = anyio.Event()
        self.child: ActivityFuture[Any] | None = None

        @app.activity(max_retries=0)
        async def child(how: str) -> str:
            if how == "fails":
                raise NonRetryError("no")
            if how == "dies":
                raise RuntimeError("no")
            return how

        @app.activity(max_retries=0)
        async def parent(how: str) -> str:
            self.child = await child.options(**options).adelay(how)
            self.waits.set()
            try:
                answer = await self.child
            except ActivityError as error:
                answer = type(error).__name__
                if isinstance(error, ActivityFailed):
                    answer += f" {error.error.kind}"
            self.woken[answer] += 1
            return answer

        self.parent = parent


@pytest.mark.parametrize(
    ("how", "answer"),
    [
        ("completes", "completes"),
        ("fails", f"{ActivityFailed.__name__} {ErrorKind.ERROR}"),
        ("dies", f"{ActivityDeadLettered.__name__} {ErrorKind.ERROR}"),
    ],
)
async def test_a_child_that_ends_by_itself(stored: TaskQ, how: str, answer: str) -> None:
    """promise:G13"""
    family = Family(stored)

    async with stored.worker(concurrency=1) as worker:
        assert await (await family.parent.adelay(how)) == answer
        await permits_are_whole(worker)
    assert family.woken == {answer: 1}


async def test_a_child_that_is_cancelled(stored: TaskQ) -> None:
    """promise:G13"""
    family = Family(stored, delay=1000)

    async with stored.worker(concurrency=1) as worker:
        future = await family.parent.adelay("never")
        await family.waits.wait()
        assert family.child is not None
        await family.child.acancel()
        assert await future == ActivityCancelled.__name__
        await permits_are_whole(worker)
    assert family.woken == {ActivityCancelled.__name__: 1}


async def test_a_child_that_expires(stored: TaskQ) -> None:
    """promise:G13"""
    family = Family(stored, delay=1000, expires=0.1)

    async with stored.worker(concurrency=1, reaper_interval=0.1) as worker:
        answer = await (await family.parent.adelay("never"))
        await permits_are_whole(worker)
    assert answer == ActivityCancelled.__name__
    assert family.woken == {answer: 1}


async def test_a_child_that_is_past_its_deadline(stored: TaskQ) -> None:
    """promise:G13"""
    family = Family(stored, delay=1000, deadline=0.1)

    async with stored.worker(concurrency=1, reaper_interval=0.1) as worker:
        answer = await (await family.parent.adelay("never"))
        await permits_are_whole(worker)
    assert answer == f"{ActivityFailed.__name__} {ErrorKind.DEADLINE}"
    assert family.woken == {answer: 1}


async def test_a_child_that_is_deleted(app: TaskQ) -> None:
    """promise:G13"""
    family = Family(app, delay=1000)

    async with app.worker(concurrency=1) as worker:
        future = await family.parent.adelay("never")
        await family.waits.wait()
        store = app.client.store
        assert isinstance(store, MemoryBackend)
        assert family.child is not None
        del store._tables.rows[family.child.id]
        assert await future == ActivityNotFound.__name__
        await permits_are_whole(worker)
    assert family.woken == {ActivityNotFound.__name__: 1}


async def test_children_that_end_at_the_same_instant(stored: TaskQ) -> None:
    """promise:G13, fault:C14"""
    woken: Counter[int] = Counter()

    @stored.activity
    async def child(value: int) -> int:
        return value

    @stored.activity
    async def parent(number: int) -> int:
        futures = await stored.aenqueue([child.build(value) for value in range(10)])
        total = 0

        async def one(future: ActivityFuture[int]) -> None:
            nonlocal total
            value = await future
            total += value

        async with anyio.create_task_group() as group:
            for future in futures:
                group.start_soon(one, future)
        woken[number] += 1
        return total

    async with stored.worker(concurrency=2) as one, stored.worker(concurrency=2) as other:
        futures = await stored.aenqueue([parent.build(number) for number in range(10)])
        assert [await future for future in futures] == [45] * 10
        await permits_are_whole(one)
        await permits_are_whole(other)
    assert woken == dict.fromkeys(range(10), 1)
