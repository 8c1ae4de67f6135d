"""Calls that are made at once go to the store together, and none shares another's failure."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from taskq.errors import BackendUnavailable, Unstorable
from taskq.identifiers import new_id
from taskq.model import Activity, Receipt
from taskq.outbox import MOST, ROWS, Outbox


class Shop:
    """A store that answers when told to. Payload ``bad`` is refused, and so is all with it."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.open = anyio.Event()
        self.away = False
        self.most = self._now = 0

    async def submit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        self.batches.append(len(activities))
        self._now += 1
        self.most = max(self.most, self._now)
        await self.open.wait()
        self._now -= 1
        if self.away:
            raise BackendUnavailable("away")
        if any(each.payload == "bad" for each in activities):
            raise Unstorable("no")
        return [Receipt(each.id, True) for each in activities]


def call(payload: str = "{}") -> Activity[Any]:
    id = new_id()
    return Activity(id=id, type="work", queue="q", payload=payload, root_id=id, origin_id=id)


def outbox(shop: Shop, group: TaskGroup) -> Outbox:
    def spawn(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        group.start_soon(function)

    return Outbox(shop.submit, spawn)


async def test_what_comes_while_others_are_on_their_way_goes_together() -> None:
    shop, calls = Shop(), [[call()] for _ in range(MOST + 20)]
    answers: dict[int, list[Receipt]] = {}
    async with anyio.create_task_group() as group:
        box = outbox(shop, group)

        async def store(number: int) -> None:
            answers[number] = await box.store(calls[number])

        for number in range(len(calls)):
            group.start_soon(store, number)
        await anyio.wait_all_tasks_blocked()
        assert shop.batches == [1] * MOST
        shop.open.set()

    assert shop.batches == [*[1] * MOST, 20]
    assert {number: answer[0].id for number, answer in answers.items()} == {
        number: one.id for number, [one] in enumerate(calls)
    }


async def test_a_call_that_the_store_refuses_fails_alone() -> None:
    shop, failed, stored = Shop(), [], []
    async with anyio.create_task_group() as group:
        box = outbox(shop, group)

        async def store(payload: str) -> None:
            try:
                stored.append(len(await box.store([call(payload), call()])))
            except Unstorable:
                failed.append(payload)

        for payload in [*["{}"] * MOST, "{}", "bad", "{}"]:
            group.start_soon(store, payload)
        await anyio.wait_all_tasks_blocked()
        shop.open.set()

    assert (failed, stored) == (["bad"], [2] * (MOST + 2))


async def test_a_store_that_is_away_is_asked_once_and_fails_all() -> None:
    shop, failures = Shop(), 0
    shop.away = True
    async with anyio.create_task_group() as group:
        box = outbox(shop, group)

        async def store() -> None:
            nonlocal failures
            with pytest.raises(BackendUnavailable):
                await box.store([call()])
            failures += 1

        for _ in range(MOST + 5):
            group.start_soon(store)
        await anyio.wait_all_tasks_blocked()
        shop.open.set()

    assert failures == MOST + 5
    assert shop.batches == [*[1] * MOST, 5]


async def test_a_caller_that_gives_up_before_its_call_was_sent_has_stored_nothing() -> None:
    shop = Shop()
    async with anyio.create_task_group() as group:
        box = outbox(shop, group)
        for _ in range(MOST):
            group.start_soon(box.store, [call()])
        await anyio.wait_all_tasks_blocked()
        with anyio.move_on_after(0):
            await box.store([call()])
        shop.open.set()

    assert shop.batches == [1] * MOST


async def test_no_more_rows_go_together_than_a_submit_is_to_have() -> None:
    shop = Shop()
    async with anyio.create_task_group() as group:
        box = outbox(shop, group)
        for count in [*[1] * MOST, ROWS - 1, 2, 3 * ROWS]:
            group.start_soon(box.store, [call() for _ in range(count)])
            await anyio.wait_all_tasks_blocked()
        shop.open.set()

    assert shop.batches[:MOST] == [1] * MOST
    assert sorted(shop.batches[MOST:]) == [2, ROWS - 1, 3 * ROWS]


async def test_what_comes_later_does_not_overtake() -> None:
    shop = Shop()
    async with anyio.create_task_group() as group:
        box = outbox(shop, group)
        for _ in range(MOST):
            group.start_soon(box.store, [call()])
        await anyio.wait_all_tasks_blocked()
        group.start_soon(box.store, [call()] * 2)
        await anyio.wait_all_tasks_blocked()
        shop.open.set()
        await box.store([call()] * 3)

    assert shop.batches[MOST] in (2, 5)
    assert max(shop.most, 1) <= MOST


async def test_a_store_that_never_answers_holds_nobody_up_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Connections may die silently; whoever went with others is told, and tries again."""
    monkeypatch.setattr("taskq.outbox.SECONDS", 0.05)
    shop = Shop()
    async with anyio.create_task_group() as group:
        box = outbox(shop, group)

        async def directly() -> None:
            with anyio.move_on_after(0.05):  # the deadline of its caller
                await box.store([call()])

        for _ in range(MOST):
            group.start_soon(directly)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(BackendUnavailable, match="did not answer"):
            await box.store([call()])
        shop.open.set()

        assert len(await box.store([call()])) == 1
