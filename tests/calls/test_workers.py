"""Workers inside a program of one's own, and what surrounds handlers."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from taskq import (
    ActivityDeadLettered,
    ConfigurationError,
    Context,
    SchemaError,
    Status,
    TaskQ,
    current,
)
from taskq.backends.memory import MemoryBackend
from taskq.events import Completed, Enqueued, Event, Started, WorkerStarted, WorkerStopped
from taskq.middleware import Next
from taskq.testing import drain
from tests.calls.conftest import NewApp


async def test_a_worker_serves_every_queue_that_tasks_name_and_the_apps(new_app: NewApp) -> None:
    app = new_app(queue="shop")
    app.queue("bulk")

    @app.activity(queue="mail")
    async def mail() -> str:
        return current().queue

    @app.activity
    async def plain() -> str:
        return current().queue

    async with app.worker() as worker:
        assert await (await mail.adelay()) == "mail"
        assert await (await plain.adelay()) == "shop"
        assert await (await plain.options(queue="bulk").adelay()) == "bulk"
        (info,) = await app.client.call(app.client.store.workers)
    assert (info.id, info.queues) == (worker.id, ("bulk", "mail", "shop"))


async def test_a_worker_may_serve_some_queues_and_types_only(app: TaskQ) -> None:
    """seed:E4"""

    @app.activity
    async def mine() -> None: ...

    @app.activity
    async def other() -> None: ...

    @app.activity(queue="elsewhere")
    async def far() -> None: ...

    async with app.worker(types=["mine"], queues=["default"]):
        futures = [await task.adelay() for task in (other, far, mine)]
        await futures[2]
        states = [(await future.ainfo()).status for future in futures]
    assert states == [Status.PENDING, Status.PENDING, Status.COMPLETED]


def test_a_type_without_handler_is_refused_before_anything_starts(app: TaskQ) -> None:
    """seed:E5, D34: an error, not a crash; the app stays usable"""

    @app.activity
    async def known() -> None: ...

    with pytest.raises(ConfigurationError, match="unknown"):
        app.worker(types=["known", "unknown"])
    app.worker(types=["known"])


def test_an_app_without_activities_has_no_worker(app: TaskQ) -> None:
    with pytest.raises(ConfigurationError, match="no activities"):
        app.worker()


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"queues": ["no spaces"]},
        {"queues": "default"},
        {"types": "known"},
        {"lease": -1},
        {"renew_interval": 100.0},
        {"claim_ahead": -1},
    ],
)
def test_a_bad_worker_option_is_refused(app: TaskQ, options: dict[str, object]) -> None:
    @app.activity
    async def known() -> None: ...

    with pytest.raises(ConfigurationError):
        app.worker(**options)  # type: ignore[arg-type]


def test_an_unknown_worker_option_is_a_type_error(app: TaskQ) -> None:
    @app.activity
    async def known() -> None: ...

    with pytest.raises(TypeError, match="concurency"):
        app.worker(concurency=3)  # type: ignore[call-arg]


async def test_burst_drains_and_returns(app: TaskQ) -> None:
    @app.activity
    async def double(n: int) -> int:
        return 2 * n

    futures = await app.aenqueue([double.build(n) for n in range(50)])
    await app.run_worker(burst=True, concurrency=4)
    assert [await future for future in futures] == [2 * n for n in range(50)]


async def test_several_workers_of_one_app_share_the_work(app: TaskQ) -> None:
    ran: list[int] = []

    @app.activity
    async def work(n: int) -> None:
        ran.append(n)

    futures = await app.aenqueue([work.build(n) for n in range(100)])
    async with app.worker(concurrency=3), app.worker(concurrency=3):
        for future in futures:
            await future
    assert sorted(ran) == list(range(100))


async def test_a_worker_that_was_left_has_no_row(app: TaskQ) -> None:
    """seed:W14, seed:W31"""

    @app.activity
    async def work() -> None: ...

    async with app.worker() as worker:
        await (await work.adelay())
        assert worker.health().healthy
    assert await app.client.call(app.client.store.workers) == []
    assert not worker.health().healthy


async def test_middleware_wraps_every_attempt_outermost_first(new_app: NewApp) -> None:
    trace: list[str] = []

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        async def __call__(self, attempt: Context, call_next: Next, /) -> object:
            trace.append(f"{self.name} before {attempt.type}")
            value = await call_next()
            trace.append(f"{self.name} after")
            return f"{self.name}({value})"

    app = new_app(middleware=[Named("a"), Named("b")])

    @app.activity
    async def work() -> str:
        trace.append("work")
        return "x"

    @app.activity
    def sync_work() -> str:
        return "y"

    async with app.worker():
        assert await (await work.adelay()) == "a(b(x))"
        assert trace == ["a before work", "b before work", "work", "b after", "a after"]
        assert await (await sync_work.adelay()) == "a(b(y))"


async def test_the_lifespan_surrounds_the_worker(new_app: NewApp) -> None:
    trace: list[str] = []

    @asynccontextmanager
    async def lifespan(app: TaskQ) -> AsyncIterator[None]:
        trace.append("up")
        yield
        trace.append("down")

    app = new_app(lifespan=lifespan)

    @app.activity
    async def work() -> None:
        trace.append("work")

    async with app.worker():
        await (await work.adelay())
    assert trace == ["up", "work", "down"]


async def test_listeners_see_what_happens_and_cannot_hurt(
    new_app: NewApp, caplog: pytest.LogCaptureFixture
) -> None:
    """reliability K6, seed:E7"""
    events: list[Event] = []

    class Bad:
        def on_event(self, event: Event) -> None:
            raise RuntimeError("bad listener")

    class Good:
        def on_event(self, event: Event) -> None:
            events.append(event)

    app = new_app(listeners=[Bad(), Good()])

    @app.activity
    async def work() -> None: ...

    async with app.worker():
        await (await work.adelay())
    kinds = [type(event) for event in events]
    for kind in (Enqueued, WorkerStarted, Started, Completed, WorkerStopped):
        assert kind in kinds
    assert app.publisher.failures == len(events)
    assert "bad listener" in caplog.text


async def test_a_schema_that_does_not_fit_ends_the_worker_with_its_reason() -> None:
    """seed:W25"""

    class Newer(MemoryBackend):
        async def open(self) -> None:
            raise SchemaError("made by a newer taskq")

    app = TaskQ(backend=Newer())

    @app.activity
    async def work() -> None: ...

    with pytest.raises(SchemaError, match="newer"):
        await app.run_worker()


async def test_a_worker_waits_for_a_store_that_is_not_there_yet(new_app: NewApp) -> None:
    from taskq import BackendUnavailable

    class Late(MemoryBackend):
        tries = 0

        async def open(self) -> None:
            self.tries += 1
            if self.tries < 3:
                raise BackendUnavailable("not yet")

    store = Late()
    app = TaskQ(backend=store)

    @app.activity
    async def work() -> int:
        return 1

    async with app.worker():
        with anyio.fail_after(10):
            while store.tries < 3:
                await anyio.sleep(0.01)
        assert await (await work.adelay()) == 1


def test_a_url_and_a_backend_exclude_each_other() -> None:
    """seed:E1"""

    with pytest.raises(ConfigurationError, match="not both"):
        TaskQ("memory://", backend=MemoryBackend())


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://localhost", "no backend serves redis"),
        ("taskq.db", "no scheme"),
        ("sqlite://", "memory://"),
        ("sqlite:///:memory:", "memory://"),
    ],
)
def test_a_url_that_nobody_serves_is_refused_without_its_password(url: str, words: str) -> None:
    """threat:T14"""
    with pytest.raises(ConfigurationError, match=words) as caught:
        TaskQ(url)
    assert "secret" not in str(caught.value)


async def test_an_error_of_the_block_leaves_it_as_it_is(app: TaskQ) -> None:
    @app.activity(max_retries=0)
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ActivityDeadLettered):
        async with app.worker():
            await (await fail.adelay())
    with pytest.raises(KeyError, match="mine"):
        async with app.worker():
            raise KeyError("mine")


async def test_a_worker_that_cannot_go_on_cancels_its_block_and_says_why() -> None:
    class Newer(MemoryBackend):
        async def open(self) -> None:
            raise SchemaError("made by a newer taskq")

    app = TaskQ(backend=Newer())

    @app.activity
    async def work() -> None: ...

    with pytest.raises(SchemaError, match="newer"):
        async with app.worker():
            await anyio.sleep_forever()


async def test_a_cancelled_block_ends_its_worker(app: TaskQ) -> None:
    @app.activity
    async def work() -> None: ...

    with anyio.move_on_after(0.05) as scope:
        async with app.worker():
            await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_an_unhashable_listener_that_raises_cannot_hurt(new_app: NewApp) -> None:
    @dataclass
    class Bad:
        seen: int = 0

        def on_event(self, event: Event) -> None:
            self.seen += 1
            raise RuntimeError("bad listener")

    bad = Bad()
    app = new_app(listeners=[bad])

    @app.activity
    async def work() -> None: ...

    await work.adelay()
    assert bad.seen == app.publisher.failures == 1


async def test_drain_runs_what_is_due_and_returns(app: TaskQ) -> None:
    @app.activity
    async def child() -> str:
        return "child"

    @app.activity
    async def parent() -> str:
        await child.adelay()
        return "parent"

    later = await child.aschedule(3600)
    await parent.adelay()
    await drain(app, concurrency=1)
    stats = await app.astats()
    assert stats.by_status[Status.COMPLETED] == 2
    assert (await later.ainfo()).status is Status.SCHEDULED


async def test_a_result_that_does_not_fit_its_annotation_is_said_by_the_worker(
    app: TaskQ, caplog: pytest.LogCaptureFixture
) -> None:
    @app.activity
    async def give() -> int:
        return "text"  # type: ignore[return-value]

    future = await give.adelay()
    await drain(app)
    assert (await future.ainfo()).status is Status.COMPLETED
    assert "the result of give does not fit its return annotation" in caplog.text


async def test_leaving_the_app_by_cancellation_still_closes_it(new_app: NewApp) -> None:
    app = new_app()
    with anyio.CancelScope() as scope:
        async with app:
            scope.cancel()
            await anyio.sleep_forever()
    assert not app.client.is_open


def test_an_app_that_is_dropped_gives_its_thread_back(tmp_path: Path) -> None:
    def use() -> None:
        app = TaskQ(f"sqlite:///{tmp_path}/dropped.db")

        @app.activity
        async def work() -> None: ...

        work.delay()

    before = threading.active_count()
    use()
    gc.collect()
    end = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_a_forked_child_can_use_memory_though_its_lock_was_taken() -> None:
    script = """
import os, sys, threading
from taskq import TaskQ
app = TaskQ("memory://")
@app.activity
async def work() -> None: ...
lock = next(value for name, value in vars(app.client.store).items() if name == "_lock")
lock.acquire()
child = os.fork()
if child == 0:
    work.delay()
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=20, check=False).returncode == 7


def test_closing_an_app_that_was_never_used_starts_nothing(tmp_path: Path) -> None:
    app = TaskQ(f"sqlite:///{tmp_path}/never.db")
    before = threading.active_count()
    app.close()
    assert threading.active_count() == before
    assert not (tmp_path / "never.db").exists()
