"""Behind a real PgBouncer that lends a session for one transaction (fault:DB22)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from uuid import UUID

import anyio
import asyncpg
import pytest

from taskq import TaskQ, migrations
from taskq.backends import Hint, Topic
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres import hearing
from taskq.backends.sql.postgres.address import address_of
from taskq.backends.sql.postgres.connections import connect, part
from taskq.backends.sql.postgres.hearing import hears, pooled
from taskq.bridge import ResidentBridge
from taskq.errors import BackendError
from taskq.testing.conformance.samples import call
from tests.postgres.conftest import MakeBackend, Sql
from tests.postgres.pooler import NoPooler, pooler, version
from tests.postgres_databases import Databases

UNNAMED = "?prepared_statement_cache_size=0"
MANY = 300

Through = Callable[[str], str]


def lent(server: str, mode: str, *, size: int = 2, more: str = "") -> Iterator[Through]:
    """From a database's URL to its URL through a pooler."""

    def through(url: str) -> str:
        return f"postgresql://anybody@127.0.0.1:{port}/{url.rpartition('/')[2]}"

    try:
        with pooler(server, mode=mode, size=size, more=more) as port:
            yield through
    except NoPooler as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def by_transaction(postgres_server: str) -> Iterator[Through]:
    """It lends a session for a transaction, and knows no prepared statements."""
    known = "max_prepared_statements = 0" if version_or_skip() >= (1, 21) else ""
    yield from lent(postgres_server, "transaction", more=known)


@pytest.fixture(scope="module")
def by_session(postgres_server: str) -> Iterator[Through]:
    """It lends a session for as long as the client stays."""
    yield from lent(postgres_server, "session", size=10)


def version_or_skip() -> tuple[int, ...]:
    try:
        return version()
    except NoPooler as reason:
        pytest.skip(str(reason))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notification on this machine arrives within milliseconds."""
    monkeypatch.setattr(hearing, "PATIENCE", 0.3)


@pytest.fixture
def url(by_transaction: Through, postgres_url: str) -> str:
    """The test's database through it, as its users are told to write it."""
    return by_transaction(postgres_url) + UNNAMED


def test_the_tables_are_made_through_it(
    by_transaction: Through, databases: Databases, bridge: ResidentBridge
) -> None:
    empty = databases.create()

    migrations.migrate_url(by_transaction(empty) + UNNAMED)

    backend = PostgresBackend(empty)
    bridge.call_sync(backend.open)
    bridge.call_sync(backend.close)


@pytest.mark.parametrize("listen", [True, False])
async def test_a_few_hundred_run_through_it(url: str, sql: Sql, listen: bool) -> None:
    """promise:G1: each once, awaited by call-sites, with LISTEN off and in vain."""
    app = TaskQ(url, listen=listen, poll_interval=0.05, poll_max=0.2)
    runs: list[int] = []

    @app.activity
    async def double(number: int) -> int:
        runs.append(number)
        return 2 * number

    async with app, app.worker(concurrency=20):
        futures = await app.aenqueue([double.build(number) for number in range(MANY)])
        with anyio.fail_after(30):
            answers = [await future for future in futures]

    assert answers == [2 * number for number in range(MANY)]
    assert sorted(runs) == [*range(MANY)]
    assert sql("SELECT DISTINCT status FROM taskq_activities") == [("completed",)]


async def test_racing_callers_of_one_key_get_one_activity(url: str, sql: Sql) -> None:
    """promise:G3: the transaction that takes keys holds on to one session."""
    app = TaskQ(url, listen=False)

    @app.activity
    async def pay(order: int) -> None: ...

    ids: set[UUID] = set()

    async def submit() -> None:
        future = await pay.options(idempotency_key="order-42").adelay(42)
        ids.add(future.id)

    async with app, anyio.create_task_group() as tasks:
        for _ in range(30):
            tasks.start_soon(submit)

    assert len(ids) == 1
    assert [row[0] for row in sql("SELECT id FROM taskq_activities")] == [*ids]


def test_statements_prepared_by_name_are_refused_with_what_to_write(
    by_transaction: Through, postgres_url: str, bridge: ResidentBridge
) -> None:
    """bug:B159"""
    backends = [PostgresBackend(by_transaction(postgres_url), listen=False) for _ in range(6)]

    async def crowd() -> None:
        async with anyio.create_task_group() as tasks:
            for backend in backends:
                tasks.start_soon(use, backend)

    async def use(backend: PostgresBackend) -> None:
        await backend.open()
        for _ in range(10):
            await backend.submit([call()])

    async def close() -> None:
        for backend in backends:
            await backend.close()

    with pytest.raises(ExceptionGroup) as caught:
        bridge.call_sync(crowd)
    bridge.call_sync(close)

    assert caught.value.subgroup(BackendError) is not None
    assert "prepared_statement_cache_size=0" in str(caught.value.exceptions[0])


@pytest.mark.skipif("version_or_skip() < (1, 21)", reason="this pgbouncer knows none")
def test_a_pooler_that_knows_prepared_statements_needs_no_option(
    postgres_server: str, postgres_url: str, bridge: ResidentBridge
) -> None:
    for through in lent(postgres_server, "transaction", more="max_prepared_statements = 100"):
        backend = PostgresBackend(through(postgres_url), listen=False)
        bridge.call_sync(backend.open)
        for _ in range(10):
            bridge.call_sync(backend.submit, [call()])
        bridge.call_sync(backend.close)


def test_listening_in_vain_is_said_once_and_given_up(
    make_backend: MakeBackend,
    bridge: ResidentBridge,
    url: str,
    sql: Sql,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """fault:DB22: LISTEN is accepted, and ``pg_listening_channels()`` shows it; nothing arrives."""
    hints: list[Hint] = []
    with caplog.at_level(logging.WARNING, "taskq"):
        backend = make_backend(url)
        bridge.call_sync(backend.watch, [Topic.READY], hints.append)
        bridge.call_sync(backend.watch, [Topic.DONE], hints.append)

    [line] = caplog.messages
    assert "TASKQ_LISTEN=off" in line
    bridge.call_sync(make_backend().submit, [call()])
    assert hints == []


def test_a_session_of_its_own_is_no_obstacle(
    make_backend: MakeBackend, bridge: ResidentBridge, by_session: Through, postgres_url: str
) -> None:
    hints: list[Hint] = []
    backend = make_backend(by_session(postgres_url))
    bridge.call_sync(backend.watch, [Topic.READY], hints.append)

    bridge.call_sync(make_backend().submit, [call()])

    async def heard() -> None:
        with anyio.fail_after(10):
            while not hints:
                await anyio.sleep(0.005)

    bridge.call_sync(heard)


def test_a_pooler_is_seen_and_whether_it_lends_for_a_transaction(
    by_transaction: Through, by_session: Through, postgres_url: str, bridge: ResidentBridge
) -> None:
    async def look(url: str) -> tuple[bool, bool]:
        address = address_of(url)
        raw = await connect(address)
        try:
            return await pooled(raw), await hears(raw, address)
        finally:
            await part(raw)

    assert bridge.call_sync(look, postgres_url) == (False, True)
    assert bridge.call_sync(look, by_session(postgres_url)) == (True, True)
    assert bridge.call_sync(look, by_transaction(postgres_url) + UNNAMED) == (True, False)


def test_the_pooler_of_these_tests_really_lends_sessions(
    by_transaction: Through, postgres_url: str, bridge: ResidentBridge
) -> None:
    """Else all of this shows nothing."""

    async def processes() -> set[int]:
        url = by_transaction(postgres_url)
        clients = [await asyncpg.connect(url, statement_cache_size=0) for _ in range(5)]
        found = set()
        for client in clients:
            async with client.transaction():
                found.add(await client.fetchval("SELECT pg_backend_pid()"))
        for client in clients:
            await client.close()
        return found

    assert len(bridge.call_sync(processes)) <= 2
