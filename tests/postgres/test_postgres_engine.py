"""Apps with workers: without LISTEN, under SERIALIZABLE, with clocks that are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import UUID

import anyio
import pytest

from taskq import RetryPolicy, TaskQ, current
from taskq.clock import SystemClock
from tests.postgres.conftest import Sql
from tests.postgres_databases import Databases

HOUR = timedelta(hours=1)
SESSIONS = "SELECT query FROM pg_stat_activity WHERE datname = current_database()"


class WrongClock(SystemClock):
    """The machine's clock, set wrong; it goes as fast as it should."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        """The current instant, as it has it."""
        return super().now() + self._by


async def until(condition: Callable[[], object]) -> None:
    """Poll; the test fails after some seconds."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.02)


async def double(number: int) -> int:
    return 2 * number


async def test_without_listen_work_is_found_and_awaited_by_polling(
    postgres_url: str, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """design 7.8, fault:DB7: TASKQ_LISTEN=off; the caller and the worker are two programs."""
    monkeypatch.setenv("TASKQ_LISTEN", "off")
    caller = TaskQ(postgres_url)
    server = TaskQ(postgres_url, poll_interval=0.05, poll_max=0.1)
    server.activity(double)
    task = caller.activity(double)
    async with caller, server, server.worker():
        with anyio.fail_after(10):
            assert await (await task.adelay(1)) == 2
            assert await (await task.aschedule(0.2, number=2)) == 4
        assert not [query for [query] in sql(SESSIONS) if "LISTEN" in query.upper()]


async def test_workers_are_sound_where_transactions_are_serializable_by_default(
    databases: Databases,
) -> None:
    """fault:DB13, promise:G5, promise:G6: four of them, and each activity runs once."""
    url = databases.fresh()
    name = url.rpartition("/")[2]
    databases.run(url, f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    runs: Counter[UUID] = Counter()

    async def count() -> int:
        runs[current().id] += 1
        await anyio.sleep(0.005)
        return current().attempt

    async def serve(started: anyio.Event, stop: anyio.Event) -> None:
        taskq = TaskQ(url, poll_interval=0.1)
        taskq.activity(name="count")(count)
        async with taskq, taskq.worker(concurrency=5):
            started.set()
            await stop.wait()

    client = TaskQ(url)
    task = client.activity(name="count")(count)
    stop = anyio.Event()
    async with client, anyio.create_task_group() as workers:
        for _ in range(4):
            started = anyio.Event()
            workers.start_soon(serve, started, stop)
            await started.wait()
        futures = await client.aenqueue([task.build() for _ in range(200)])
        with anyio.fail_after(30):
            attempts = [await future for future in futures]
        stop.set()

    assert set(attempts) == {1}
    assert runs == Counter([future.id for future in futures])


async def test_nothing_is_stolen_by_workers_whose_clocks_are_wrong(
    postgres_url: str, sql: Sql
) -> None:
    """promise:G6, fault:E1: leases are by the database's clock, whoever holds them. One worker is
    an hour ahead, one an hour behind, one right."""
    opened = anyio.Event()
    running: list[UUID] = []

    async def hold() -> str:
        running.append(current().worker)
        await opened.wait()
        return current().worker.hex

    clocks = (WrongClock(HOUR), WrongClock(-HOUR), SystemClock())
    quick = {"reaper_interval": 0.1, "poll_interval": 0.05, "poll_max": 0.1}
    apps = [TaskQ(postgres_url, clock=clock, lease=1.0, **quick) for clock in clocks]
    tasks = [app.activity(name="hold")(hold) for app in apps]
    async with AsyncExitStack() as stack:
        for app in apps:
            await stack.enter_async_context(app)
            await stack.enter_async_context(app.worker(concurrency=2))
        futures = await apps[2].aenqueue([tasks[2].build() for _ in range(6)])
        await until(lambda: len(running) == 6)
        [[lease]] = sql("SELECT max(lease_until) FROM taskq_activities")
        late = f"SELECT now() > timestamptz '{lease}' + interval '1.5 s'"
        await until(lambda: sql(late)[0][0])
        opened.set()
        owners = {await future for future in futures}

    assert len(owners) == 3
    assert len(running) == 6
    counts = {tuple(row) for row in sql("SELECT claim, crash_count FROM taskq_activities")}
    assert counts == {(1, 0)}


@pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["ahead", "behind"])
async def test_nothing_is_early_or_an_hour_late_where_a_clock_is_wrong(
    postgres_url: str, sql: Sql, by: timedelta
) -> None:
    """promise:G7, promise:G9, fault:E1: due times and retries are by the database's clock."""

    async def fail_once() -> int:
        if current().retry_count == 0:
            raise RuntimeError("once")
        return current().attempt

    taskq = TaskQ(
        postgres_url,
        clock=WrongClock(by),
        poll_interval=0.05,
        poll_max=0.1,
        retry=RetryPolicy(initial_delay=0.4, jitter=0),
    )
    doubled = taskq.activity(double)
    failing = taskq.activity(name="fail_once")(fail_once)
    async with taskq, taskq.worker():
        with anyio.fail_after(10):
            later = await doubled.aschedule(timedelta(seconds=0.5), number=1)
            at = datetime.now(UTC) + timedelta(seconds=0.5)
            then = await doubled.aschedule(at, number=2)
            again = await failing.adelay()
            assert [await later, await then, await again] == [2, 4, 2]

    waits = "SELECT id, ready_at, started_at, created_at FROM taskq_activities"
    rows = {row["id"]: row for row in sql(waits)}
    assert all(row["ready_at"] <= row["started_at"] for row in rows.values())
    assert rows[later.id]["ready_at"] - rows[later.id]["created_at"] == timedelta(seconds=0.5)
    assert rows[then.id]["ready_at"] == at
    [[failed_at]] = sql("SELECT at FROM taskq_events WHERE kind = 'failed'")
    assert rows[again.id]["ready_at"] - failed_at == timedelta(seconds=0.4)
