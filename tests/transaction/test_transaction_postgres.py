"""PostgreSQL's isolation levels, notifications, instants and settings in a caller's transaction."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import anyio
import pytest
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from taskq import ActivityNotFound, IdempotencyConflict, OnDuplicate, Status, TaskQ, migrations
from taskq.backends import Hint, Topic
from taskq.backends.sql.postgres.failures import sqlstate
from taskq.errors import BackendUnavailable
from taskq.task import AsyncTask
from tests.postgres_databases import Databases
from tests.transaction.callers import Caller, connection_of
from tests.transaction.conftest import POSTGRES, Heard

Add = AsyncTask[[int, int], int]

every = pytest.mark.parametrize("caller_kind", POSTGRES, ids=str)
drivers = pytest.mark.parametrize(
    "caller_kind", [each for each in POSTGRES if each[1] == "session"], ids=str
)
awaited = pytest.mark.parametrize(
    "caller_kind", [each for each in POSTGRES if each[0] != "psycopg"], ids=str
)
once = pytest.mark.parametrize("caller_kind", [("psycopg", "connection")], ids=str)
strict = pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])


# -- isolation --


@drivers
@strict
async def test_a_key_that_is_hidden_is_a_conflict_and_the_transaction_goes_on(
    caller: Caller, add: Add, orders: str, isolation: str
) -> None:
    """promise:G2, promise:G3: it was given after the transaction had begun."""
    async with caller.transaction(isolation_level=isolation) as transaction:
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        first = await add.options(idempotency_key="order").adelay(1, 2)
        with pytest.raises(IdempotencyConflict, match="its isolation level hides"):
            await transaction.delay(add, 1, 2, idempotency_key="order")
        other = await transaction.delay(add, 3, 4)
        await transaction.commit()

        assert (await other.ainfo()).status is Status.PENDING
        assert len(await transaction.execute("SELECT id FROM orders")) == 1
        again = await transaction.delay(add, 1, 2, idempotency_key="order")
        assert again.id == first.id


@drivers
@strict
async def test_a_key_that_was_moved_meanwhile_is_a_conflict(
    caller: Caller, add: Add, isolation: str
) -> None:
    """promise:G2, promise:G3: the key is seen, who holds it now is not."""
    keyed = add.options(idempotency_key="order")
    await keyed.adelay(1, 2)
    async with caller.transaction(isolation_level=isolation) as transaction:
        await transaction.execute("SELECT count(*) FROM taskq_keys")
        await keyed.options(on_duplicate=OnDuplicate.ALLOW_REUSE).adelay(1, 2)
        with pytest.raises(IdempotencyConflict, match="its isolation level hides"):
            await transaction.delay(add, 1, 2, idempotency_key="order")
        assert await transaction.execute("SELECT 1") == [(1,)]


@drivers
@pytest.mark.parametrize("key", [{}, {"idempotency_key": "fresh"}], ids=["without", "with key"])
async def test_a_failure_to_serialize_is_the_drivers_own(
    caller: Caller, app: TaskQ, add: Add, orders: str, key: dict[str, str]
) -> None:
    """promise:G2, promise:G3: a caller's retry begins by it; nobody else ever gave this key."""
    engine = caller.engine(isolation_level="SERIALIZABLE")
    async with caller.transaction(engine) as mine, caller.transaction(engine) as other:
        await mine.execute("SELECT count(*) FROM orders")
        await other.execute("SELECT count(*) FROM taskq_activities")
        await other.execute("SELECT count(*) FROM orders")
        await other.execute("INSERT INTO orders VALUES ('o1')")
        await other.commit()
        with pytest.raises(DBAPIError) as failure:
            await mine.delay(add, 1, 2, **key)
        assert sqlstate(failure.value) == "40001"
        await mine.rollback()
        assert app.stats().by_status[Status.PENDING] == 0

        future = await mine.delay(add, 1, 2, **key)
        await mine.commit()
    assert (await future.ainfo()).status is Status.PENDING


@drivers
@strict
async def test_an_activity_that_is_hidden_is_no_hidden_key(
    caller: Caller, app: TaskQ, add: Add, isolation: str
) -> None:
    """promise:G2: the same built call was stored meanwhile, beside one with a key of its own."""
    batch = [add.options(idempotency_key="fresh").build(0, 0), add.build(1, 2)]
    async with caller.transaction(isolation_level=isolation) as transaction:
        await transaction.execute("SELECT count(*) FROM taskq_activities")
        await app.aenqueue(batch[1:])
        with pytest.raises(DBAPIError) as failure:
            await transaction.enqueue(app, batch)
        assert sqlstate(failure.value) == "40001"
        await transaction.rollback()

        await transaction.enqueue(app, batch)
        await transaction.commit()
    assert app.stats().by_status[Status.PENDING] == 2


@drivers
@strict
async def test_a_key_that_is_seen_is_shared(caller: Caller, add: Add, isolation: str) -> None:
    """promise:G2, promise:G3"""
    first = await add.options(idempotency_key="order").adelay(1, 2)

    async with caller.transaction(isolation_level=isolation) as transaction:
        second = await transaction.delay(add, 1, 2, idempotency_key="order")
        with pytest.raises(IdempotencyConflict, match="other arguments"):
            await transaction.delay(add, 1, 3, idempotency_key="order")
        await transaction.commit()
    assert second.id == first.id


@once
@pytest.mark.parametrize("commit", [False, True], ids=["rollback", "commit"])
async def test_a_holder_that_is_not_committed_is_waited_for(
    caller: Caller, add: Add, databases: Databases, url: str, commit: bool
) -> None:
    """promise:G2, promise:G3"""
    found = []
    async with caller.transaction() as first, caller.transaction() as second:
        held = await first.delay(add, 1, 2, idempotency_key="order")

        async def wait() -> None:
            bound = add.options(connection=second.handle, idempotency_key="order")
            found.append(await anyio.to_thread.run_sync(bound.delay, 1, 2))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                waits = "SELECT 1 FROM pg_locks WHERE NOT granted"
                while not databases.run(url, waits):
                    await anyio.sleep(0.005)
                await (first.commit() if commit else first.rollback())
        await second.commit()
    assert (found[0].id == held.id) is commit
    assert (await found[0].ainfo()).status is Status.PENDING


@once
async def test_a_lock_timeout_of_the_callers_leaves_the_transaction_usable(
    caller: Caller, add: Add
) -> None:
    """promise:G2"""
    async with caller.transaction() as first, caller.transaction() as second:
        await first.delay(add, 1, 2, idempotency_key="order")
        await second.execute("SET LOCAL lock_timeout = '10ms'")
        with pytest.raises(BackendUnavailable, match="holds what is needed"):
            await second.delay(add, 1, 2, idempotency_key="order")
        other = await second.delay(add, 3, 4)
        await second.commit()
    assert (await other.ainfo()).status is Status.PENDING


@awaited
async def test_cancelling_a_call_ends_the_transaction(
    caller: Caller, add: Add, databases: Databases, url: str
) -> None:
    """promise:G2: SQLAlchemy gives up the connection of a cancelled statement; nothing is left."""
    async with caller.transaction() as first, caller.transaction() as second:
        await first.delay(add, 1, 2, idempotency_key="order")
        before = await second.delay(add, 0, 0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(second.delay, add, 1, 2, idempotency_key="order"))
            with anyio.fail_after(20):
                while not databases.run(url, "SELECT 1 FROM pg_locks WHERE NOT granted"):
                    await anyio.sleep(0.005)
            tasks.cancel_scope.cancel()
        with pytest.raises(SQLAlchemyError, match="rollback"):
            await second.execute("SELECT 1")
        await second.rollback()

        with pytest.raises(ActivityNotFound):
            await before.ainfo()
        again = await second.delay(add, 3, 4)
        await second.commit()
        await first.rollback()
    assert (await again.ainfo()).status is Status.PENDING


# -- settings, instants, schemas --


@drivers
async def test_no_setting_of_the_transaction_is_changed(caller: Caller, add: Add) -> None:
    names = ("synchronous_commit", "lock_timeout", "statement_timeout", "search_path")

    async with caller.transaction() as transaction:
        before = [await transaction.execute(f"SHOW {name}") for name in names]
        await transaction.delay(add, 1, 2, idempotency_key="order")
        await transaction.delay(add, 1, 2, idempotency_key="order")
        assert [await transaction.execute(f"SHOW {name}") for name in names] == before


@drivers
async def test_instants_count_from_the_call(caller: Caller, add: Add) -> None:
    """promise:G2: not from the transaction's begin, which may be long ago."""
    async with caller.transaction() as transaction:
        [[begin]] = await transaction.execute("SELECT now()")
        await transaction.execute("SELECT pg_sleep(0.02)")
        future = await transaction.delay(add, 1, 2)
        later = await transaction.delay(add, 1, 2, delay=0.02)
        await transaction.commit()

    info, delayed = await future.ainfo(), await later.ainfo()
    assert (info.created_at - begin).total_seconds() >= 0.02
    assert info.ready_at == info.created_at
    assert delayed.status is Status.SCHEDULED
    assert (delayed.ready_at - delayed.created_at).total_seconds() == pytest.approx(0.02)


@drivers
async def test_an_instant_that_passed_since_the_begin_is_due(caller: Caller, add: Add) -> None:
    """promise:G2"""
    async with caller.transaction() as transaction:
        await transaction.execute("SELECT now()")
        [[soon]] = await transaction.execute("SELECT clock_timestamp() FROM pg_sleep(0.01)")
        future = await transaction.delay(add, 1, 2, run_at=soon)
        await transaction.commit()
    assert (await future.ainfo()).status is Status.PENDING


@once
async def test_the_schema_is_the_apps_whatever_the_callers_own_map_says(
    caller: Caller, databases: Databases
) -> None:
    """TASKQ_SCHEMA; a map of the caller's is for its own tables."""
    url = databases.create()
    migrations.migrate_url(url, schema="jobs")
    app = TaskQ(url, schema="jobs")

    @app.activity
    async def task() -> None: ...

    options = {"schema_translate_map": {None: "tenant"}}
    async with caller.transaction(caller.engine(url), **options) as transaction:
        await transaction.execute("CREATE SCHEMA tenant")
        keyed = [await transaction.delay(task, idempotency_key="order") for _ in range(2)]
        await transaction.commit()
    assert keyed[0].id == keyed[1].id
    assert app.stats().by_status[Status.PENDING] == 1
    app.close()
    await caller.close()


@once
async def test_a_map_of_the_callers_does_not_move_tables_on_the_search_path(
    caller: Caller, add: Add
) -> None:
    options = {"schema_translate_map": {None: "tenant"}}
    async with caller.transaction(**options) as transaction:
        future = await transaction.delay(add, 1, 2)
        await transaction.commit()
    assert (await future.ainfo()).status is Status.PENDING


@drivers
@pytest.mark.parametrize("options", [{"stream_results": True}, {"yield_per": 10}], ids=str)
async def test_rows_that_the_caller_streams_do_not_stand_in_the_way(
    caller: Caller, add: Add, options: dict[str, Any]
) -> None:
    """promise:G2: a savepoint has no server-side cursor; the option stays for the caller."""
    async with caller.transaction(**options) as transaction:
        futures = [await transaction.delay(add, 1, 2, idempotency_key="order") for _ in range(2)]
        kept = await transaction.sync(lambda handle: connection_of(handle).get_execution_options())
        await transaction.commit()
    assert futures[0].id == futures[1].id
    assert (await futures[0].ainfo()).status is Status.PENDING
    assert options.items() <= dict(kept).items()


# -- notifications, two phases, failed commits --


@drivers
async def test_other_backends_hear_of_the_commit_and_not_before(
    caller: Caller, app: TaskQ, add: Add, url: str
) -> None:
    """promise:G2: by NOTIFY, also in the app's own process, and where it does not listen itself."""
    hints: list[Hint] = []
    deaf = TaskQ(url, listen=False)
    fence = TaskQ(url)
    task = fence.activity(add.definition.function)
    told = deaf.activity(add.definition.function)
    watch = await app.client.call(app.client.store.watch, [Topic.READY], hints.append)

    async def heard(count: int) -> None:
        with anyio.fail_after(10):
            while len(hints) < count:
                await anyio.sleep(0.005)
        assert len(hints) == count

    hints.clear()
    async with caller.transaction() as transaction:
        await transaction.delay(add, 1, 2)
        await transaction.delay(told, 1, 2)
        await task.adelay(0, 0)
        await heard(1)
        await transaction.commit()
        await heard(2)
        await transaction.delay(add, 1, 2, notify=False)
        await transaction.commit()
        await fence.client.call(fence.client.store.promote, 1)
        await transaction.delay(add, 1, 2)
        await transaction.commit()
        await heard(3)
    await app.client.call(watch.close)
    fence.close()


@once
@pytest.mark.parametrize("options", [{}, {"notify": False}], ids=["told", "notify=False"])
async def test_a_two_phase_transaction_can_be_prepared(
    caller: Caller, app: TaskQ, add: Add, heard: Heard, options: dict[str, Any]
) -> None:
    """promise:G2: PREPARE forbids NOTIFY, so there is none and polling finds the call; it exists
    when the second phase has committed."""
    async with caller.transaction() as transaction:
        two = transaction.handle.begin_twophase()
        future = await transaction.delay(add, 1, 2, **options)
        two.prepare()
        assert app.stats().by_status[Status.PENDING] == 0
        assert heard.enqueued == []
        two.commit()
        del two
        assert (await future.ainfo()).status is Status.PENDING
        assert [each.id for each in heard.enqueued] == [future.id]
    async with app.worker(poll_interval=0.05):
        with anyio.fail_after(20):
            assert await future == 3


@drivers
async def test_a_commit_that_fails_is_no_commit(
    caller: Caller, add: Add, orders: str, heard: Heard
) -> None:
    """promise:G2: for example by a constraint that is checked then."""

    async with caller.transaction() as transaction:
        await transaction.execute(
            "ALTER TABLE orders ADD COLUMN parent text REFERENCES orders"
            " DEFERRABLE INITIALLY DEFERRED"
        )
        await transaction.commit()
        await transaction.execute("INSERT INTO orders VALUES ('o1', 'nobody')")
        future = await transaction.delay(add, 1, 2)
        with pytest.raises(DBAPIError, match="foreign key"):
            await transaction.commit()
        with pytest.raises(ActivityNotFound):
            await future.ainfo()
        await transaction.rollback()

        kept = await transaction.delay(add, 3, 4)
        await transaction.commit()
    assert [each.id for each in heard.enqueued] == [kept.id]


@drivers
async def test_a_connection_that_breaks_is_unavailable(
    caller: Caller, app: TaskQ, add: Add, databases: Databases, url: str
) -> None:
    """promise:G2: nothing is left, and the future says so."""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)
        [[pid]] = await transaction.execute("SELECT pg_backend_pid()")
        databases.run(url, f"SELECT pg_terminate_backend({pid})")
        with pytest.raises(BackendUnavailable):
            await transaction.delay(add, 1, 2)
        await transaction.rollback()

        with pytest.raises(ActivityNotFound):
            await future.ainfo()
        again = await transaction.delay(add, 1, 2)
        await transaction.commit()
    assert (await again.ainfo()).status is Status.PENDING


@drivers
async def test_no_event_comes_of_a_connection_that_broke_before_the_commit(
    caller: Caller, add: Add, databases: Databases, url: str, heard: Heard
) -> None:
    """promise:G2: and the commit raises what it raises without listeners."""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)
        [[pid]] = await transaction.execute("SELECT pg_backend_pid()")
        databases.run(url, f"SELECT pg_terminate_backend({pid})")
        with pytest.raises(DBAPIError):
            await transaction.commit()
        await transaction.rollback()
        with pytest.raises(ActivityNotFound):
            await future.ainfo()
    assert heard.enqueued == []


@once
async def test_a_future_keeps_no_connection(caller: Caller, add: Add) -> None:
    """Nor does what is told of its commit."""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)
        seen: Any = weakref.ref(connection_of(transaction.handle))
        await transaction.commit()
    transaction.handle = None
    del transaction

    assert seen() is None
    assert (await future.ainfo()).status is Status.PENDING
