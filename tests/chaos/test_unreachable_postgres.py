"""A server that is not there when its worker starts, or when a client calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskq import EnqueueTimeout, TaskQ
from tests.chaos.arena import Arena, until
from tests.chaos.audit import audit, report
from tests.chaos.database import PostgresDatabase
from tests.chaos.proxy import Proxy
from tests.postgres_databases import Databases

pytestmark = pytest.mark.chaos


@pytest.fixture
def proxy(databases: Databases) -> Iterator[Proxy]:
    """A way to an empty database."""
    proxy = Proxy(databases.fresh())
    yield proxy
    proxy.close()


def test_a_worker_that_starts_before_its_database_begins_when_that_is_there(
    tmp_path: Path, proxy: Proxy
) -> None:
    """promise:G4, fault:DB3: it says what it waits for."""
    database = PostgresDatabase(proxy.url)
    arena = Arena(tmp_path, database)
    try:
        with proxy.refusing():
            worker = arena.python("-m", "taskq", "worker", "app:taskq", ready=False)
            until(lambda: "cannot open the database, trying again: " in worker.said(), "it says so")
        arena.app.quick.delay()
        arena.until_all("completed")

        assert worker.code is None
        findings = audit(tmp_path, database)
        assert not any(finding.violations for finding in findings), report(findings)
    finally:
        arena.close()
        database.close()


def test_a_call_fails_after_its_deadline_and_is_not_stored(proxy: Proxy) -> None:
    """promise:G1: with the reason; the same app goes on when the server is there again."""
    taskq = TaskQ(proxy.url, enqueue_timeout=1.0, lock_timeout=0.3)
    task = taskq.activity(name="nothing")(nothing)
    try:
        with proxy.refusing():
            began = time.monotonic()
            with pytest.raises(EnqueueTimeout):
                task.delay()
            assert 0.5 < time.monotonic() - began < 4
        kept = task.delay()
        assert kept.info().id == kept.id
        assert taskq.stats().by_status["pending"] == 1
    finally:
        taskq.close()


async def nothing() -> None:
    """Only enqueued."""
