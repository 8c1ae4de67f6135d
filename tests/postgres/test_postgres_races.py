"""Many callers at once with one idempotency key, whatever isolation is the default."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from uuid import UUID

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from taskq import TaskQ
from taskq.task import AsyncTask
from tests.postgres_databases import EMPTY, Databases

ISOLATIONS = ("read committed", "repeatable read", "serializable")
APPS = 10
CALLERS = 5
"""For each app, on connections of its own: half of them threads, half of them tasks."""

Add = AsyncTask[[int, int], int]


@pytest.fixture(scope="module")
def database(databases: Databases) -> str:
    """A database for these tests, whose defaults they change."""
    return databases.fresh()


@pytest.fixture(params=ISOLATIONS)
def url(request: pytest.FixtureRequest, databases: Databases, database: str) -> str:
    """The same, empty, where transactions have this isolation by default."""
    name = database.rpartition("/")[2]
    change = f"ALTER DATABASE {name} SET default_transaction_isolation = '{request.param}'"
    databases.run(database, EMPTY, change)
    databases.part(database)
    return database


@pytest.fixture
def adders(url: str) -> Iterator[list[Add]]:
    """One task in each of the apps."""
    with ExitStack() as stack:
        made: list[Add] = []
        for _ in range(APPS):
            app = TaskQ(url)
            stack.callback(app.close)

            @app.activity
            async def add(left: int, right: int) -> int:
                return left + right

            made.append(add)
        yield made


def race(adders: list[Add], when_all_started: Callable[[], None] = lambda: None) -> set[UUID]:
    """The ids that fifty callers with one key get, half of them threads and half of them tasks."""
    callers = [adder.options(idempotency_key="order") for adder in adders for _ in range(CALLERS)]
    threads, tasks = callers[::2], callers[1::2]
    start = Barrier(len(threads) + 2)

    def block(caller: Add) -> UUID:
        start.wait(20)
        return caller.delay(1, 2).id

    async def gather() -> list[UUID]:
        start.wait(20)
        futures = await asyncio.gather(*(caller.adelay(1, 2) for caller in tasks))
        return [future.id for future in futures]

    with ThreadPoolExecutor(len(threads) + 1) as pool:
        blocking = [pool.submit(block, caller) for caller in threads]
        awaited = pool.submit(asyncio.run, gather())
        start.wait(20)
        when_all_started()
        ids = [each.result(60) for each in blocking] + awaited.result(60)
    assert len(ids) == APPS * CALLERS
    return set(ids)


def rows(databases: Databases, url: str) -> list[tuple[UUID, UUID]]:
    """Activities beside the key that points at them."""
    found = databases.run(
        url,
        "SELECT a.id, k.activity_id FROM taskq_activities a FULL JOIN taskq_keys k"
        " ON k.activity_id = a.id",
    )
    return [(row[0], row[1]) for row in found]


def test_fifty_callers_with_one_key_get_one_activity(
    adders: list[Add], databases: Databases, url: str
) -> None:
    """promise:G3"""
    [id] = race(adders)

    assert rows(databases, url) == [(id, id)]


@pytest.mark.parametrize("commit", [False, True], ids=["rollback", "commit"])
def test_they_do_where_the_first_one_is_a_transaction_that_is_still_open(
    adders: list[Add], databases: Databases, url: str, commit: bool
) -> None:
    """promise:G2, promise:G3: all the others wait for it."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        bound = adders[0].options(connection=connection, idempotency_key="order")
        first = bound.delay(1, 2)

        def end() -> None:
            deadline = time.monotonic() + 20
            while not databases.run(url, "SELECT 1 FROM pg_locks WHERE NOT granted"):
                assert time.monotonic() < deadline
            (connection.commit if commit else connection.rollback)()

        [id] = race(adders, end)

    engine.dispose()
    assert (id == first.id) is commit
    assert rows(databases, url) == [(id, id)]
