"""Bounded queues as a producer meets them (seed:E25), and priorities switched off (seed:E26)."""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import create_engine

from taskq import (
    ActivityCancelled,
    ConfigurationError,
    EnqueueTimeout,
    Priority,
    QueueFull,
    TaskQ,
)
from taskq.events import EnqueueFailed, Event
from taskq.model import ErrorKind, Status

QUICK: dict[str, Any] = {"poll_interval": 0.05, "shutdown_grace": 2.0}


def mailer(app: TaskQ, **bound: Any) -> Any:
    """A task on a bounded queue."""
    app.queue("mail", **bound)

    @app.activity(queue="mail")
    async def send(number: int) -> int:
        return number

    return send


class Heard:
    """A listener that keeps what could not be stored."""

    def __init__(self) -> None:
        self.failed: list[EnqueueFailed] = []

    def on_event(self, event: Event) -> None:
        if isinstance(event, EnqueueFailed):
            self.failed.append(event)


async def test_a_call_waits_for_room_and_is_stored_when_there_is_some(new_app: Any) -> None:
    """seed:E25"""
    app = new_app(**QUICK)
    send = mailer(app, max_pending=2)
    futures = [await send.adelay(0), await send.adelay(1)]
    stored = anyio.Event()

    async def third() -> None:
        futures.append(await send.adelay(2))
        stored.set()

    async with anyio.create_task_group() as group:
        group.start_soon(third)
        await anyio.wait_all_tasks_blocked()
        assert not stored.is_set()
        async with app.worker(queues=["mail"]):
            with anyio.fail_after(10):
                await stored.wait()
                assert [await future for future in futures] == [0, 1, 2]


def test_a_blocking_call_waits_for_room_in_its_thread(new_app: Any) -> None:
    """seed:E25"""
    app = new_app(**QUICK)
    send = mailer(app, max_pending=1)
    first = send.delay(0)
    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(send.delay(1).id))
    thread.start()
    first.cancel()
    thread.join(timeout=10)
    assert len(done) == 1


def test_who_finds_no_room_in_time_is_told_that_the_queue_is_full(new_app: Any) -> None:
    """seed:E25"""
    heard = Heard()
    app = new_app(enqueue_timeout=0.2, lock_timeout=0.1, listeners=[heard])
    send = mailer(app, max_pending=1, overflow="block")
    app.stats()  # opens the store, which may take longer
    send.delay(0)

    with pytest.raises(
        EnqueueTimeout, match=r"no room within 0\.2 s: queue 'mail' is full"
    ) as late:
        send.delay(1)

    assert isinstance(late.value.__cause__, QueueFull)
    assert len(heard.failed) == 1


async def test_a_full_queue_is_an_error_where_that_is_wanted(new_app: Any) -> None:
    """seed:E25"""
    app = new_app()
    send = mailer(app, max_pending=1, overflow="error")
    await send.adelay(0)

    with pytest.raises(QueueFull) as full:
        await send.adelay(1)

    assert (full.value.queue, full.value.bound, full.value.waiting) == ("mail", 1, 1)
    assert full.value.retryable
    assert (await app.astats()).by_status[Status.PENDING] == 1


async def test_the_oldest_makes_room_and_who_awaits_it_hears_of_it(new_app: Any) -> None:
    """seed:E25"""
    app = new_app()
    send = mailer(app, max_pending=1, overflow="drop_oldest")
    oldest = await send.adelay(0)
    newest = await send.adelay(1)

    with pytest.raises(ActivityCancelled, match="'mail' was full"), anyio.fail_after(10):
        await oldest

    info = await oldest.ainfo()
    assert info.error is not None and info.error.kind is ErrorKind.EVICTED
    assert (await newest.ainfo()).status is Status.PENDING


async def test_a_parent_is_not_held_up_by_its_own_full_queue(new_app: Any) -> None:
    """seed:E25: children need no room, so that no parent waits for a place that its end frees."""
    app = new_app(**QUICK)
    app.queue("mail", max_pending=1)

    @app.activity(queue="mail")
    async def leaf(number: int) -> int:
        return number

    @app.activity(queue="mail")
    async def parent() -> int:
        futures = await app.aenqueue([leaf.build(number) for number in range(5)])
        return sum([await future for future in futures])

    future = await parent.adelay()
    with anyio.fail_after(10):
        async with app.worker(queues=["mail"], concurrency=1):
            assert await future == 10


def test_a_batch_that_can_never_have_room_is_refused_at_once(new_app: Any) -> None:
    app = new_app()
    send = mailer(app, max_pending=2)
    with pytest.raises(
        ValueError, match="3 calls at once for queue 'mail', whose max_pending is 2"
    ):
        app.enqueue([send.build(number) for number in range(3)])


def test_in_a_transaction_of_the_callers_nobody_waits_for_room(tmp_path: Path) -> None:
    """It is refused at once, and the transaction stays usable."""
    app = TaskQ(f"sqlite:///{tmp_path}/shop.db")
    send = mailer(app, max_pending=2)
    send.delay(0)
    engine = create_engine(f"sqlite:///{tmp_path}/shop.db")

    with engine.connect() as connection, connection.begin():
        send.options(connection=connection).delay(1)
        with pytest.raises(QueueFull):
            send.options(connection=connection).delay(2)

    assert app.stats().by_status[Status.PENDING] == 2
    engine.dispose()
    app.close()


def test_capacity_bounds_the_apps_own_queue(new_app: Any) -> None:
    """seed:E25"""
    app = new_app(capacity=1, queue="mine", enqueue_timeout=0.2, lock_timeout=0.1)

    @app.activity
    async def work() -> None: ...

    app.stats()  # opens the store, which may take longer
    work.delay()
    work.options(queue="other").delay()
    with pytest.raises(EnqueueTimeout, match="max_pending is 1"):
        work.delay()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"max_pending": 0}, "max_pending must be a whole number, at least 1"),
        ({"max_pending": True}, "max_pending must be a whole number"),
        ({"overflow": "error"}, "overflow needs max_pending"),
        ({"max_pending": 1, "overflow": "drop"}, 'overflow must be one of "block", "error"'),
    ],
)
def test_a_bad_bound_is_refused_where_it_is_written(given: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        TaskQ("memory://").queue("mail", **given)


async def test_without_priorities_calls_are_run_in_the_order_of_time(
    new_app: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """seed:E26: and that a priority was asked for in vain is said once."""
    app = new_app(priority_enabled=False, **QUICK)
    order: list[int] = []

    @app.activity(priority=Priority.LOW)
    async def work(number: int) -> None:
        order.append(number)

    futures: list[Awaitable[None]] = [await work.adelay(0)]
    for number, priority in enumerate((Priority.HIGH, Priority.CRITICAL), start=1):
        futures.append(await work.options(priority=priority).adelay(number))
    await app.run_worker(burst=True, concurrency=1)

    assert order == [0, 1, 2]
    said = [record for record in caplog.records if "priority_enabled is off" in record.message]
    assert len(said) == 1
