"""Waiting for many activities at once, with a worker in this process."""

from __future__ import annotations

import tracemalloc
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import anyio
import pytest
from anyio.lowlevel import checkpoint

from taskq import (
    ActivityDeadLettered,
    ActivityFailed,
    ActivityFuture,
    ActivityNotFound,
    BackendError,
    InvalidState,
    SerializationError,
    TaskQ,
    as_completed,
    current,
    gather,
)
from taskq.model import Ended

MANY = 10_000


async def test_gather_gives_the_results_in_the_order_of_the_futures(app: TaskQ) -> None:
    first_may_end = anyio.Event()

    @app.activity
    async def double(n: int) -> int:
        if n == 0:
            await first_may_end.wait()
        first_may_end.set()
        return 2 * n

    async with app.worker():
        futures = await app.aenqueue([double.build(n) for n in range(5)])
        assert await gather(*futures) == [0, 2, 4, 6, 8]
        assert await gather(futures[3], futures[1], futures[3]) == [6, 2, 6]
    assert app.client.waiting == 0


async def test_gather_of_nothing_is_an_empty_list() -> None:
    assert await gather() == []


async def test_the_first_failure_is_raised_at_once_and_the_others_go_on(app: TaskQ) -> None:
    failed = anyio.Event()

    @app.activity(max_retries=0)
    async def fail() -> None:
        raise ValueError("no")

    @app.activity
    async def slow() -> str:
        await failed.wait()
        return "went on"

    async with app.worker():
        other = await slow.adelay()
        with pytest.raises(ActivityDeadLettered, match="no"):
            await gather(other, await fail.adelay())
        assert app.client.waiting == 0
        failed.set()
        assert await other == "went on"


async def test_failures_may_stand_in_the_list_instead(app: TaskQ) -> None:
    @app.activity(max_retries=0)
    async def halve(n: int) -> int:
        if n % 2:
            raise ValueError(f"{n} is odd")
        return n // 2

    async with app.worker():
        futures = await app.aenqueue([halve.build(n) for n in range(3)])
        unknown = halve.future(uuid4())
        results = await gather(*futures, unknown, return_exceptions=True)
    assert results[::2] == [0, 1]
    assert isinstance(results[1], ActivityFailed)
    assert results[1].error.message == "1 is odd"
    assert isinstance(results[3], ActivityNotFound)


async def test_a_result_that_does_not_fit_is_raised_in_either_case(app: TaskQ) -> None:
    @app.activity
    async def give() -> int:
        return cast("int", "text")

    async with app.worker():
        with pytest.raises(SerializationError):
            await gather(await give.adelay(), return_exceptions=True)


@pytest.mark.parametrize("function", [gather, as_completed])
def test_what_is_no_future_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) takes futures, as in .*\["):
        answer = function([["not a future"]])
        answer.send(None)


def test_gather_where_no_event_loop_runs_is_refused_at_once(taskq: TaskQ) -> None:
    future = taskq.future(uuid4())
    with pytest.raises(RuntimeError, match=r"in a thread use \[future\.result\(\) for future in"):
        gather(future)


async def test_gather_in_a_sync_handler_is_refused_at_once(app: TaskQ) -> None:
    @app.activity(max_retries=0)
    def parent(id: UUID) -> None:
        gather(app.future(id))

    async with app.worker():
        with pytest.raises(ActivityFailed, match="gather is for async code: await it there"):
            await (await parent.adelay(uuid4()))


def test_as_completed_in_a_plain_for_says_what_to_write(taskq: TaskQ) -> None:
    given: Any = as_completed([taskq.future(uuid4())])
    with pytest.raises(
        TypeError, match=r"async for future in as_completed\(futures\); in a thread"
    ):
        for _ in given:
            raise AssertionError("it gave something")


async def test_futures_may_come_from_a_generator(app: TaskQ) -> None:
    @app.activity
    async def double(n: int) -> int:
        return 2 * n

    async with app.worker():
        futures = await app.aenqueue([double.build(n) for n in range(3)])
        assert await gather(*(future for future in futures)) == [0, 2, 4]
        ended = as_completed(future for future in futures)
        assert sorted([await future async for future in ended]) == [0, 2, 4]
    many: Any = gather
    with pytest.raises(TypeError, match=r"as in gather\(\*futures\), not <generator"):
        many(future for future in futures)


async def test_as_completed_gives_each_future_as_it_ends(app: TaskQ) -> None:
    may_end = [anyio.Event() for _ in range(3)]

    @app.activity(max_retries=0)
    async def give(n: int) -> int:
        await may_end[n].wait()
        return n

    came: list[ActivityFuture[int]] = []
    async with app.worker():
        futures = await app.aenqueue([give.build(n) for n in range(3)])
        may_end[2].set()
        async for future in as_completed([*futures, futures[2]]):
            came.append(future)
            if len(came) == 2:
                may_end[0].set()
            if len(came) == 3:
                may_end[1].set()
    assert came == [futures[2], futures[2], futures[0], futures[1]]
    assert app.client.waiting == 0


async def test_awaiting_what_as_completed_gave_asks_the_store_no_more(
    app: TaskQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.activity(max_retries=0)
    async def halve(n: int) -> int:
        if n % 2:
            raise ValueError("odd")
        return n // 2

    async with app.worker():
        futures = await app.aenqueue([halve.build(n) for n in range(2)])
        ended = [future async for future in as_completed(futures)]
    monkeypatch.delattr(type(app.client.store), "outcomes")
    for future in ended:
        if future is futures[0]:
            assert await future == 0
            assert future.result() == 0
            assert await gather(future) == [0]
            assert [each async for each in as_completed([future])] == [future]
        else:
            with pytest.raises(ActivityFailed):
                await future


async def test_a_loop_that_is_left_waits_for_nothing_more(app: TaskQ) -> None:
    @app.activity
    async def give(n: int) -> int:
        if n:
            await anyio.sleep_forever()
        return n

    async with app.worker(shutdown_grace=0):
        futures = await app.aenqueue([give.build(n) for n in range(3)])
        async for future in as_completed(futures):
            assert future is futures[0]
            break
        assert app.client.waiting == 0


async def test_a_wait_that_was_cancelled_may_go_on(app: TaskQ) -> None:
    @app.activity
    async def give(n: int) -> int:
        return n

    futures = await app.aenqueue([give.build(n) for n in range(20)])
    endings = as_completed(futures)
    with anyio.move_on_after(0.01):
        await anext(endings)
    with anyio.move_on_after(0):
        await gather(*futures)
    assert app.client.waiting == 1
    came: list[int] = []
    async with app.worker():
        while len(came) < 20:
            with anyio.move_on_after(0.0005):
                async for future in endings:
                    came.append(await future if not future.settled else future.result())
    assert sorted(came) == list(range(20))
    assert app.client.waiting == 0


async def test_futures_of_several_apps_are_waited_for_together(app: TaskQ) -> None:
    other = TaskQ("memory://")

    @app.activity
    async def here(n: int) -> int:
        return n

    @other.activity(max_retries=0)
    async def there(n: int) -> int:
        if n < 0:
            raise ValueError("negative")
        return 10 * n

    mine = await app.aenqueue([here.build(n) for n in range(3)])
    theirs = await other.aenqueue([there.build(n) for n in (1, 2, -1)])
    async with app.worker(), other.worker():
        assert await gather(mine[0], theirs[0], mine[2], theirs[1]) == [0, 10, 2, 20]
        with pytest.raises(ActivityFailed):
            await gather(mine[0], theirs[2])
        ended = {future.id async for future in as_completed([*mine, *theirs])}
    assert ended == {future.id for future in (*mine, *theirs)}
    assert (app.client.waiting, other.client.waiting) == (0, 0)
    other.close()


@pytest.mark.parametrize("levels", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("way", ["await", "gather", "as_completed", "result"])
async def test_waiting_for_oneself_or_any_ancestor_is_an_error_at_once(
    taskq: TaskQ, levels: int, way: str
) -> None:
    """Down to a depth at which the handler itself does not know all of its ancestors."""

    @taskq.activity(max_retries=0)
    async def dig(left: int, path: list[str]) -> str:
        path = [*path, str(current().id)]
        if left:
            return await (await dig.adelay(left - 1, path))
        said: list[str] = []
        for id in path:
            future = dig.future(id)
            with pytest.raises(InvalidState) as caught:
                match way:
                    case "await":
                        await future
                    case "gather":
                        await gather(future)
                    case "as_completed":
                        await anext(as_completed([future]))
                    case _:
                        await anyio.to_thread.run_sync(future.result)
            said.append(str(caught.value))
        return said[-1]

    async with taskq.worker(concurrency=10):
        with anyio.fail_after(10):
            said = await (await dig.adelay(levels, []))
    assert "waits for itself" in said


async def test_a_deep_handler_asks_for_its_ancestors_once_and_only_for_what_it_did_not_make(
    taskq: TaskQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[UUID] = []
    ainfo = taskq.client.ainfo

    async def counted(id: UUID) -> object:
        asked.append(id)
        return await ainfo(id)

    monkeypatch.setattr(taskq.client, "ainfo", counted)

    @taskq.activity
    async def leaf() -> None: ...

    @taskq.activity
    async def dig(left: int, other: str) -> list[int]:
        if left:
            return await (await dig.adelay(left - 1, other))
        counts: list[int] = []
        await gather(*[await leaf.adelay() for _ in range(3)])
        counts.append(len(asked))
        for _ in range(3):
            await taskq.future(other)
        counts.append(len(asked))
        return counts

    async with taskq.worker(concurrency=10):
        other = await leaf.adelay()
        assert await (await dig.adelay(4, str(other.id))) == [0, 3]


async def test_what_keeps_the_store_from_telling_is_raised(
    app: TaskQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.activity
    async def give() -> None: ...

    async def broken(ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        raise BackendError("the disk is gone")

    futures = await app.aenqueue([give.build() for _ in range(3)])
    monkeypatch.setattr(app.client.store, "outcomes", broken)
    for many in (gather(*futures, return_exceptions=True), anext(as_completed(futures))):
        with pytest.raises(BackendError, match="the disk is gone"):
            await many
    assert app.client.waiting == 0


async def test_a_long_wait_for_many_is_said_once_with_one_of_them(
    app: TaskQ, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("taskq.watcher.SLOW", 0.0)
    monkeypatch.setattr("taskq.watcher.FIRST_POLL", 0.01)

    @app.activity
    async def give() -> None: ...

    futures = await app.aenqueue([give.build() for _ in range(3)])
    with anyio.move_on_after(0.2):
        await gather(*futures)
    [said] = [record.getMessage() for record in caplog.records]
    assert "give" in said
    assert "is still pending" in said
    assert "and 2 others are waited for with it" in said


async def test_nothing_is_said_of_what_has_just_ended(
    app: TaskQ, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("taskq.watcher.SLOW", 0.0)
    monkeypatch.setattr("taskq.watcher.FIRST_POLL", 0.01)

    @app.activity
    async def give() -> None: ...

    future = await give.adelay()
    await future.acancel()
    outcomes = app.client.store.outcomes

    async def late(ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        return {} if isinstance(ids, set) else await outcomes(ids)  # a sweep's ids are a set

    monkeypatch.setattr(app.client.store, "outcomes", late)
    with anyio.move_on_after(0.1):
        await future
    assert caplog.records == []


class Counted:
    """Counts the questions put to a store about how activities ended."""

    def __init__(self, app: TaskQ, monkeypatch: pytest.MonkeyPatch) -> None:
        self.questions = 0
        self.ids = 0
        self._outcomes = app.client.store.outcomes
        monkeypatch.setattr(app.client.store, "outcomes", self)

    async def __call__(self, ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        self.questions += 1
        self.ids += len(ids)
        return await self._outcomes(ids)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_fan_out_of_thousands_with_one_join_takes_few_questions(
    kind: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """seed:S1"""
    many = 2_000
    file = f"sqlite:///{tmp_path}/fan_out.db"
    app = TaskQ(request.getfixturevalue("postgres_url") if kind == "postgres" else file)

    @app.activity
    async def leaf(n: int) -> int:
        return n

    @app.activity(timeout=None)
    async def root() -> int:
        futures = await app.aenqueue([leaf.build(n) for n in range(many)])
        return sum(await gather(*futures))

    counted = Counted(app, monkeypatch)
    async with app, app.worker(concurrency=50):
        total = await (await root.adelay())
    assert total == sum(range(many))
    assert counted.questions < many / 20
    assert counted.ids < 20 * many


async def test_ten_thousand_awaited_together_are_one_wait_in_bounded_memory(taskq: TaskQ) -> None:
    @taskq.activity
    async def leaf(n: int) -> int:
        return n

    futures = await taskq.aenqueue([leaf.build(n) for n in range(MANY)])
    tracemalloc.start()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(gather, *futures)
            while not taskq.client.waiting:
                await checkpoint()
            held, _ = tracemalloc.get_traced_memory()
            assert taskq.client.waiting == 1
            group.cancel_scope.cancel()
    finally:
        tracemalloc.stop()
    assert held < 1024 * MANY
    assert taskq.client.waiting == 0
