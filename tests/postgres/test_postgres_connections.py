"""How many connections are open, and that claims pass by what others have locked."""

from __future__ import annotations

import anyio
import asyncpg

from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres.backend import CALLERS, ENGINE
from taskq.backends.sql.postgres.facade import SIZE
from taskq.bridge import ResidentBridge
from taskq.identifiers import new_id
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import beat, call, worker
from tests.postgres.conftest import Sql

COUNT = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"


def test_a_claim_passes_by_what_another_session_has_locked(
    backend: PostgresBackend, bridge: ResidentBridge, postgres_url: str
) -> None:
    """seed:W5: it neither waits for a locked row nor stops before it."""
    calls = [call() for _ in range(4)]
    bridge.call_sync(backend.submit, calls)
    locked, free = calls[:2], calls[2:]
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=10, lease=30)

    async def claim() -> list[object]:
        other = await asyncpg.connect(postgres_url)
        try:
            async with other.transaction():
                ids = [each.id for each in locked]
                await other.execute(
                    "SELECT FROM taskq_activities WHERE id = ANY($1) FOR UPDATE", ids
                )
                return [attempt.id for attempt in await backend.claim(request)]
        finally:
            await other.close()

    assert bridge.call_sync(claim, deadline=3) == [each.id for each in free]
    later = bridge.call_sync(backend.claim, request)
    assert [attempt.id for attempt in later] == [each.id for each in locked]


def test_however_much_a_process_does_at_once_its_connections_are_few(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql
) -> None:
    """seed:B10, S15: a fixed number for callers, for the engine and for reading, whatever the
    concurrency of the worker."""
    [[before]] = sql(COUNT)

    async def all_at_once() -> None:
        info = worker(new_id())
        async with anyio.create_task_group() as tasks:
            for _ in range(60):
                tasks.start_soon(backend.submit, [call()])
                tasks.start_soon(backend.heartbeat, beat(info))
                tasks.start_soon(backend.list, Filter(), Page())

    bridge.call_sync(all_at_once)

    [[after]] = sql(COUNT)
    assert before <= 2, "this one, and the one that looked at the tables"
    assert before < after <= 1 + CALLERS + ENGINE + SIZE
