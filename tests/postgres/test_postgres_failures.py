"""What goes wrong with a database, and what it is called: never with a password in it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any

import anyio
import asyncpg
import pytest

from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres import backend as postgres
from taskq.backends.sql.postgres import connections
from taskq.backends.sql.postgres.channels import Message
from taskq.backends.sql.postgres.failures import sqlstate
from taskq.bridge import ResidentBridge
from taskq.errors import (
    BackendError,
    BackendUnavailable,
    QueryTimeout,
    SchemaError,
    Unstorable,
)
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, Verdict, decide
from taskq.model import Attempt
from taskq.testing.conformance.samples import beat, call, keyed, worker
from tests.postgres.conftest import MakeBackend, Sql
from tests.postgres_databases import Databases

OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def claimed(backend: PostgresBackend, bridge: ResidentBridge, count: int = 1) -> list[Attempt]:
    bridge.call_sync(backend.submit, [call() for _ in range(count)])
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=count, lease=30)
    return bridge.call_sync(backend.claim, request)


@contextmanager
def refused(kind: type[BackendError], match: str) -> Iterator[None]:
    """Exactly this error, without a password, its cause kept."""
    with pytest.raises(BackendError, match=match) as caught:
        yield
    assert type(caught.value) is kind
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        ("127.0.0.1:1", BackendUnavailable, "cannot be reached"),
        ("no-such-host.invalid", BackendUnavailable, "cannot be reached"),
    ],
)
def test_a_server_that_is_not_there(
    bridge: ResidentBridge, change: str, kind: type[BackendError], match: str
) -> None:
    backend = PostgresBackend(f"postgresql://ada:hunter2@{change}/shop")

    with refused(kind, match):
        bridge.call_sync(backend.open)


def test_a_database_that_is_not_there(databases: Databases, bridge: ResidentBridge) -> None:
    with refused(BackendError, "does not exist; create it first"):
        bridge.call_sync(PostgresBackend(databases.url("no_such_database")).open)


def test_a_user_that_is_not_there(postgres_url: str, bridge: ResidentBridge) -> None:
    place = postgres_url.rpartition("@")[2]

    with refused(BackendError, "refuses this user or password"):
        bridge.call_sync(PostgresBackend(f"postgresql://ada:hunter2@{place}").open)


def test_an_option_that_the_server_does_not_know(postgres_url: str, bridge: ResidentBridge) -> None:
    with refused(SchemaError, "unrecognized configuration parameter"):
        bridge.call_sync(PostgresBackend(f"{postgres_url}?nonsense=1").open)


def test_tables_that_vanish(backend: PostgresBackend, bridge: ResidentBridge, sql: Sql) -> None:
    sql("ALTER TABLE taskq_activities RENAME TO elsewhere")
    try:
        with refused(SchemaError, "run `taskq migrate`"):
            bridge.call_sync(backend.submit, [call()])
        with refused(SchemaError, "run `taskq migrate`"):
            bridge.call_sync(backend.stats)
    finally:
        sql("ALTER TABLE elsewhere RENAME TO taskq_activities")


def test_idle_connections_that_were_cut_are_replaced_unseen(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql
) -> None:
    """fault:DB3, fault:DB4"""
    [attempt] = claimed(backend, bridge)
    bridge.call_sync(backend.stats)
    sql(OTHERS)

    [settled] = bridge.call_sync(backend.settle, [decide(attempt, Succeeded("1"))])

    assert settled.verdict is Verdict.APPLIED
    bridge.call_sync(backend.submit, [call()])
    bridge.call_sync(backend.stats)


def test_a_read_only_server_is_unavailable_until_it_is_not(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, databases: Databases
) -> None:
    """bug:B67, fault:DB5: and the connection is not used again."""
    [attempt] = claimed(backend, bridge)
    name = sql("SELECT current_database()")[0][0]
    sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    sql(OTHERS)
    try:
        with refused(BackendUnavailable, "cannot be written now"):
            bridge.call_sync(backend.settle, [decide(attempt, Succeeded("1"))])
        with refused(BackendUnavailable, "cannot be written now"):
            bridge.call_sync(backend.cancel, [attempt.id])
        assert backend._engine._idle == []
    finally:
        reset = f"ALTER DATABASE {name} RESET default_transaction_read_only"
        databases.run(databases.url(name), "SET default_transaction_read_only = off", reset)

    [settled] = bridge.call_sync(backend.settle, [decide(attempt, Succeeded("1"))])
    assert settled.verdict is Verdict.APPLIED


@contextmanager
def locking(url: str, bridge: ResidentBridge, statement: str) -> Iterator[None]:
    """Another program has a transaction open in which this was done."""

    async def begin() -> Any:
        raw = await asyncpg.connect(url)
        await raw.execute("BEGIN")
        await raw.execute(statement)
        return raw

    async def end(raw: Any) -> None:
        await raw.close()

    raw = bridge.call_sync(begin)
    try:
        yield
    finally:
        bridge.call_sync(end, raw)


def test_a_lock_that_lasts_too_long_names_the_likely_cause(
    make_backend: MakeBackend, bridge: ResidentBridge, postgres_url: str
) -> None:
    """fault:DB9"""
    backend = make_backend(lock_timeout=0.1)
    bridge.call_sync(backend.submit, [keyed()])

    with (
        locking(postgres_url, bridge, "UPDATE taskq_keys SET created_at = now()"),
        refused(BackendUnavailable, r"longer than 0.1 s; if this program has a transaction"),
    ):
        bridge.call_sync(backend.submit, [keyed()])

    [receipt] = bridge.call_sync(backend.submit, [keyed()])
    assert not receipt.created


def test_a_statement_that_the_server_stops_is_unavailable(
    backend: PostgresBackend, bridge: ResidentBridge, postgres_url: str
) -> None:
    """fault:DB23"""
    slow = PostgresBackend(f"{postgres_url}?statement_timeout=50")
    bridge.call_sync(slow.open)
    with (
        locking(postgres_url, bridge, "LOCK TABLE taskq_activities"),
        refused(QueryTimeout, "stopped a statement"),
    ):
        bridge.call_sync(slow.submit, [call()])
    bridge.call_sync(slow.close)


@pytest.mark.parametrize("payload", ['{"a":"\0"}', '{"a":"\ud800"}'])
def test_what_cannot_be_stored_is_not_unavailable(
    backend: PostgresBackend, bridge: ResidentBridge, payload: str
) -> None:
    with pytest.raises(Unstorable):
        bridge.call_sync(backend.submit, [call(payload=payload)])

    bridge.call_sync(backend.submit, [call()])


def test_a_text_too_long_for_an_index_is_not_unavailable(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    text = "".join(chr(0x10000 + (number * 7919) % 60000) for number in range(1000))

    with pytest.raises(Unstorable):
        bridge.call_sync(backend.submit, [call(user_id=text)])


@pytest.mark.parametrize("state", ["XX000", "F0000", "53200", "58030", "54001", "0A000", "P0001"])
def test_what_is_not_about_a_value_is_never_called_unstorable(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, state: str
) -> None:
    """promise:G5: only a value that never can be stored may end finished work as failed."""
    [attempt] = claimed(backend, bridge)
    with raising(sql, state), pytest.raises(BackendError) as caught:
        bridge.call_sync(backend.settle, [decide(attempt, Succeeded("1"), chance=0.5)])

    assert not isinstance(caught.value, Unstorable)
    [answer] = bridge.call_sync(backend.settle, [decide(attempt, Succeeded("1"), chance=0.5)])
    assert answer.verdict is Verdict.APPLIED


@contextmanager
def raising(sql: Sql, state: str) -> Iterator[None]:
    """Whatever completes meets this error."""
    sql(
        "CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$BEGIN RAISE EXCEPTION 'trouble' USING ERRCODE = '{state}'; END$$",
        "CREATE TRIGGER boom BEFORE UPDATE ON taskq_activities FOR EACH ROW"
        " WHEN (new.status = 'completed') EXECUTE FUNCTION boom()",
    )
    try:
        yield
    finally:
        sql("DROP FUNCTION boom CASCADE")


def test_work_goes_on_where_there_is_no_room_for_notifications(
    backend: PostgresBackend, bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """design 7.8: hints may be lost. A full queue is 8 GB, so a NOTIFY that fails alike stands in:
    a channel's name that is too long."""
    long = [Message("x" * 100, "12345678")]
    monkeypatch.setattr(backend._hints, "carried", lambda _: nullcontext(long))
    monkeypatch.setattr(postgres, "notify_queue_is_full", lambda error: sqlstate(error) == "22023")

    [attempt] = claimed(backend, bridge)
    [answer] = bridge.call_sync(backend.settle, [decide(attempt, Succeeded("1"), chance=0.5)])

    assert answer.verdict is Verdict.APPLIED


def test_a_cancelled_call_leaves_the_server_at_once(
    backend: PostgresBackend, bridge: ResidentBridge, postgres_url: str, sql: Sql
) -> None:
    """fault:DB11: no statement goes on behind its caller's back, no connection stays dirty."""
    running = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with locking(postgres_url, bridge, "LOCK TABLE taskq_activities"):
        with pytest.raises(BackendUnavailable, match="did not answer"):
            bridge.call_sync(backend.submit, [call()], deadline=0.1)
        assert sql(running)[0][0] == 0

    bridge.call_sync(backend.submit, [call()])


def test_heartbeats_go_on_while_callers_wait_for_connections(
    backend: PostgresBackend, bridge: ResidentBridge, postgres_url: str
) -> None:
    """seed:B10, bug:B162, fault:DB10"""
    [attempt] = claimed(backend, bridge)
    info = worker(attempt.worker)
    with (
        ThreadPoolExecutor(20) as threads,
        locking(postgres_url, bridge, "LOCK TABLE taskq_keys"),
    ):
        for number in range(20):
            threads.submit(bridge.call_sync, backend.submit, [keyed(str(number))])

        renewal = bridge.call_sync(backend.heartbeat, beat(info, attempt.lease), deadline=5)

        assert not renewal.lost


def test_many_calls_at_once_never_share_a_connection(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """bug:B157: renewals and outcomes at the same time."""
    attempts = claimed(backend, bridge, 200)
    info = worker(attempts[0].worker)

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            for number, attempt in enumerate(attempts):
                message = beat(info, attempt.lease, number=number + 1)
                tasks.start_soon(backend.heartbeat, message)
                tasks.start_soon(backend.settle, [decide(attempt, Succeeded("1"))])

    bridge.call_sync(both)

    ended = bridge.call_sync(backend.outcomes, [attempt.id for attempt in attempts])
    assert len(ended) == 200


def test_batches_that_settle_the_same_ids_in_any_order_do_not_deadlock(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """bug:B163, fault:DB12"""
    attempts = claimed(backend, bridge, 100)
    transitions = [decide(attempt, Succeeded("1")) for attempt in attempts]
    verdicts: list[Verdict] = []

    async def settle(turn: int) -> None:
        order = transitions[turn:] + transitions[:turn]
        answers = await backend.settle(order if turn % 2 else order[::-1])
        verdicts.extend(each.verdict for each in answers)

    async def race() -> None:
        async with anyio.create_task_group() as tasks:
            for turn in range(0, 100, 5):
                tasks.start_soon(settle, turn)

    bridge.call_sync(race)

    assert verdicts.count(Verdict.APPLIED) == 100
    assert verdicts.count(Verdict.ALREADY_MINE) == 1900


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_the_isolation_level_of_the_role_does_not_matter(
    databases: Databases, bridge: ResidentBridge, isolation: str
) -> None:
    """seed:I6, fault:DB13, bug:B121: fifty with one key, one activity."""
    url = databases.fresh()
    name = url.rpartition("/")[2]
    databases.run(url, f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")
    backend = PostgresBackend(url, lock_timeout=30.0)
    created: list[bool] = []

    async def submit() -> None:
        [receipt] = await backend.submit([keyed()])
        created.append(receipt.created)

    async def race() -> None:
        await backend.open()
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(submit)
        await backend.close()

    bridge.call_sync(race)

    assert sorted(created) == [False] * 49 + [True]


def test_behind_a_pooler_nothing_is_prepared_by_name(
    postgres_url: str, bridge: ResidentBridge
) -> None:
    """bug:B159: every statement in a transaction, none kept."""
    backend = PostgresBackend(f"{postgres_url}?prepared_statement_cache_size=0")
    bridge.call_sync(backend.open)
    [attempt] = claimed(backend, bridge)
    bridge.call_sync(backend.settle, [decide(attempt, Succeeded("1"))])
    bridge.call_sync(backend.stats)

    async def kept() -> list[Any]:
        async def look(session: connections.Session) -> Any:
            return await session.raw.fetch("SELECT * FROM pg_prepared_statements WHERE name <> ''")

        return [*await backend._engine.transact(look), *await backend._callers.transact(look)]

    assert bridge.call_sync(kept) == []
    bridge.call_sync(backend.close)


def test_a_statement_that_a_migration_made_invalid_is_prepared_anew(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql
) -> None:
    claimed(backend, bridge)
    sql("ALTER TABLE taskq_activities ALTER COLUMN payload TYPE varchar")
    try:
        assert len(claimed(backend, bridge)) == 1
    finally:
        sql("ALTER TABLE taskq_activities ALTER COLUMN payload TYPE text")


def test_too_many_connections_are_unavailable(databases: Databases, bridge: ResidentBridge) -> None:
    """fault:DB10"""
    url = databases.fresh()
    name = url.rpartition("/")[2]
    databases.run(
        url,
        "CREATE ROLE few LOGIN PASSWORD 'hunter2' CONNECTION LIMIT 0",
        f"GRANT ALL ON DATABASE {name} TO few",
    )
    place = url.rpartition("@")[2]
    try:
        with refused(BackendUnavailable, "takes no more connections"):
            bridge.call_sync(PostgresBackend(f"postgresql://few:hunter2@{place}").open)
    finally:
        databases.run(url, f"REVOKE ALL ON DATABASE {name} FROM few", "DROP ROLE few")
