"""Parents, children and what handlers see (seed:S3-S6, Q11; D24)."""

from __future__ import annotations

from uuid import UUID

import anyio
import pytest

from taskq import (
    ActivityDeadLettered,
    ActivityFailed,
    BackendUnavailable,
    Context,
    DeadLetter,
    DepthExceeded,
    ErrorKind,
    RetryError,
    RetryPolicy,
    Snooze,
    Status,
    TaskQ,
    current,
    current_or_none,
)
from taskq.snapshot import ActivityInfo, Filter, Page
from tests.calls.conftest import NewApp

SOON = RetryPolicy(initial_delay=0.01)


def seen(context: Context) -> dict[str, object]:
    return {
        "id": str(context.id),
        "parent": str(context.parent_id),
        "root": str(context.root_id),
        "depth": context.depth,
        "correlation": context.correlation_id,
        "user": context.user_id,
        "source": context.source,
        "tags": dict(context.tags),
        "metadata": dict(context.metadata),
        "attempt": context.attempt,
        "max_retries": context.max_retries,
    }


def test_outside_a_handler_there_is_no_context() -> None:
    with pytest.raises(LookupError, match="no activity"):
        current()
    assert current_or_none() is None


async def test_a_handler_sees_its_activity(app: TaskQ) -> None:
    """seed:S6, seed:Q17"""

    @app.activity(max_retries=7)
    async def look() -> dict[str, object]:
        return seen(current())

    options = look.options(
        correlation_id="c", user_id="u", source="web", tags={"a": "b"}, metadata={"n": 1}
    )
    async with app.worker():
        future = await options.adelay()
        result = await future
    assert result == {
        "id": str(future.id),
        "parent": "None",
        "root": str(future.id),
        "depth": 0,
        "correlation": "c",
        "user": "u",
        "source": "web",
        "tags": {"a": "b"},
        "metadata": {"n": 1},
        "attempt": 1,
        "max_retries": 7,
    }


async def test_a_call_in_a_handler_is_a_child_sync_or_async(app: TaskQ) -> None:
    """seed:S3, seed:S4, seed:E32, D29"""

    @app.activity
    def look() -> dict[str, object]:
        return seen(current())

    @app.activity
    def sync_parent() -> dict[str, object]:
        return look.delay().result(timeout=10)

    @app.activity
    async def parent() -> dict[str, object]:
        return await (await sync_parent.adelay())

    async with app.worker():
        future = await parent.options(correlation_id="c", user_id="u").adelay()
        grandchild = await future
    assert grandchild["root"] == str(future.id)
    assert grandchild["depth"] == 2
    assert (grandchild["correlation"], grandchild["user"]) == ("c", "u")


async def test_as_root_detaches_a_call_but_keeps_its_origin(app: TaskQ) -> None:
    """seed:Q11, D24"""
    made: list[UUID] = []

    @app.activity
    async def audit() -> str:
        return str(current().origin_id)

    @app.activity
    async def parent() -> str:
        future = await audit.options(as_root=True).adelay()
        made.append(future.id)
        return await future

    async with app.worker():
        future = await parent.adelay()
        origin = await future
        info = await audit.future(made[0]).ainfo()
    assert (info.parent_id, info.root_id, info.depth) == (None, made[0], 0)
    assert origin == str(future.id)


async def test_a_child_too_deep_is_refused_and_fails_its_caller_for_good(app: TaskQ) -> None:
    """seed:S5, seed:E11"""

    @app.activity
    async def dig(levels: int) -> int:
        return 1 + await (await dig.adelay(levels - 1)) if levels else 0

    app.client.max_depth = 3
    async with app.worker(concurrency=10):
        assert await (await dig.adelay(3)) == 3
        with pytest.raises(ActivityFailed) as caught:
            await (await dig.adelay(4))
    assert type(caught.value) is ActivityFailed


async def test_too_deep_names_the_chain_of_its_callers(app: TaskQ) -> None:
    """seed:S5: from the root down, in sync and in async handlers alike."""

    @app.activity
    async def dig(levels: int) -> None:
        await (await dig.adelay(levels - 1))

    @app.activity
    def bore() -> None:
        dig.delay(9).result(timeout=10)

    @app.activity
    def drill() -> None:
        drill.delay().result(timeout=10)

    app.client.max_depth = 3
    async with app.worker(concurrency=10):
        with pytest.raises(ActivityFailed) as caught:
            await (await bore.adelay())
        with pytest.raises(ActivityFailed) as sync:
            await (await drill.adelay())
    deep = [await ended_deepest(app, error.value.id) for error in (caught, sync)]
    assert "Callers: bore > dig (3 times)" in deep[0]
    assert "Callers: drill (4 times)" in deep[1]


async def ended_deepest(app: TaskQ, root: UUID) -> str:
    """What the deepest activity of a tree died of."""
    page = await app.client.call(app.client.store.list, Filter(root_id=root), Page())
    [deepest] = [info for info in page.items if info.depth == 3]
    assert deepest.error is not None
    assert deepest.error.type == "taskq.errors.DepthExceeded"
    return deepest.error.message


@pytest.mark.parametrize("how", ["build", "build_json", "draft"])
async def test_what_is_built_too_deep_says_what_is_known_here(taskq: TaskQ, how: str) -> None:
    """The sentence of ``delay`` without its chain, for which the store would have to be asked."""

    @taskq.activity
    async def dig() -> str:
        with pytest.raises(DepthExceeded) as delayed:
            await dig.adelay()
        with pytest.raises(DepthExceeded) as built:
            match how:
                case "build":
                    dig.build()
                case "build_json":
                    dig.build_json("{}")
                case _:
                    dig.draft("{}")
        assert {type(error.value) for error in (delayed, built)} == {DepthExceeded}
        assert str(delayed.value) == f"{built.value}. Callers: {current().type}"
        return str(built.value)

    taskq.client.max_depth = 0
    async with taskq.worker():
        future = await dig.adelay()
        message = await future
    assert f"generation 1 below its root {future.id}" in message


async def test_without_the_store_too_deep_says_what_is_known(taskq: TaskQ) -> None:
    @taskq.activity
    async def dig() -> str:
        taskq.client.store.get = unavailable  # type: ignore[method-assign]
        with pytest.raises(DepthExceeded) as caught:
            await dig.adelay()
        return str(caught.value)

    async def unavailable(_: object) -> dict[UUID, ActivityInfo]:
        raise BackendUnavailable("away")

    taskq.client.max_depth = 0
    async with taskq.worker():
        message = await (await dig.adelay())
    assert "max_depth is 0" in message
    assert "Callers" not in message


async def test_roots_made_by_handlers_are_counted_and_can_be_capped(new_app: NewApp) -> None:
    """D24: a loop through as_root is seen, its origin named, and stopped where that is wanted."""
    app = new_app(max_generations=2, poll_interval=0.05)
    made: list[UUID] = []
    refused: list[str] = []

    @app.activity
    async def leaf() -> int:
        return current().generation

    @app.activity
    async def again() -> int:
        try:
            made.append((await again.options(as_root=True).adelay()).id)
        except DepthExceeded as error:
            refused.append(str(error))
        return await (await leaf.adelay())

    async with app.worker():
        first = await again.adelay()
        counts = [await first]
        while len(counts) < 3:
            counts.append(await again.future(made[len(counts) - 1]))
    infos = [await again.future(id).ainfo() for id in made]
    assert counts == [0, 1, 2]
    assert [info.generation for info in infos] == [1, 2]
    assert {info.origin_id for info in infos} == {first.id}
    [message] = refused
    assert f"root number 3 after the first one {first.id}" in message
    assert "max_generations is 2. Callers: again" in message


async def test_a_handler_of_one_app_makes_roots_in_another(app: TaskQ) -> None:
    other = TaskQ("memory://")

    @other.activity
    async def elsewhere() -> None: ...

    @app.activity
    async def parent() -> str:
        return str((await elsewhere.adelay()).id)

    async with app.worker():
        id = await (await parent.adelay())
    info = await elsewhere.future(id).ainfo()
    assert (info.parent_id, info.depth, info.root_id) == (None, 0, info.id)


async def test_an_uncaught_child_failure_fails_the_parent_without_retry(app: TaskQ) -> None:
    """seed:S2, D20"""

    @app.activity(max_retries=0)
    async def child() -> None:
        raise ValueError("no")

    @app.activity(max_retries=5, retry=SOON)
    async def parent() -> None:
        await (await child.adelay())

    async with app.worker():
        with pytest.raises(ActivityFailed) as caught:
            await (await parent.adelay())
    assert caught.value.error.kind is ErrorKind.CHILD
    assert caught.value.error.attempts == 1


async def test_a_child_failure_may_be_retried_by_its_parent(app: TaskQ) -> None:
    @app.activity(max_retries=0)
    async def child() -> None:
        raise ValueError("no")

    @app.activity(max_retries=1, retry=SOON, on_child_failure="retry")
    async def parent() -> None:
        await (await child.adelay())

    async with app.worker():
        with pytest.raises(ActivityDeadLettered) as caught:
            await (await parent.adelay())
    assert caught.value.error.attempts == 2


async def test_a_handler_may_branch_on_its_attempt(app: TaskQ) -> None:
    """seed:R16"""

    @app.activity(max_retries=5)
    async def resilient() -> int:
        if current().retry_count < 2:
            raise RetryError("not yet", delay=0.01)
        return current().attempt

    async with app.worker():
        assert await (await resilient.adelay()) == 3


async def test_a_snooze_costs_no_retry(app: TaskQ) -> None:
    rounds: list[int] = []

    @app.activity(max_retries=0)
    async def patient() -> int:
        rounds.append(current().retry_count)
        if len(rounds) < 4:
            raise Snooze(0.01)
        return current().attempt

    async with app.worker():
        assert await (await patient.adelay()) == 1
    assert rounds == [0, 0, 0, 0]


async def test_hooks_run_as_children_with_the_dead_letter(app: TaskQ) -> None:
    """seed:R13, seed:R17, D32"""
    dead: list[DeadLetter] = []
    hooked = anyio.Event()
    order: list[str] = []

    def on_dead(letter: DeadLetter) -> None:
        dead.append(letter)
        order.append(current().type)

    async def on_failure(letter: DeadLetter) -> None:
        order.append(current().type)
        hooked.set()

    @app.activity(max_retries=1, retry=SOON, on_dead_letter=on_dead, on_failure=on_failure)
    async def fail(order: str) -> None:
        raise ValueError(order)

    async with app.worker(concurrency=1):
        future = await fail.options(metadata={"m": 1}).adelay("42")
        with pytest.raises(ActivityDeadLettered):
            await future
        with anyio.fail_after(10):
            await hooked.wait()
    (letter,) = dead
    assert (letter.id, letter.type, letter.arguments) == (future.id, "fail", {"order": "42"})
    assert (letter.retry_count, letter.metadata) == (1, {"m": 1})
    assert letter.error.message == "42"
    assert order == ["fail:on_dead_letter", "fail:on_failure"]


async def test_an_alias_runs_activities_of_an_older_name(app: TaskQ) -> None:
    """reliability D8"""

    @app.activity(name="new", aliases=["old"])
    async def renamed() -> str:
        return current().type

    old = renamed.build()
    from msgspec.structs import replace

    async with app.worker():
        (future,) = await app.aenqueue([replace(old, type="old")])
        assert await future == "old"


async def test_arguments_that_no_longer_fit_fail_that_activity_alone(app: TaskQ) -> None:
    """reliability D9"""
    from msgspec.structs import replace

    @app.activity
    async def send(to: str) -> str:
        return to

    good = send.build("a")
    bad = replace(send.build("b"), payload='{"recipient":"b"}')
    worse = replace(send.build("c"), payload="not json")
    async with app.worker():
        futures = await app.aenqueue([bad, good, worse])
        assert await futures[1] == "a"
        for future in (futures[0], futures[2]):
            with pytest.raises(ActivityFailed) as caught:
                await future
            assert caught.value.error.kind is ErrorKind.ARGUMENTS
            assert caught.value.error.attempts == 1


async def test_a_result_that_cannot_be_stored_fails_that_activity_alone(app: TaskQ) -> None:
    """reliability C6"""

    @app.activity
    async def give(good: bool) -> float:
        return 1.0 if good else float("nan")

    async with app.worker():
        futures = await app.aenqueue([give.build(False), give.build(True)])
        assert await futures[1] == 1.0
        with pytest.raises(ActivityFailed) as caught:
            await futures[0]
    assert caught.value.error.kind is ErrorKind.RESULT


async def test_a_type_that_no_worker_knows_waits(app: TaskQ) -> None:
    """D9, bug:B12: left for a worker that knows it"""
    from msgspec.structs import replace

    @app.activity
    async def known() -> None: ...

    unknown = replace(known.build(), type="nobody_knows")
    app.client.submit([unknown])
    async with app.worker():
        await (await known.adelay())
        info: ActivityInfo = await app.future(unknown.id).ainfo()
        gaps = await app.client.call(app.client.store.unserved)
    assert info.status is Status.PENDING
    assert [(gap.type, gap.waiting) for gap in gaps] == [("nobody_knows", 1)]


async def test_a_hook_may_be_a_task_or_an_object_with_an_async_call(app: TaskQ) -> None:
    told: list[str] = []
    done = anyio.Event()

    @app.activity
    async def notify(dead: DeadLetter) -> None:
        told.append("task")

    class Hook:
        async def __call__(self, dead: DeadLetter) -> None:
            told.append("object")
            done.set()

    @app.activity(max_retries=0, on_dead_letter=notify, on_failure=Hook())
    async def fail() -> None:
        raise ValueError("no")

    async with app.worker(concurrency=1):
        await fail.adelay()
        with anyio.fail_after(10):
            await done.wait()
    assert told == ["task", "object"]
