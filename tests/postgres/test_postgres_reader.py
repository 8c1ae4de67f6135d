"""A reader of its own: few connections, none that can write, no statement without an end."""

from __future__ import annotations

import os
from collections.abc import Iterator

import anyio
import pytest
from sqlalchemy import Connection, text

from taskq.backends import Readable
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres.reader import PostgresReader
from taskq.bridge import ResidentBridge
from taskq.errors import BackendError, BackendUnavailable, QueryTimeout, SchemaError
from taskq.model import Status
from taskq.pausing import Kind
from taskq.snapshot import Filter
from taskq.testing.conformance.samples import call
from tests.postgres.conftest import Sql
from tests.postgres_databases import Databases

SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"


@pytest.fixture
def reader(backend: PostgresBackend, bridge: ResidentBridge) -> Iterator[PostgresReader]:
    """Of a store that has one activity; a statement may take 0.2 s."""
    bridge.call_sync(backend.submit, [call()])
    reader = backend.reader(connections=1, timeout=0.2)
    bridge.call_sync(reader.open)
    yield reader
    bridge.call_sync(reader.close)


@pytest.fixture
def clerk(databases: Databases, postgres_url: str) -> Iterator[str]:
    """The URL for a role that has no right but SELECT."""
    name = f"clerk_{os.getpid()}"
    databases.run(
        postgres_url,
        f"CREATE ROLE {name} LOGIN PASSWORD 'hunter2'",
        f"GRANT USAGE ON SCHEMA public TO {name}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}",
    )
    yield f"postgresql://{name}:hunter2@{postgres_url.rpartition('@')[2]}"
    databases.run(postgres_url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_role_that_may_only_select_is_enough_to_read_everything(
    backend: PostgresBackend, bridge: ResidentBridge, clerk: str
) -> None:
    """threat:T21"""
    activity = call()
    bridge.call_sync(backend.submit, [activity])
    reader = PostgresBackend(clerk).reader()
    bridge.call_sync(reader.open)
    try:
        asked = [
            bridge.call_sync(reader.stats),
            bridge.call_sync(reader.get, [activity.id]),
            bridge.call_sync(reader.timeline, activity.id),
            bridge.call_sync(reader.tree, activity.id),
            bridge.call_sync(reader.search, Filter()),
            bridge.call_sync(reader.count, Filter()),
            bridge.call_sync(reader.dead_letters, Filter()),
            bridge.call_sync(reader.loads, Kind.QUEUE),
            bridge.call_sync(reader.unserved),
        ]
        for ask in (reader.workers, reader.audit, reader.pauses, reader.schedules):
            assert bridge.call_sync(ask) == []
    finally:
        bridge.call_sync(reader.close)

    assert all(asked[:6])


def test_it_cannot_write(reader: PostgresReader, bridge: ResidentBridge) -> None:
    """threat:T21: whatever rights its role has."""

    def write(connection: Connection, _: object) -> object:
        return connection.execute(text("DELETE FROM taskq_activities"))

    with pytest.raises(BackendUnavailable, match="cannot be written now"):
        bridge.call_sync(reader._read, write)

    assert bridge.call_sync(reader.stats).by_status[Status.PENDING] == 1


def test_what_takes_too_long_is_stopped_and_said(
    reader: PostgresReader, bridge: ResidentBridge
) -> None:
    def sleep(connection: Connection, _: object) -> object:
        return connection.execute(text("SELECT pg_sleep(30)"))

    with pytest.raises(QueryTimeout, match=r"stopped a statement: .*timeout; ask for less"):
        bridge.call_sync(reader._read, sleep)

    assert bridge.call_sync(reader.stats).by_status[Status.PENDING] == 1


def test_a_table_that_is_locked_keeps_it_waiting_no_longer(
    reader: PostgresReader, bridge: ResidentBridge, databases: Databases, postgres_url: str
) -> None:
    databases.run(postgres_url, "BEGIN", "LOCK TABLE taskq_activities")
    try:
        with pytest.raises(QueryTimeout):
            bridge.call_sync(reader.count, Filter())
    finally:
        databases.run(postgres_url, "ROLLBACK")

    assert bridge.call_sync(reader.count, Filter()).number == 1


def test_it_has_no_more_connections_than_it_was_given(
    backend: PostgresBackend, reader: PostgresReader, bridge: ResidentBridge, sql: Sql
) -> None:
    """They are its own: the store's callers and workers wait for none of them."""
    [[before]] = sql(SESSIONS)

    async def ask() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(reader.stats)

    bridge.call_sync(ask)

    [[after]] = sql(SESSIONS)
    assert after - before == 1


def test_another_process_has_a_connection_of_its_own(
    reader: PostgresReader, bridge: ResidentBridge
) -> None:
    """What a fork has inherited is left as it is."""
    before = bridge.call_sync(reader.count, Filter())
    reader.after_fork()
    bridge.call_sync(reader.open)

    assert bridge.call_sync(reader.count, Filter()) == before


def test_it_makes_no_tables(databases: Databases, bridge: ResidentBridge) -> None:
    url = databases.create()
    reader = PostgresBackend(url).reader()

    with pytest.raises(SchemaError, match="has no taskq tables"):
        bridge.call_sync(reader.open)

    assert list(databases.run(url, "SELECT 1 FROM pg_tables WHERE tablename ~ '^taskq'")) == []


def test_without_the_right_to_select_it_says_so(
    backend: PostgresBackend, bridge: ResidentBridge, clerk: str, sql: Sql
) -> None:
    sql(f"REVOKE SELECT ON taskq_audit FROM clerk_{os.getpid()}")
    reader = PostgresBackend(clerk).reader()
    bridge.call_sync(reader.open)
    try:
        with pytest.raises(BackendError, match="permission denied for table taskq_audit"):
            bridge.call_sync(reader.audit)
    finally:
        bridge.call_sync(reader.close)


def test_a_store_says_that_it_has_readers(backend: PostgresBackend) -> None:
    assert isinstance(backend, Readable)
