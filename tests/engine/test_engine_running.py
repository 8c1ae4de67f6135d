"""Running activities: results, arguments, failures, middleware, context."""

from __future__ import annotations

import time

import anyio
import anyio.lowlevel
import pytest

from taskq import events
from taskq.context import Context, current
from taskq.errors import (
    ActivityCancelled,
    ActivityFailed,
    NonRetryError,
    RetryError,
    Snooze,
)
from taskq.identifiers import new_id
from taskq.middleware import Next
from taskq.model import ErrorInfo, ErrorKind, Policy, Status
from taskq.retry import RetryPolicy
from tests.engine.world import QUICK, World, until


async def test_a_handler_gets_its_arguments_and_its_result_is_stored(world: World) -> None:
    async def add(left: int, right: int) -> int:
        return left + right

    world.on("add", add)
    id = await world.submit("add", '{"left":2,"right":3}')

    async with world.running(world.engine()):
        info = await world.ended(id)

    assert (info.status, info.result) == (Status.COMPLETED, "5")
    assert [type(event) for event in world.events if isinstance(event, events.AttemptEvent)] == [
        events.Started,
        events.Completed,
    ]


async def test_an_activity_that_comes_while_the_worker_is_idle_is_started_by_its_hint(
    world: World,
) -> None:
    async def noop() -> None: ...

    world.on("noop", noop)
    async with world.running(world.engine(poll_interval=60.0, poll_max=60.0)):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        await anyio.sleep(0.05)
        info = await world.ended(await world.submit("noop"), within=5)

    assert info.status is Status.COMPLETED


async def test_without_hints_polling_alone_finds_it(world: World) -> None:
    """design 7.8: notifications are hints."""

    async def noop() -> None: ...

    world.on("noop", noop)
    store = world.view()
    store.hang("watch")
    async with world.running(world.engine(store, **QUICK), grace=0):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        info = await world.ended(await world.submit("noop"), within=5)

    assert info.status is Status.COMPLETED


async def test_the_handler_runs_in_the_context_of_its_attempt(world: World) -> None:
    seen: list[Context] = []

    async def look() -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(current())

    world.on("look", look)
    engine = world.engine()
    id = await world.submit("look", user_id="u1", metadata='{"a":1}')
    async with world.running(engine):
        await world.ended(id)

    (context,) = seen
    assert (context.id, context.type, context.user_id) == (id, "look", "u1")
    assert (context.attempt, context.worker, context.owner) == (1, engine.id, world)
    with pytest.raises(LookupError):
        current()


async def test_a_burst_returns_when_everything_is_done(world: World) -> None:
    async def noop() -> None:
        await anyio.sleep(0.001)

    world.on("noop", noop)
    ids = await world.submit_many("noop", 300)
    later = await world.submit("noop", delay=3600.0)

    with anyio.fail_after(20):
        await world.engine(burst=True, concurrency=7).run()

    assert set(await world.statuses(ids)) == {Status.COMPLETED}
    assert await world.status(later) is Status.SCHEDULED
    assert await world.memory.workers() == []


async def test_a_burst_runs_what_it_brings_about(world: World) -> None:
    """What a handler enqueues is found by the last claim, however late it came."""

    async def spread(left: int) -> None:
        if left:
            await world.submit("spread", f'{{"left":{left - 1}}}')

    world.on("spread", spread)
    await world.submit("spread", '{"left":20}')
    with anyio.fail_after(20):
        await world.engine(burst=True).run()

    assert await world.count(Status.COMPLETED) == 21


async def test_a_burst_runs_isolated_activities_too(world: World) -> None:
    async def noop() -> None: ...

    world.on("noop", noop)
    isolated = await world.submit_many("noop", 3, max_crashes=1)
    plain = await world.submit_many("noop", 3)
    with anyio.fail_after(20):
        await world.engine(burst=True).run()

    assert set(await world.statuses([*isolated, *plain])) == {Status.COMPLETED}


async def test_arguments_that_do_not_fit_fail_that_activity_alone(world: World) -> None:
    """fault:D9: the handler is not called, nothing is retried."""
    called: list[int] = []

    async def take(number: int) -> None:
        called.append(number)

    world.on("take", take)
    bad = await world.submit("take", "[1, 2]")
    good = await world.submit("take", '{"number":1}')
    async with world.running(world.engine()):
        info = await world.ended(bad)
        await world.ended(good)

    assert info.status is Status.FAILED
    assert info.error is not None and info.error.kind is ErrorKind.ARGUMENTS
    assert "do not fit" in info.error.message
    assert called == [1]


async def test_a_result_that_cannot_be_encoded_fails_without_retry(world: World) -> None:
    """fault:C6."""
    runs: list[int] = []

    async def strange() -> object:
        runs.append(1)
        return object()

    world.on("strange", strange)
    id = await world.submit("strange")
    async with world.running(world.engine()):
        info = await world.ended(id)

    assert info.status is Status.FAILED
    assert info.error is not None and info.error.kind is ErrorKind.RESULT
    assert runs == [1]


NOW = Policy(retry=RetryPolicy(initial_delay=0.0, jitter=0.0))


@pytest.mark.parametrize(
    ("raised", "status", "retries"),
    [
        (ValueError("no"), Status.DEAD_LETTER, 2),
        (NonRetryError("no"), Status.FAILED, 0),
        (RetryError("again", 0), Status.DEAD_LETTER, 2),
        (SystemExit(3), Status.DEAD_LETTER, 2),
        (KeyboardInterrupt(), Status.DEAD_LETTER, 2),
        (GeneratorExit(), Status.DEAD_LETTER, 2),
        (BaseExceptionGroup("g", [SystemExit(1), ValueError()]), Status.DEAD_LETTER, 2),
        (ExceptionGroup("g", [NonRetryError("inside")]), Status.FAILED, 0),
        (StopAsyncIteration(), Status.DEAD_LETTER, 2),
        (TimeoutError("the handler's own"), Status.DEAD_LETTER, 2),
    ],
    ids=repr,
)
async def test_what_a_handler_raises_decides_and_never_ends_the_worker(
    world: World, raised: BaseException, status: Status, retries: int
) -> None:
    """fault:A7, fault:C5, seed:R5, seed:R6, seed:R7, seed:R9, seed:X6."""

    async def fail() -> None:
        raise raised

    async def noop() -> None: ...

    world.on("fail", fail)
    world.on("noop", noop)
    id = await world.submit("fail", max_retries=2, policy=NOW)
    async with world.running(world.engine()):
        info = await world.ended(id)
        after = await world.ended(await world.submit("noop"))

    assert (info.status, info.retry_count) == (status, retries)
    assert info.error is not None and info.error.kind is ErrorKind.ERROR
    assert after.status is Status.COMPLETED


async def test_a_snoozed_activity_runs_again_and_no_retry_is_consumed(world: World) -> None:
    runs: list[int] = []

    async def snooze() -> str:
        runs.append(current().retry_count)
        if len(runs) < 3:
            raise Snooze(0.01)
        return "awake"

    world.on("snooze", snooze)
    id = await world.submit("snooze", max_retries=0)
    async with world.running(world.engine()):
        info = await world.ended(id)

    assert (info.status, info.result, runs) == (Status.COMPLETED, '"awake"', [0, 0, 0])
    assert [event.delay for event in world.seen(events.Snoozed)] == [0.01, 0.01]


@pytest.mark.parametrize(
    ("choice", "status"), [("fail", Status.FAILED), ("retry", Status.DEAD_LETTER)]
)
async def test_a_failed_child_that_is_not_caught_fails_its_parent(
    world: World, choice: str, status: Status
) -> None:
    """design 2.1."""
    child = ErrorInfo(type="ValueError", message="the child's", kind=ErrorKind.ERROR)

    async def parent() -> None:
        raise ActivityFailed("a child failed", id=new_id(), error=child)

    world.on("parent", parent)
    policy = Policy(retry=NOW.retry, on_child_failure=choice)
    id = await world.submit("parent", max_retries=1, policy=policy)
    async with world.running(world.engine()):
        info = await world.ended(id)

    assert info.status is status
    assert info.error is not None and info.error.kind is ErrorKind.CHILD


async def test_a_cancelled_child_that_is_not_caught_fails_its_parent(world: World) -> None:
    async def parent() -> None:
        raise ActivityCancelled("a child was cancelled", id=new_id())

    world.on("parent", parent)
    id = await world.submit("parent")
    async with world.running(world.engine()):
        info = await world.ended(id)

    assert info.status is Status.FAILED
    assert info.error is not None and info.error.kind is ErrorKind.CHILD


async def test_types_in_no_retry_end_the_activity(world: World) -> None:
    """seed:R8"""

    async def fail() -> None:
        raise LookupError("never")

    world.on("fail", fail, no_retry=(LookupError,))
    id = await world.submit("fail")
    async with world.running(world.engine()):
        assert (await world.ended(id)).status is Status.FAILED


async def test_dead_letter_hooks_are_activities_stored_with_the_failure(world: World) -> None:
    """design 7.14."""
    seen: list[object] = []

    async def fail() -> None:
        raise ValueError("broken")

    async def hook(dead: dict[str, object]) -> None:
        seen.append(dead["type"])

    world.on("fail", fail)
    world.on("fail:on_dead_letter", hook)
    world.on("fail:on_failure", hook)
    policy = Policy(hooks=("on_dead_letter", "on_failure"))
    await world.submit("fail", max_retries=0, policy=policy)
    with anyio.fail_after(10):
        await world.engine(burst=True).run()

    assert seen == ["fail", "fail"]


async def test_middleware_runs_around_the_handler_the_first_outermost(world: World) -> None:
    order: list[str] = []

    def layer(name: str) -> object:
        async def call(attempt: Context, call_next: Next) -> object:
            order.append(f"{name} {attempt.type}")
            value = await call_next()
            order.append(name)
            return [name, value]

        return call

    async def work() -> str:
        order.append("work")
        return "done"

    def work_in_thread() -> str:
        order.append("thread")
        return "done"

    world.on("work", work)
    world.on("thread", work_in_thread)
    middleware = (layer("a"), layer("b"))
    async with world.running(world.engine(middleware=middleware)):  # type: ignore[arg-type]
        info = await world.ended(await world.submit("work"))
        other = await world.ended(await world.submit("thread"))

    assert info.result == other.result == '["a",["b","done"]]'
    assert order[:5] == ["a work", "b work", "work", "b", "a"]
    assert order[5:] == ["a thread", "b thread", "thread", "b", "a"]


async def test_what_middleware_raises_is_the_attempts_error(world: World) -> None:
    async def refuse(attempt: Context, call_next: Next) -> object:
        raise NonRetryError("not today")

    async def work() -> None:
        raise AssertionError("not reached")

    world.on("work", work)
    async with world.running(world.engine(middleware=(refuse,))):
        info = await world.ended(await world.submit("work"))

    assert info.status is Status.FAILED
    assert info.error is not None and info.error.message == "not today"


async def test_two_hundred_activities_on_three_engines_run_exactly_once_each(world: World) -> None:
    """seed:4.2, issue point 6."""
    runs: list[int] = []

    async def work(number: int) -> None:
        await anyio.sleep(0.001)
        runs.append(number)

    world.on("work", work)
    ids = [await world.submit("work", f'{{"number":{number}}}') for number in range(200)]
    async with world.running(*(world.engine(concurrency=8) for _ in range(3))):
        for id in ids:
            await world.ended(id)

    assert sorted(runs) == list(range(200))
    assert len({engine.worker for engine in world.seen(events.WorkerStarted)}) == 3


async def test_what_a_handler_puts_into_context_variables_does_not_reach_the_next(
    world: World,
) -> None:
    """fault:C7."""
    from contextvars import ContextVar

    variable: ContextVar[str] = ContextVar("variable", default="clean")
    seen: list[str] = []

    async def leak() -> None:
        seen.append(variable.get())
        variable.set("dirty")
        await anyio.lowlevel.checkpoint()
        seen.append(variable.get())

    world.on("leak", leak)
    await world.submit_many("leak", 2)
    await world.engine(burst=True, concurrency=1).run()

    assert seen == ["clean", "dirty"] * 2


async def test_handlers_that_never_wait_do_not_starve_the_rest(world: World) -> None:
    """Slots give way now and then, so that renewals, claims and timeouts go on."""
    turns: list[int] = []
    seen: list[int] = []

    async def grind() -> None:
        seen.append(len(turns))
        end = time.perf_counter() + 0.002
        while time.perf_counter() < end:
            pass

    async def count_turns() -> None:
        while True:
            await anyio.lowlevel.checkpoint()
            turns.append(1)

    world.on("grind", grind)
    await world.submit_many("grind", 100)
    async with anyio.create_task_group() as group:
        group.start_soon(count_turns)
        await world.engine(burst=True, concurrency=2, claim_ahead=200).run()
        group.cancel_scope.cancel()
    assert seen[-1] - seen[50] >= 3
