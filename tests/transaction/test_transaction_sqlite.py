"""SQLite's transactions, which its driver begins in its own way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import event

from taskq import ActivityNotFound, Status, TaskQ
from taskq.backends import Hint, Topic
from taskq.backends.sql import SQLiteBackend
from taskq.errors import BackendUnavailable
from taskq.task import AsyncTask
from tests.transaction.callers import Caller, connection_of
from tests.transaction.conftest import SQLITE

Add = AsyncTask[[int, int], int]

pytestmark = pytest.mark.parametrize("caller_kind", SQLITE, ids=str)


def begins_itself(caller: Caller, begin: str = "BEGIN") -> Any:
    """An engine as SQLAlchemy's manual recommends: the driver begins nothing, an event does."""
    engine = caller.engine()
    core = engine if caller.blocks else engine.sync_engine

    def on_connect(connection: Any, record: object) -> None:
        connection.isolation_level = None

    def on_begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    event.listen(core, "connect", on_connect)
    event.listen(core, "begin", on_begin)
    return engine


@pytest.mark.parametrize("commit", [False, True], ids=["rollback", "commit"])
async def test_an_engine_that_begins_by_itself_is_joined(
    caller: Caller, add: Add, commit: bool
) -> None:
    """promise:G2"""
    async with caller.transaction(begins_itself(caller)) as transaction:
        await transaction.execute("SELECT count(*) FROM taskq_activities")
        future = await transaction.delay(add, 1, 2)
        await (transaction.commit() if commit else transaction.rollback())

    if commit:
        assert (await future.ainfo()).status is Status.PENDING
    else:
        with pytest.raises(ActivityNotFound):
            await future.ainfo()


async def test_a_transaction_that_was_left_behind_is_told_to_begin_immediate(
    caller: Caller, app: TaskQ, add: Add
) -> None:
    """fault:L12: it has read, then another one wrote; it goes on reading."""
    async with caller.transaction(begins_itself(caller)) as transaction:
        await transaction.execute("SELECT count(*) FROM taskq_activities")
        await add.adelay(0, 0)
        with pytest.raises(BackendUnavailable, match="BEGIN IMMEDIATE"):
            await transaction.delay(add, 1, 2)
        assert await transaction.execute("SELECT count(*) FROM taskq_activities") == [(0,)]
        await transaction.rollback()

        future = await transaction.delay(add, 1, 2)
        await transaction.commit()
    assert (await future.ainfo()).status is Status.PENDING


async def test_a_holder_that_is_not_committed_is_waited_for(
    caller: Caller, app: TaskQ, add: Add
) -> None:
    """promise:G2, promise:G3: the lock is taken before anything is read."""
    if not caller.blocks:
        pytest.skip("the same code; here it needs a thread")
    engine = begins_itself(caller)
    writes = threading.Event()

    def on_execute(*call: Any) -> None:
        if call[2].startswith(("DELETE", "INSERT")):
            writes.set()

    def wait() -> Any:
        with engine.connect() as connection:
            event.listen(connection, "before_cursor_execute", on_execute)
            future = add.options(connection=connection, idempotency_key="order").delay(1, 2)
            connection.commit()
            return future

    async with caller.transaction(engine) as holder:
        first = await holder.delay(add, 1, 2, idempotency_key="order")
        with ThreadPoolExecutor(1) as pool:
            second = pool.submit(wait)
            assert writes.wait(10)
            await holder.commit()
            assert second.result(10).id == first.id


async def test_a_read_before_does_not_stand_in_the_way(caller: Caller, add: Add) -> None:
    """The driver begins nothing for a SELECT, so that nothing is left behind."""
    async with caller.transaction() as transaction:
        await transaction.execute("SELECT count(*) FROM taskq_activities")
        await add.adelay(0, 0)
        future = await transaction.delay(add, 1, 2)
        await transaction.commit()
    assert (await future.ainfo()).status is Status.PENDING


async def test_a_map_of_the_callers_does_not_move_tables_to_another_file(
    caller: Caller, app: TaskQ, add: Add, tmp_path: Path
) -> None:
    """promise:G2: it is for the caller's own; the lock and the rows are in the app's file."""
    tenant = TaskQ(f"sqlite:///{tmp_path}/tenant.db")
    tenant.stats()
    options = {"schema_translate_map": {None: "tenant"}}
    async with caller.transaction(**options) as transaction:
        await transaction.execute(f"ATTACH '{tmp_path}/tenant.db' AS tenant")
        futures = [await transaction.delay(add, 1, 2, idempotency_key="order") for _ in range(2)]
        kept = await transaction.sync(lambda handle: connection_of(handle).get_execution_options())
        await transaction.commit()
    assert futures[0].id == futures[1].id
    assert (await futures[0].ainfo()).status is Status.PENDING
    assert tenant.stats().by_status[Status.PENDING] == 0
    assert kept["schema_translate_map"][None] == "tenant"
    tenant.close()


@pytest.mark.parametrize("options", [{"stream_results": True}, {"yield_per": 10}], ids=str)
async def test_rows_that_the_caller_streams_do_not_stand_in_the_way(
    caller: Caller, add: Add, options: dict[str, Any]
) -> None:
    """promise:G2"""
    async with caller.transaction(**options) as transaction:
        future = await transaction.delay(add, 1, 2, idempotency_key="order")
        await transaction.commit()
    assert (await future.ainfo()).status is Status.PENDING


async def test_the_commit_is_a_hint_to_other_backends(
    caller: Caller, app: TaskQ, add: Add, url: str
) -> None:
    """promise:G2: by data_version, with no hint before."""
    hints: list[Hint] = []
    store = app.client.store
    assert isinstance(store, SQLiteBackend)
    watch = await app.client.call(store.watch, [Topic.READY], hints.append)
    async with caller.transaction() as transaction:
        await transaction.delay(add, 1, 2)
        assert hints == []
        await transaction.commit()
        with anyio.fail_after(10):
            while not hints:
                await anyio.sleep(0.005)
    await app.client.call(watch.close)
