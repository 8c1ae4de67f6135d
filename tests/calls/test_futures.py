"""Awaiting, blocking, looking and cancelling, with a worker in this process."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID, uuid4

import anyio
import pytest
from anyio.to_thread import run_sync

from taskq import (
    ActivityCancelled,
    ActivityDeadLettered,
    ActivityFailed,
    ActivityNotFound,
    ActivityTimedOut,
    InvalidState,
    NonRetryError,
    ResultTimeout,
    RetryPolicy,
    SerializationError,
    Status,
    TaskQ,
    current,
)

SOON = RetryPolicy(initial_delay=0.01)


@dataclass
class Invoice:
    number: UUID
    at: datetime
    total: Decimal


async def test_await_gives_the_decoded_result(app: TaskQ) -> None:
    """seed:Q12"""

    @app.activity
    async def bill(invoice: Invoice, times: int = 1) -> list[Invoice]:
        assert isinstance(invoice, Invoice)
        return [invoice] * times

    invoice = Invoice(uuid4(), datetime(2026, 3, 1, tzinfo=UTC), Decimal("12.30"))
    async with app.worker():
        future = await bill.adelay(invoice, times=2)
        assert await future == [invoice, invoice]
        assert await future == [invoice, invoice]


@pytest.mark.parametrize("value", [None, 0, "", False, [], {}])
async def test_an_empty_result_is_a_result(app: TaskQ, value: object) -> None:
    """bug:B142"""

    @app.activity
    async def give() -> object:
        return value

    async with app.worker():
        assert await (await give.adelay()) == value


async def test_result_blocks_a_thread_and_gives_the_result(app: TaskQ) -> None:
    @app.activity
    def double(n: int) -> int:
        return n * 2

    def in_a_thread() -> int:
        return double.delay(21).result(timeout=10)

    async with app.worker():
        assert await run_sync(in_a_thread) == 42


async def test_result_refuses_to_block_an_event_loop(app: TaskQ) -> None:
    @app.activity
    async def give() -> int:
        return 1

    future = await give.adelay()
    with pytest.raises(RuntimeError, match="await it"):
        future.result(timeout=0.01)


async def test_delay_in_async_code_works_and_says_once_where_it_blocks(
    app: TaskQ, caplog: pytest.LogCaptureFixture
) -> None:
    @app.activity
    async def give() -> int:
        return 1

    with caplog.at_level("INFO", logger="taskq"):
        futures = [give.delay() for _ in range(3)]
    said = [record for record in caplog.records if "adelay" in record.getMessage()]
    assert len(said) == 1
    assert "test_futures.py" in said[0].getMessage()
    async with app.worker():
        assert [await future for future in futures] == [1, 1, 1]


def test_a_result_that_does_not_come_says_what_is_known(app: TaskQ) -> None:
    @app.activity
    async def give() -> int:
        return 1

    future = give.delay()
    with pytest.raises(ResultTimeout) as caught:
        future.result(timeout=0.05)
    assert isinstance(caught.value, TimeoutError)
    for words in ("give", "still pending", "no live worker serves", app.client.store.location):
        assert words in str(caught.value)


async def test_await_ends_by_fail_after(app: TaskQ) -> None:
    @app.activity
    async def give() -> int:
        return 1

    future = await give.adelay()
    with pytest.raises(TimeoutError):
        with anyio.fail_after(0.05):
            await future


async def test_a_dead_letter_raises_with_what_was_recorded(app: TaskQ) -> None:
    @app.activity(max_retries=1, retry=SOON)
    async def fail() -> None:
        raise ValueError("no such order")

    async with app.worker():
        future = await fail.adelay()
        with pytest.raises(ActivityDeadLettered) as caught:
            await future
    error = caught.value.error
    assert (error.type, error.message, error.attempts) == ("ValueError", "no such order", 2)
    assert "no such order" in error.traceback
    assert caught.value.id == future.id
    assert isinstance(caught.value, ActivityFailed)


async def test_a_failure_not_to_be_retried_is_no_dead_letter(app: TaskQ) -> None:
    @app.activity
    async def fail() -> None:
        raise NonRetryError("never")

    async with app.worker():
        with pytest.raises(ActivityFailed) as caught:
            await (await fail.adelay())
    assert type(caught.value) is ActivityFailed


async def test_a_timeout_not_to_be_retried_is_told_apart(app: TaskQ) -> None:
    @app.activity(timeout=0.02, retry_on_timeout=False)
    async def slow() -> None:
        await anyio.sleep_forever()

    async with app.worker():
        with pytest.raises(ActivityTimedOut):
            await (await slow.adelay())


async def test_an_unknown_id_is_not_found(app: TaskQ) -> None:
    """promise:G16"""

    @app.activity
    async def give() -> None: ...

    future = give.future(uuid4())
    with pytest.raises(ActivityNotFound):
        await future
    with pytest.raises(ActivityNotFound):
        await future.ainfo()
    with pytest.raises(ActivityNotFound):
        await future.acancel()


async def test_cancelling_what_waits_ends_it_at_once_and_tells_its_waiters(app: TaskQ) -> None:
    """promise:G10"""

    @app.activity
    async def give() -> None: ...

    future = await give.adelay()
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            with pytest.raises(ActivityCancelled):
                await future

        group.start_soon(wait)
        assert await future.acancel()
    assert (await future.ainfo()).status is Status.CANCELLED
    assert not await future.acancel()


@pytest.mark.parametrize("retryable", [True, False])
async def test_cancelling_what_has_ended_otherwise_names_its_state(
    app: TaskQ, retryable: bool
) -> None:
    """promise:G10"""

    @app.activity(max_retries=0)
    async def end(fail: bool) -> None:
        if fail:
            raise ValueError("no")

    async with app.worker():
        future = await end.adelay(retryable)
        with suppress(ActivityFailed):
            await future
    with pytest.raises(InvalidState, match="dead_letter" if retryable else "completed"):
        await future.acancel()
    with pytest.raises(InvalidState, match="cannot be cancelled"):
        await run_sync(future.cancel)


async def test_what_a_handler_says_of_its_progress_is_in_info(app: TaskQ) -> None:
    said = anyio.Event()
    release = anyio.Event()

    @app.activity
    async def work() -> None:
        current().progress(3, 10, note="reading")
        said.set()
        await release.wait()
        current().progress(10, 10)

    async with app.worker():
        future = await work.adelay()
        await said.wait()
        with anyio.fail_after(5):
            while (progress := (await future.ainfo()).progress) is None:
                await anyio.sleep(0.01)
        assert (progress.done, progress.total, progress.note) == (3, 10, "reading")
        release.set()
        await future
    progress = (await future.ainfo()).progress
    assert progress is not None and (progress.done, progress.note) == (10, None)


async def test_cancelling_a_running_async_handler_cancels_it(app: TaskQ) -> None:
    """promise:G10"""
    running = anyio.Event()
    told: list[str] = []

    @app.activity
    async def slow() -> None:
        running.set()
        try:
            await anyio.sleep_forever()
        finally:
            told.append("cancelled" if current().cancelled else "not told")

    async with app.worker():
        future = await slow.adelay()
        await running.wait()
        assert await future.acancel()
        with pytest.raises(ActivityCancelled):
            await future
    assert told == ["cancelled"]


async def test_a_result_that_does_not_fit_the_callers_annotation_is_said(app: TaskQ) -> None:
    @app.activity
    async def give() -> int:
        return "text"  # type: ignore[return-value]

    async with app.worker():
        with pytest.raises(SerializationError):
            await (await give.adelay())


async def test_many_waiters_of_many_loops_share_one_answer(app: TaskQ) -> None:
    """seed:S1"""

    @app.activity
    async def double(n: int) -> int:
        return 2 * n

    answers: list[int] = []

    def in_its_own_loop(n: int) -> None:
        async def wait() -> int:
            return await (await double.adelay(n))

        answers.append(anyio.run(wait, backend="asyncio" if n % 2 else "trio"))

    threads = [threading.Thread(target=in_its_own_loop, args=(n,)) for n in range(6)]
    async with app.worker():
        for thread in threads:
            thread.start()
        for thread in threads:
            await run_sync(thread.join)
    assert sorted(answers) == [0, 2, 4, 6, 8, 10]


async def test_waiting_for_oneself_or_an_ancestor_is_an_error_at_once(app: TaskQ) -> None:
    @app.activity(max_retries=0)
    async def child() -> None:
        await child.future(current().parent_id or current().id)

    @app.activity(max_retries=0)
    async def parent() -> str:
        with suppress(InvalidState):
            await parent.future(current().id)
        try:
            await (await child.adelay())
        except ActivityFailed as failure:
            return failure.error.type
        return "nothing"

    async with app.worker():
        assert (await (await parent.adelay())).endswith("InvalidState")


async def test_a_cancelled_waiter_leaves_nothing_behind(app: TaskQ) -> None:
    @app.activity
    async def give() -> None: ...

    future = await give.adelay()
    for _ in range(20):
        with anyio.move_on_after(0):
            await future
    assert app.client.waiting == 0
