"""Workers inside a program of one's own, and what surrounds handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from taskq import ConfigurationError, Context, SchemaError, Status, TaskQ, current
from taskq.backends.memory import MemoryBackend
from taskq.events import Completed, Enqueued, Event, Started, WorkerStarted, WorkerStopped
from taskq.middleware import Next
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
        ("postgresql://ada:secret@localhost/shop", "PostgreSQL"),
    ],
)
def test_a_url_that_nobody_serves_is_refused_without_its_password(url: str, words: str) -> None:
    """threat:T14"""
    with pytest.raises(ConfigurationError, match=words) as caught:
        TaskQ(url)
    assert "secret" not in str(caught.value)
