"""What is refused in a caller's transaction, by which error, and that it names the way out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine
from sqlalchemy.ext.asyncio import (
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from taskq import ConfigurationError, InvalidState, SchemaError, Status, TaskQ
from taskq.backends.sql.tables import activities as taskq_activities
from taskq.errors import BackendUnavailable
from taskq.task import AsyncTask
from tests.postgres_databases import Databases
from tests.transaction.callers import Caller, Transaction, connection_of
from tests.transaction.conftest import EVERY, POSTGRES, SQLITE

Add = AsyncTask[[int, int], int]

on_sqlite = pytest.mark.parametrize("caller_kind", SQLITE, ids=str)
on_postgres = pytest.mark.parametrize("caller_kind", POSTGRES, ids=str)
once = pytest.mark.parametrize("caller_kind", [("sqlite3", "session")], ids=str)
both_sqlites = pytest.mark.parametrize(
    "caller_kind", [("sqlite3", "session"), ("aiosqlite", "session")], ids=str
)


@pytest.fixture
async def mine(caller: Caller, app: TaskQ) -> AsyncIterator[Transaction]:
    """A transaction."""
    async with caller.transaction() as transaction:
        yield transaction


# -- calls that do not fit --


async def test_the_other_kind_of_call_is_a_type_error_that_names_it(
    caller: Caller, mine: Transaction, app: TaskQ, add: Add
) -> None:
    """promise:G2"""
    bound = add.options(**{mine.name: mine.handle})
    given: Any = {mine.name: mine.handle}

    if caller.blocks:
        with pytest.raises(TypeError, match="use delay, schedule or enqueue"):
            await bound.adelay(1, 2)
        with pytest.raises(TypeError, match="or give an Async"):
            await bound.aschedule(5, 1, 2)
        with pytest.raises(TypeError, match="enqueue"):
            await app.aenqueue([add.build(1, 2)], **given)
    else:
        with pytest.raises(TypeError, match="use adelay, aschedule or aenqueue"):
            bound.delay(1, 2)
        with pytest.raises(TypeError, match=r"or give a [SC]\w+ here"):
            bound.schedule(5, 1, 2)
        with pytest.raises(TypeError, match="aenqueue"):
            app.enqueue([add.build(1, 2)], **given)


async def test_a_session_given_as_a_connection_is_named(
    mine: Transaction, caller: Caller, add: Add
) -> None:
    other = "connection" if mine.name == "session" else "session"
    bound = add.options(**{other: mine.handle})

    with pytest.raises(TypeError, match=f"give it as {mine.name}="):
        if caller.blocks:
            bound.delay(1, 2)
        else:
            await bound.adelay(1, 2)


@once
async def test_both_at_once_are_refused(mine: Transaction, app: TaskQ, add: Add) -> None:
    both: Any = {"session": mine.handle, "connection": mine.handle}

    with pytest.raises(TypeError, match="exclude each other"):
        add.options(**both)
    with pytest.raises(TypeError, match="exclude each other"):
        add.options(session=mine.handle).options(connection=mine.handle)
    with pytest.raises(TypeError, match="exclude each other"):
        app.enqueue([add.build(1, 2)], **both)
    with pytest.raises(TypeError, match="exclude each other"):
        await app.aenqueue([add.build(1, 2)], **both)


@once
async def test_notify_says_something_only_about_a_transaction(app: TaskQ, add: Add) -> None:
    with pytest.raises(TypeError, match="notify=False"):
        add.options(notify=False)
    with pytest.raises(TypeError, match="notify=False"):
        app.enqueue([add.build(1, 2)], notify=False)
    assert add.options(session=None, connection=None, notify=True).delay(1, 2).info()


@once
async def test_anything_else_is_refused(app: TaskQ, add: Add) -> None:
    engine: Any = "postgresql://here"

    with pytest.raises(TypeError, match="takes SQLAlchemy's Session or AsyncSession, not str"):
        add.options(session=engine).delay(1, 2)
    with pytest.raises(TypeError, match="Connection or AsyncConnection, not str"):
        await add.options(connection=engine).adelay(1, 2)


@once
async def test_build_stores_nothing_and_takes_no_session(mine: Transaction, add: Add) -> None:
    bound = add.options(session=mine.handle)

    with pytest.raises(TypeError, match="give it to enqueue"):
        bound.build(1, 2)
    with pytest.raises(TypeError, match="give it to enqueue"):
        bound.build_json('{"left": 1, "right": 2}')


@both_sqlites
async def test_scoped_sessions_are_sessions(caller: Caller, app: TaskQ, add: Add) -> None:
    if caller.blocks:
        scoped = scoped_session(sessionmaker(caller.engine()))
        future = add.options(session=scoped).delay(1, 2)
        scoped.commit()
        scoped.remove()
    else:
        here = async_scoped_session(async_sessionmaker(caller.engine()), scopefunc=lambda: 1)
        future = await add.options(session=here).adelay(1, 2)
        await here.commit()
        await here.remove()
    assert (await future.ainfo()).status is Status.PENDING


# -- stores that do not fit --


@once
async def test_memory_cannot_and_says_who_can(mine: Transaction) -> None:
    app = TaskQ("memory://")

    @app.activity
    async def task() -> None: ...

    with pytest.raises(ConfigurationError, match="PostgreSQL and SQLite can"):
        task.options(session=mine.handle).delay()
    with pytest.raises(ConfigurationError, match="MemoryBackend cannot"):
        await app.aenqueue([task.build()], session=mine.handle)


@pytest.mark.parametrize("caller_kind", [EVERY[0], EVERY[4]], ids=str)
async def test_another_database_than_the_stores_is_named(
    caller: Caller, mine: Transaction, tmp_path: Path
) -> None:
    other = TaskQ(
        "postgresql://nowhere/shop"
        if caller.dialect == "sqlite"
        else f"sqlite:///{tmp_path}/other.db"
    )

    @other.activity
    async def task() -> None: ...

    with pytest.raises(TypeError, match=r"\((sqlite|postgresql)\).*of (sqlite|postgresql) cannot"):
        await mine.delay(task)


@on_sqlite
async def test_another_file_than_the_stores_is_named(
    caller: Caller, app: TaskQ, add: Add, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"

    async with caller.transaction(caller.engine(f"sqlite:///{other}")) as transaction:
        with pytest.raises(ConfigurationError) as refusal:
            await transaction.delay(add, 1, 2)
    assert str(other) in str(refusal.value)
    assert app.client.store.location in str(refusal.value)


@once
async def test_a_database_in_memory_is_not_the_stores(app: TaskQ, add: Add) -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(ConfigurationError, match="in memory"):
        add.options(connection=connection).delay(1, 2)
    engine.dispose()


@once
async def test_the_same_file_by_another_path_is_the_stores(
    caller: Caller, app: TaskQ, add: Add, tmp_path: Path
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(app.client.store.location)

    async with caller.transaction(caller.engine(f"sqlite:///{link}")) as transaction:
        future = await transaction.delay(add, 1, 2)
        await transaction.commit()
    assert future.info().status is Status.PENDING


@on_sqlite
async def test_a_file_without_tables_is_a_schema_error(caller: Caller, url: str) -> None:
    """The transaction stays usable."""
    app = TaskQ(url)

    @app.activity
    async def task() -> None: ...

    async with caller.transaction() as transaction:
        await transaction.execute("CREATE TABLE orders (id text)")
        with pytest.raises(SchemaError, match="taskq migrate"):
            await transaction.delay(task)
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        await transaction.commit()
        assert len(await transaction.execute("SELECT id FROM orders")) == 1


@on_postgres
async def test_a_database_without_tables_is_a_schema_error(
    caller: Caller, add: Add, databases: Databases
) -> None:
    """The transaction stays usable."""
    engine = caller.engine(databases.url("postgres"))

    async with caller.transaction(engine) as transaction:
        with pytest.raises(SchemaError, match="taskq migrate"):
            await transaction.delay(add, 1, 2)
        assert await transaction.execute("SELECT 1") == [(1,)]


# -- transactions that are none --


async def test_autocommit_is_refused(caller: Caller, app: TaskQ, add: Add) -> None:
    """promise:G2: there would be nothing to commit."""
    async with caller.transaction(isolation_level="AUTOCOMMIT") as transaction:
        with pytest.raises(InvalidState, match="is in autocommit"):
            await transaction.delay(add, 1, 2)
    assert app.stats().by_status[Status.PENDING] == 0


@on_postgres
async def test_a_transaction_that_has_failed_is_said_to_have(caller: Caller, add: Add) -> None:
    async with caller.transaction() as transaction:

        def fail(handle: Any) -> None:
            cursor = connection_of(handle).connection.cursor()
            cursor.execute("SELECT broken")

        with pytest.raises(Exception, match="broken"):
            await transaction.sync(fail)
        with pytest.raises(InvalidState, match="roll it back first"):
            await transaction.delay(add, 1, 2)

        await transaction.rollback()
        future = await transaction.delay(add, 1, 2)
        await transaction.commit()
    assert (await future.ainfo()).status is Status.PENDING


@once
async def test_a_lock_of_another_is_waited_for_no_longer_than_the_caller_waits(
    caller: Caller, app: TaskQ, add: Add
) -> None:
    engine = caller.engine(connect_args={"timeout": 0.01})
    async with caller.transaction() as holder, caller.transaction(engine) as transaction:
        await holder.delay(add, 1, 2)
        with pytest.raises(BackendUnavailable, match="write transaction"):
            await transaction.delay(add, 1, 2)


@once
@pytest.mark.parametrize("given_as", ["session", "connection"])
def test_what_is_awaited_needs_asyncio(app: TaskQ, add: Add, given_as: str) -> None:
    """SQLAlchemy's; a thread and what blocks are the way on trio."""
    engine = create_async_engine("sqlite+aiosqlite://")
    handle = AsyncSession(engine) if given_as == "session" else engine.connect()
    given: Any = {given_as: handle}

    async def call() -> None:
        with pytest.raises(TypeError, match=r"needs asyncio.*call delay in a thread"):
            await add.options(**given).adelay(1, 2)

    anyio.run(call, backend="trio")


def test_importing_taskq_imports_no_sqlalchemy() -> None:
    code = "import sys, taskq; raise SystemExit('sqlalchemy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- sessions with several binds --


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Engine]:
    """A database that is not taskq's."""
    engine = create_engine(f"sqlite:///{tmp_path}/elsewhere.db")
    yield engine
    engine.dispose()


orders = Table("orders", MetaData(), Column("id", Integer, primary_key=True))


@once
async def test_a_session_with_several_binds_takes_the_one_of_taskqs_tables(
    caller: Caller, app: TaskQ, add: Add, elsewhere: Engine
) -> None:
    """promise:G2"""
    await app.client.call(app.client.ready)
    engine = caller.engine()
    with Session(binds={orders: elsewhere, taskq_activities: engine}) as session:
        future = app.enqueue([add.build(1, 2)], session=session)[0]
        session.commit()
    engine.dispose()

    assert (await future.ainfo()).status is Status.PENDING


@once
async def test_a_session_without_a_bind_for_taskqs_tables_names_the_way_out(
    app: TaskQ, add: Add, elsewhere: Engine
) -> None:
    with (
        Session(binds={orders: elsewhere}) as session,
        pytest.raises(TypeError, match=r"connection=session\.connection"),
    ):
        app.enqueue([add.build(1, 2)], session=session)
