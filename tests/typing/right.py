"""Right uses, as a user's editor sees them: both type checkers accept this file, without a comment.

It is checked by ``scripts/check`` and by tests/typing/test_typing.py; never run.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import assert_type
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from taskq import (
    Activity,
    ActivityError,
    ActivityFuture,
    AsyncTask,
    DeadLetter,
    OnDuplicate,
    Priority,
    Progress,
    RetryPolicy,
    Secret,
    SyncTask,
    TaskQ,
    as_completed,
    current,
    gather,
)

taskq = TaskQ("memory://", queue="shop", concurrency=4, lease=20.0)


@taskq.activity
async def send_email(to: str, subject: str = "Welcome") -> str:
    return to + subject


@taskq.activity(priority=Priority.HIGH, max_retries=5, timeout=30)
async def charge(amount: float) -> bytes:
    return b""


@taskq.activity
async def log_in(user: str, password: Secret[str]) -> bool:
    assert_type(password.reveal(), str)
    return bool(user)


assert_type(log_in.delay("ada", Secret("x")), ActivityFuture[bool])


@taskq.activity
def resize(width: int, height: int) -> list[int]:
    return [width, height]


def on_dead(dead: DeadLetter) -> None:
    assert_type(dead.retry_count, int)


async def on_any_failure(dead: DeadLetter) -> None:
    assert_type(dead.id, UUID)


@taskq.activity(
    name="nightly",
    queue="reports",
    timeout=timedelta(minutes=5),
    retry=RetryPolicy(initial_delay=2),
    no_retry=(ValueError,),
    on_dead_letter=on_dead,
    on_failure=on_any_failure,
    aliases=["old_nightly"],
    orphans="keep",
    expires=timedelta(hours=6),
    deadline=datetime(2100, 1, 1, tzinfo=UTC),
)
def report(day: datetime | None = None) -> None:
    assert_type(current().retry_count, int)
    assert_type(current().generation, int)
    assert_type(current().step, str | None)
    assert_type(current().deadline, datetime | None)


assert_type(send_email.delay(to="a"), ActivityFuture[str])
assert_type(send_email.delay("a", "b"), ActivityFuture[str])
assert_type(charge.delay(1.5), ActivityFuture[bytes])
assert_type(resize.delay(1, height=2), ActivityFuture[list[int]])
assert_type(resize.delay(1, 2).result(timeout=1.0), list[int])
assert_type(resize(1, 2), list[int])
assert_type(report.schedule(timedelta(hours=1)), ActivityFuture[None])
assert_type(send_email.schedule(3.5, to="a"), ActivityFuture[str])
assert_type(send_email.schedule(datetime.now(UTC), "a"), ActivityFuture[str])
assert_type(send_email.build("a"), Activity[str])
assert_type(taskq.enqueue([send_email.build("a")]), list[ActivityFuture[str]])
assert_type(send_email.future("018f0000-0000-7000-8000-000000000000"), ActivityFuture[str])
assert_type(
    send_email.options(
        priority=Priority.CRITICAL,
        idempotency_key="order-42",
        on_duplicate=OnDuplicate.NO_REUSE,
        on_mismatch="ignore",
        unique_for=timedelta(hours=1),
        metadata={"a": 1},
        tags={"region": "eu"},
        correlation_id="c",
        user_id="u",
        source="web",
        as_root=True,
        queue="mail",
        max_attempts=3,
        delay=timedelta(seconds=1),
    ).delay(to="a"),
    ActivityFuture[str],
)


assert_type(
    send_email.options(step="welcome", expires=60, deadline=None).delay("a"), ActivityFuture[str]
)


async def main() -> None:
    future = await send_email.adelay(to="a")
    assert_type(future, ActivityFuture[str])
    assert_type(await future, str)
    assert_type(await send_email("a"), str)
    assert_type(await charge.aschedule(1, 2.0), ActivityFuture[bytes])
    assert_type(await taskq.aenqueue([charge.build(1.0)]), list[ActivityFuture[bytes]])
    assert_type(await future.acancel(), bool)
    assert_type(await future.acancel(tree=True), bool)
    assert_type((await future.ainfo()).progress, Progress | None)
    current().progress(1)
    current().progress(1.5, 3, note="half way")
    async with taskq.worker(concurrency=2, queues=["a"], types="*") as worker:
        assert_type(worker.id, UUID)
        async for error in worker.errors:
            raise error.error
    await taskq.run_worker(burst=True)


def in_a_transaction(
    session: Session, scoped: scoped_session[Session], connection: Connection
) -> None:
    assert_type(send_email.options(session=session).delay(to="a"), ActivityFuture[str])
    assert_type(send_email.options(connection=connection).delay("a"), ActivityFuture[str])
    assert_type(
        resize.options(session=scoped, notify=False, idempotency_key="k").schedule(5, 1, 2),
        ActivityFuture[list[int]],
    )
    batch = [send_email.build("a")]
    assert_type(taskq.enqueue(batch, session=session), list[ActivityFuture[str]])
    assert_type(taskq.enqueue(batch, session=scoped), list[ActivityFuture[str]])
    assert_type(
        taskq.enqueue(batch, connection=connection, notify=False), list[ActivityFuture[str]]
    )
    assert_type(send_email.options(session=None).build("a"), Activity[str])


async def in_an_async_transaction(
    session: AsyncSession, scoped: async_scoped_session[AsyncSession], connection: AsyncConnection
) -> None:
    assert_type(await send_email.options(session=session).adelay(to="a"), ActivityFuture[str])
    assert_type(await send_email.options(session=scoped).aschedule(5, "a"), ActivityFuture[str])
    assert_type(await resize.options(connection=connection).adelay(1, 2), ActivityFuture[list[int]])
    batch = [send_email.build("a")]
    assert_type(await taskq.aenqueue(batch, session=session), list[ActivityFuture[str]])
    assert_type(await taskq.aenqueue(batch, session=scoped), list[ActivityFuture[str]])
    assert_type(
        await taskq.aenqueue(batch, connection=connection, notify=False), list[ActivityFuture[str]]
    )


def takes_tasks(first: AsyncTask[..., str], second: SyncTask[[int, int], list[int]]) -> None: ...


takes_tasks(send_email, resize)


async def waiting_for_many(futures: list[ActivityFuture[int]]) -> None:
    text, image = await send_email.adelay("a"), await charge.adelay(1.0)
    assert_type(await gather(text), tuple[str])
    assert_type(await gather(text, image), tuple[str, bytes])
    assert_type(await gather(text, image, text, image, text), tuple[str, bytes, str, bytes, str])
    assert_type(await gather(*futures), list[int])
    assert_type(
        await gather(text, image, return_exceptions=True),
        tuple[str | ActivityError, bytes | ActivityError],
    )
    assert_type(await gather(*futures, return_exceptions=True), list[int | ActivityError])
    async for future in as_completed(futures):
        assert_type(future, ActivityFuture[int])
        assert_type(await future, int)


@taskq.periodic("*/5 * * * *", tz="Europe/Lisbon", catch_up="none", overlap="queue", jitter=5)
@taskq.periodic(every=timedelta(seconds=30), name="often", arguments={"to": "ada"})
@taskq.activity
async def remind(to: str = "all") -> str:
    return to


@taskq.periodic("@daily")
def tidy(limit: int = 3) -> list[int]:
    return [limit]


@taskq.periodic("@daily")
async def count() -> int:
    return 3


async def use_schedules() -> None:
    assert_type(await remind("ada"), str)
    assert_type(tidy(4), list[int])
    assert_type(await (await count.adelay()), int)
    made = await taskq.schedules.acreate("weekly", remind.build("ada"), cron="@weekly", tz="UTC")
    assert_type(made.name, str)
    assert_type(await taskq.schedules.atrigger("weekly"), ActivityFuture[object])
    taskq.schedules.update("weekly", every=timedelta(hours=1), overlap="skip", reason="why")


@taskq.activity(run_in="process", timeout=60)
def crunch(numbers: list[float]) -> float:
    return sum(numbers)


assert_type(crunch.delay([1.0]), ActivityFuture[float])
