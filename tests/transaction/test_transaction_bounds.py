"""Bounded queues in a caller's transaction (seed:E25)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from sqlalchemy.exc import DBAPIError

from taskq import ActivityCancelled, QueueFull, Status, TaskQ, migrations
from taskq.backends.sql.postgres.failures import sqlstate
from tests.postgres_databases import Databases
from tests.transaction.callers import Caller
from tests.transaction.conftest import POSTGRES

sessions = pytest.mark.parametrize(
    "caller_kind",
    [("sqlite3", "session"), ("aiosqlite", "session"), *POSTGRES],
    ids=str,
)
strict = pytest.mark.parametrize(
    "caller_kind", [each for each in POSTGRES if each[1] == "session"], ids=str
)


def mailer(app: TaskQ, overflow: str) -> Any:
    app.queue("mail", max_pending=2, overflow=overflow)  # type: ignore[arg-type]

    @app.activity(queue="mail")
    async def send(number: int) -> int:
        return number

    return send


@sessions
async def test_there_nobody_waits_for_room_and_the_transaction_goes_on(
    caller: Caller, app: TaskQ, orders: str
) -> None:
    """promise:G2"""
    send = mailer(app, "block")
    await send.adelay(0)
    async with caller.transaction() as transaction:
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        last = await transaction.delay(send, 1)
        with pytest.raises(QueueFull, match="2 wait there"):
            await transaction.delay(send, 2)
        await transaction.commit()

        assert (await last.ainfo()).status is Status.PENDING
        assert len(await transaction.execute("SELECT id FROM orders")) == 1
    assert (await app.astats(["mail"])).by_status[Status.PENDING] == 2


@sessions
async def test_what_makes_room_there_ends_with_the_commit_and_who_awaits_it_is_told(
    caller: Caller, app: TaskQ
) -> None:
    """promise:G2"""
    send = mailer(app, "drop_oldest")
    oldest = await send.adelay(0)
    await send.adelay(1)
    async with caller.transaction() as transaction:
        await transaction.delay(send, 2)
        await transaction.rollback()
    assert (await oldest.ainfo()).status is Status.PENDING

    async with caller.transaction() as transaction:
        newest = await transaction.delay(send, 2)
        await transaction.commit()

    with pytest.raises(ActivityCancelled, match="was full"), anyio.fail_after(10):
        await oldest
    assert (await newest.ainfo()).status is Status.PENDING


@strict
async def test_a_turn_that_another_one_had_meanwhile_is_a_failure_to_serialize(
    caller: Caller, app: TaskQ
) -> None:
    """No count is ever an old one: its snapshot does not show what the other has stored."""
    send = mailer(app, "error")
    await send.adelay(0)
    async with caller.transaction(isolation_level="REPEATABLE READ") as transaction:
        await transaction.execute("SELECT count(*) FROM taskq_activities")
        await send.adelay(1)
        with pytest.raises(DBAPIError) as lost:
            await transaction.delay(send, 2)
        await transaction.rollback()
    assert sqlstate(lost.value) == "40001"


@pytest.mark.parametrize("caller_kind", [("psycopg", "connection")], ids=str)
async def test_room_is_counted_in_the_apps_schema_whatever_the_callers_map_says(
    caller: Caller, databases: Databases
) -> None:
    url = databases.fresh()
    migrations.migrate_url(url, schema="jobs")
    app = TaskQ(url, schema="jobs")
    send = mailer(app, "drop_oldest")
    oldest = await send.adelay(0)
    engine = caller.engine(url)

    tenant = {None: "tenant"}
    async with caller.transaction(engine, schema_translate_map=tenant) as transaction:
        for number in (1, 2):
            await transaction.delay(send, number)
        await transaction.commit()

    assert (await oldest.ainfo()).status is Status.CANCELLED
    app.close()
