"""Handlers in processes: what they can do there, and what becomes of what they raise."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from taskq import ActivityDeadLettered, ActivityFailed, Secret
from taskq.context import Context
from taskq.events import Event, ProcessDied
from taskq.middleware import Next
from taskq.model import ErrorKind
from tests.processes import broken, deadly, slow, work
from tests.processes.alive import children, until


@asynccontextmanager
async def worker(concurrency: int = 2) -> AsyncIterator[None]:
    """A worker of the tasks in ``work``; afterwards none of its processes is left."""
    before = children()
    async with work.app.worker(concurrency=concurrency, shutdown_grace=0.0):
        yield
    assert children() <= before


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_process_is_not_the_workers_and_is_used_again() -> None:
    async with worker(concurrency=1):
        first, second = await work.pid.delay(), await work.pid.delay()
        assert first == second != os.getpid()
        assert await work.add.delay(20, 22) == 42


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_the_context_is_there_to_be_read_and_progress_is_reported() -> None:
    async with worker(concurrency=1):
        call = work.who.options(metadata={"order": 7}, tags={"region": "eu"}, correlation_id="c-1")
        future = call.delay()
        seen = await future
        reported = work.report.delay()
        await reported
        progress = reported.info().progress

    assert seen == {
        "id": str(future.id),
        "attempt": 1,
        "metadata": {"order": 7},
        "tags": {"region": "eu"},
        "correlation_id": "c-1",
        "cancelled": False,
    }
    assert progress is not None and (progress.done, progress.note) == (1000, "all")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_secret_is_one_there_too_and_nothing_of_it_is_recorded() -> None:
    """threat:T14; also where an error's text is cut within it"""
    future = work.tell.delay(Secret("canary-in-a-process"))
    async with worker(concurrency=1):
        with pytest.raises(ActivityDeadLettered) as caught:
            await future
    progress = future.info().progress
    assert progress is not None and progress.note == "with [redacted]"
    assert caught.value.error.message.endswith("[reda…")
    assert "canary" not in f"{caught.value.error}{progress}"


async def test_children_are_stored_and_awaited_through_the_worker() -> None:
    """With one slot: the parent gives it up while it waits."""
    async with worker(concurrency=1):
        future = work.parent.delay(20)
        assert await future == 41
        assert await work.ask_everything.delay() == [2, "completed", 8, True, "cancelled"]
    tree = await work.app.client.call(work.app.client.store.tree, future.id)
    [_, child] = [node.info for node in tree.nodes]
    assert (child.type, child.parent_id) == ("double", future.id)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_the_worker_refuses_is_raised_in_the_process() -> None:
    async with worker(concurrency=1):
        assert "is still scheduled" in await work.await_too_long.delay()
        assert (await work.await_itself.delay()).startswith("InvalidState: ")


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_thread_that_outlives_its_handler_disturbs_nobody() -> None:
    async with worker(concurrency=1):
        assert await work.leave_a_thread.delay() == "returned"
        assert "is over" in await work.look_what_was_left.delay()
        assert await work.leave_an_enqueuer.delay()
        future = work.wake_the_enqueuer.delay()
        over, outside = await future
        assert "is over" in over and "in the context of a handler" in outside
        assert future.info().progress is None
        tree = await work.app.client.call(work.app.client.store.tree, future.id)
        assert len(tree.nodes) == 1
        assert await work.add.delay(1, 1) == 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_a_handler_raises_means_what_it_means_elsewhere() -> None:
    """bug:B46: nothing is pickled, so no exception is too odd to be told."""
    async with worker(concurrency=1):
        for how, status in (("retry", "retrying"), ("snooze", "scheduled")):
            future = work.fail.delay(how)
            await until(lambda future=future, status=status: future.info().status == status)
        for how in ("no_retry", "key", "refused"):
            with pytest.raises(ActivityFailed):
                await work.fail.delay(how)
        with pytest.raises(ActivityDeadLettered) as exit:
            await work.fail.options(max_retries=0).delay("exit")
        with pytest.raises(ActivityDeadLettered) as ordinary:
            await work.fail.options(max_retries=0).delay("boom")
        with pytest.raises(ActivityFailed) as result:
            await work.unstorable.delay()
        [future] = work.app.enqueue([work.add.draft('{"one": "x"}')])
        with pytest.raises(ActivityFailed) as misfit:
            await future
        with pytest.raises(ActivityDeadLettered) as odd:
            await work.raise_odd.options(max_retries=0).delay()

    assert odd.value.error.message == "1 and 2"
    assert exit.value.error.type == "SystemExit"
    assert ordinary.value.error.type == "ValueError"
    assert ordinary.value.error.traceback.splitlines()[1].endswith("in fail")
    assert result.value.error.kind is ErrorKind.RESULT
    assert misfit.value.error.kind is ErrorKind.ARGUMENTS


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_middleware_sees_a_result_as_json_text_and_may_replace_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []

    async def replace(_: Context, call_next: Next) -> object:
        seen.append(await call_next())
        return 7

    monkeypatch.setattr(work.app, "middleware", (replace,))
    async with worker(concurrency=1):
        assert await work.add.delay(1, 2) == 7
    assert seen == ["3"]


class Deaths:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def on_event(self, event: Event) -> None:
        if isinstance(event, ProcessDied):
            self.reasons.append(event.error.message)


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_death_costs_one_crash_of_one_activity() -> None:
    """bug:B01, promise:G8: neither its neighbour nor its worker is touched."""
    deaths = Deaths()
    work.app.publisher.add(deaths)
    async with worker(concurrency=2):
        neighbour = work.wait_a_while.delay()
        with pytest.raises(ActivityDeadLettered) as killed:
            await work.die.options(max_crashes=2).delay()
        assert await neighbour == "waited"
    info = work.die.future(killed.value.id).info()
    assert (info.crash_count, info.retry_count, info.isolate) == (2, 0, False)
    assert killed.value.error.kind is ErrorKind.CRASHED
    assert killed.value.error.message == (
        "its process was killed by SIGKILL, as by the kernel when memory runs out (2 of at most 2)"
    )
    assert deaths.reasons == [killed.value.error.message.replace("(2 of", "(1 of")]


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such signals")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_death_by_a_signal_without_a_name_is_a_crash_too() -> None:
    async with worker(concurrency=1):
        with pytest.raises(ActivityDeadLettered, match="was killed by signal 35 "):
            await work.die.options(max_crashes=1).delay(35)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_death_in_the_middle_of_a_large_result_hurts_nobody_else() -> None:
    async with worker(concurrency=2):
        neighbour = work.large.delay()
        with pytest.raises(ActivityDeadLettered, match="ended with exit code 1 "):
            await work.half_a_result.options(max_crashes=1).delay()
        assert len(await neighbour) == 200_000
        assert len(await work.large.delay()) == 200_000


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_process_that_does_not_start_is_a_failure_that_says_why() -> None:
    """The module is there, and fails only where it is imported anew."""
    async with worker(concurrency=1):
        with pytest.raises(ActivityDeadLettered) as dead:
            await broken.nothing.options(max_retries=0).delay()
    assert dead.value.error.message == "only for you"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_process_that_dies_while_it_starts_is_a_crash() -> None:
    async with worker(concurrency=1):
        with pytest.raises(ActivityDeadLettered, match="ended with exit code 9") as dead:
            await deadly.never.delay()
    assert dead.value.error.kind is ErrorKind.CRASHED


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_starting_a_process_is_no_running_time() -> None:
    """The import takes longer than the timeout."""
    async with worker(concurrency=1):
        assert await slow.quick.delay() == "quick"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_a_handler_forks_heeds_signals_and_keeps_off_the_pipe() -> None:
    async with worker(concurrency=1):
        [said], code = await work.fork_two.delay()
        assert code == -signal.SIGTERM
        assert said.startswith("this process was forked by a handler")
        assert await work.add.delay(1, 1) == 2
