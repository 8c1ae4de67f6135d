"""Rows at the edge of what the tables allow, and past it, and statistics that are not to be had:
nobody else is hurt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import pytest
from sqlalchemy import create_engine, text

from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.tables import BIG_INTEGER
from taskq.bridge import ResidentBridge
from taskq.errors import BackendUnavailable
from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Failed, Verdict, decide
from taskq.model import COUNTED_TO, LONGEST_TEXT, Attempt, Status
from taskq.testing.conformance.samples import beat, bucket, call, error, worker
from tests.postgres.conftest import MakeBackend, Sql
from tests.postgres_databases import Databases

LEASE = 6.0


def claimed(backend: PostgresBackend, bridge: ResidentBridge) -> list[Attempt]:
    """All that is ready."""
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=100, lease=30.0)
    return bridge.call_sync(backend.claim, request)


def running(backend: PostgresBackend, bridge: ResidentBridge, sql: Sql) -> Attempt:
    """One whose lease has ended."""
    bridge.call_sync(backend.submit, [call()])
    [attempt] = claimed(backend, bridge)
    sql("UPDATE taskq_activities SET lease_until = now() - interval '1 h'")
    return attempt


def test_the_highest_claim_number_stops_no_claim(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql
) -> None:
    """fault:H7: one such row stopped its queue for everybody."""
    odd, good = call(), call()
    bridge.call_sync(backend.submit, [odd, good])
    sql(f"UPDATE taskq_activities SET claim = {BIG_INTEGER} WHERE id = '{odd.id}'")

    assert {each.id: each.claim for each in claimed(backend, bridge)} == {odd.id: 1, good.id: 1}


@pytest.mark.parametrize("outcome", [Crashed(), Failed(error=error())])
def test_the_highest_counts_are_settled(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, outcome: Crashed | Failed
) -> None:
    """The number of such an attempt did not fit into the event's column."""
    bridge.call_sync(backend.submit, [call(max_retries=None, max_crashes=COUNTED_TO)])
    sql(f"UPDATE taskq_activities SET retry_count = {COUNTED_TO}, crash_count = {COUNTED_TO}")
    [attempt] = claimed(backend, bridge)
    sql("UPDATE taskq_activities SET lease_until = now() - interval '1 h'")

    [settled] = bridge.call_sync(backend.settle, [decide(attempt, outcome)])

    assert settled.verdict is Verdict.APPLIED
    assert settled.status in (Status.DEAD_LETTER, Status.RETRYING)


@pytest.mark.parametrize(
    "change", [f"step = repeat('x', {LONGEST_TEXT + 1})", "step = ''", "generation = -1"]
)
def test_a_step_or_generation_out_of_range_is_refused_by_the_table(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, change: str
) -> None:
    bridge.call_sync(backend.submit, [call()])

    with pytest.raises(asyncpg.CheckViolationError):
        sql(f"UPDATE taskq_activities SET {change}")


@pytest.mark.parametrize("limit", ["expires_at", "deadline_at"])
def test_a_row_that_breaks_a_rule_keeps_no_late_one_from_being_ended(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, limit: str
) -> None:
    """fault:H7: somebody has made a rule anew, NOT VALID, over what breaks it."""
    odd, good = call(), call()
    bridge.call_sync(backend.submit, [odd, good])
    sql(
        f"UPDATE taskq_activities SET {limit} = now() - interval '1 h'",
        "ALTER TABLE taskq_activities DROP CONSTRAINT taskq_activities_claim_range",
        f"UPDATE taskq_activities SET claim = -7 WHERE id = '{odd.id}'",
        "ALTER TABLE taskq_activities ADD CONSTRAINT taskq_activities_claim_range"
        f" CHECK (claim BETWEEN 0 AND {BIG_INTEGER}) NOT VALID",
    )

    late = bridge.call_sync(backend.claim_overdue, new_id(), 100, 30.0)

    assert [each.id for each in late] == [good.id]


@pytest.mark.parametrize("queues", [("default",), ("default", "other")], ids=["one", "two"])
def test_a_row_that_breaks_a_rule_keeps_no_child_from_being_claimed(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, queues: tuple[str, ...]
) -> None:
    """fault:H7: a worker that claims children only goes on."""
    odd, good = call(parent_id=new_id(), depth=2), call(parent_id=new_id(), depth=1)
    bridge.call_sync(backend.submit, [odd, good])
    sql(
        "ALTER TABLE taskq_activities DROP CONSTRAINT taskq_activities_claim_range",
        f"UPDATE taskq_activities SET claim = -7 WHERE id = '{odd.id}'",
        "ALTER TABLE taskq_activities ADD CONSTRAINT taskq_activities_claim_range"
        f" CHECK (claim BETWEEN 0 AND {BIG_INTEGER}) NOT VALID",
    )
    request = ClaimRequest(
        worker=new_id(), queues=queues, types=None, limit=9, lease=30.0, children=True
    )

    claimed = bridge.call_sync(backend.claim, request)

    assert [each.id for each in claimed] == [good.id]


@contextmanager
def locked(url: str, table: str) -> Iterator[None]:
    """Somebody does a VACUUM FULL."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.connect() as connection:
        connection.execute(text(f"LOCK TABLE {table}"))
        yield
        connection.rollback()
    engine.dispose()


@pytest.mark.parametrize("table", ["taskq_rollup", "taskq_workers"])
def test_a_lock_on_statistics_keeps_no_lease_from_being_renewed(
    backend: PostgresBackend, bridge: ResidentBridge, postgres_url: str, sql: Sql, table: str
) -> None:
    """The counts are sent again, and are added once."""
    attempt = running(backend, bridge, sql)
    mine, lease = worker(attempt.worker), attempt.lease
    sent = beat(mine, lease, lease=LEASE, buckets=(bucket(),))

    with locked(postgres_url, table):
        renewal = bridge.call_sync(backend.heartbeat, sent)
        assert renewal.lost == frozenset()
        assert isinstance(renewal.unreported, BackendUnavailable)
        assert bridge.call_sync(backend.expired, 10) == []

    assert bridge.call_sync(backend.heartbeat, sent).unreported is None
    assert [row["count"] for row in sql("SELECT count FROM taskq_rollup")] == [3]


def test_counts_that_are_refused_keep_no_lease_from_being_renewed(
    databases: Databases, make_backend: MakeBackend, bridge: ResidentBridge
) -> None:
    url = databases.fresh()
    backend = make_backend(url)

    def sql(statement: str) -> object:
        return databases.run(url, statement)

    attempt = running(backend, bridge, sql)
    sql("ALTER TABLE taskq_rollup ADD CONSTRAINT refusing CHECK (count < 0)")
    sent = beat(worker(attempt.worker), attempt.lease, buckets=(bucket(),))

    renewal = bridge.call_sync(backend.heartbeat, sent)

    assert renewal.lost == frozenset()
    assert "refusing" in str(renewal.unreported)
    assert not isinstance(renewal.unreported, BackendUnavailable)
    assert bridge.call_sync(backend.expired, 10) == []


def test_counts_end_at_the_highest(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql
) -> None:
    mine = worker()
    bridge.call_sync(backend.heartbeat, beat(mine, buckets=(bucket(),)))
    sql(f"UPDATE taskq_rollup SET count = {BIG_INTEGER}")

    renewal = bridge.call_sync(backend.heartbeat, beat(mine, number=2, buckets=(bucket(),)))

    assert renewal.unreported is None
    assert [row["count"] for row in sql("SELECT count FROM taskq_rollup")] == [BIG_INTEGER]


INSERTS = {
    "worker": "INSERT INTO taskq_workers (id, name, host, pid, queues, types, concurrency,"
    " slots_used, threads_stuck, state, version, async_backend, started_at, seen_at, beat)"
    " SELECT gen_random_uuid(), 'n', 'h', 1, '[]', '[]', 1, 0, 0, 'running', 'v', 'trio',"
    " '0044-03-15 BC', 'infinity', 1",
    "event": "INSERT INTO taskq_events (activity_id, at, kind, claim)"
    " SELECT id, unnest(array['infinity', '0044-03-15 BC']::timestamptz[]), 'crashed', 1"
    " FROM taskq_activities",
    "count": "INSERT INTO taskq_rollup"
    " VALUES (60, '0044-03-15 BC', 'q', 't', 'completed', 1, '', '')",
}


@pytest.mark.parametrize("kind", list(INSERTS))
def test_instants_that_cannot_be_read_are_refused_and_read_all_the_same(
    databases: Databases, make_backend: MakeBackend, bridge: ResidentBridge, kind: str
) -> None:
    """fault:DB26: one such row ended every page that shows its neighbours."""
    url = databases.fresh()
    backend = make_backend(url)
    activity = call()
    bridge.call_sync(backend.submit, [activity])
    bridge.call_sync(backend.heartbeat, beat(worker(), buckets=(bucket(),)))
    with pytest.raises(asyncpg.CheckViolationError):
        databases.run(url, INSERTS[kind])
    for table, column in (
        ("workers", "seen_at"),
        ("workers", "started_at"),
        ("events", "at"),
        ("rollup", "minute"),
    ):
        databases.run(
            url, f"ALTER TABLE taskq_{table} DROP CONSTRAINT taskq_{table}_{column}_range"
        )

    databases.run(url, INSERTS[kind])

    assert len(bridge.call_sync(backend.workers)) == (2 if kind == "worker" else 1)
    assert bridge.call_sync(backend.stats).by_status[Status.PENDING] == 1
    [entry] = bridge.call_sync(backend.timeline, activity.id)
    assert entry.kind == "enqueued"
