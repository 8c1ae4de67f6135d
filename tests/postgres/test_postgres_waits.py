"""A statement that had to wait sees what came meanwhile, and says so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.bridge import ResidentBridge
from taskq.identifiers import new_id
from tests.chaos.arena import PATIENCE, until
from tests.postgres.conftest import Sql
from tests.postgres_databases import Databases

INSERT = (
    "INSERT INTO taskq_activities (id, type, payload, created_at, ready_at)"
    " SELECT gen_random_uuid(), 'late', '{}', moment, moment FROM clock_timestamp() AS moment"
)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def test_a_claim_that_waited_takes_what_it_has_from_when_it_got_it(
    backend: PostgresBackend,
    bridge: ResidentBridge,
    databases: Databases,
    postgres_url: str,
    sql: Sql,
) -> None:
    """promise:G7: not from when it asked, which may be before the activity was there, and its lease
    would be over before it is known."""
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=1, lease=30)
    other = f"{postgres_url}?application_name=other"
    databases.run(other, "BEGIN", "LOCK TABLE taskq_activities IN EXCLUSIVE MODE")
    with ThreadPoolExecutor(1) as thread:
        claim = thread.submit(bridge.call_sync, backend.claim, request, deadline=PATIENCE)
        until(lambda: sql(WAITING)[0][0], "the claim waits")
        databases.run(other, INSERT, "COMMIT")
        [attempt] = claim.result()
    databases.part(other)

    [row] = sql("SELECT ready_at, started_at, lease_until FROM taskq_activities")
    assert attempt.ready_at == row["ready_at"]
    assert row["ready_at"] < row["started_at"]
    assert row["lease_until"] - row["started_at"] > timedelta(seconds=29.9)
