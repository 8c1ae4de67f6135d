"""A PostgreSQL server that crashes under load, and comes back at once or after all leases ended."""

from __future__ import annotations

import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.chaos.arena import Arena, until
from tests.chaos.audit import audit, report
from tests.chaos.orders import make_table
from tests.chaos.producer import Producer
from tests.chaos.site import Cluster, postgres_site
from tests.postgres_server import NoServer

pytestmark = pytest.mark.chaos

LEASE = 3.0


def test_a_crash_of_the_database_loses_nothing_and_burns_nothing(tmp_path: Path) -> None:
    """promise:G1, promise:G2, promise:G4, promise:G5, promise:G8, fault:DB1, fault:DB3: what
    ``delay`` returned for has one outcome, every row was meant, no attempt counts as a crash, and
    the workers, on either loop, are still there and go on."""
    try:
        with postgres_site(tmp_path) as site:
            assert site.cluster is not None
            arena = Arena(tmp_path, site.database, LEASE=LEASE, LOCK_TIMEOUT=0.5, ENQUEUE_TIMEOUT=2)
            try:
                crash_twice(arena, site.cluster)
            finally:
                arena.close()
    except NoServer as reason:
        pytest.skip(str(reason))


def crash_twice(arena: Arena, cluster: Cluster) -> None:
    """The server goes and comes, then goes for longer than the leases."""
    make_table(arena.database)
    workers = [arena.worker(loop, "-c", "8") for loop in ("asyncio", "trio")]
    log = arena.folder / "clients-1.jsonl"
    producer = Producer(arena.app, log, seed=1, rate=60, deadly=False)
    over = Event()

    def enqueue() -> None:
        while not over.is_set():
            producer.run(0.5)

    with ThreadPoolExecutor(1) as client:
        load = client.submit(enqueue)
        try:
            until(lambda: len(arena.effects("end")) > 20, "there is load")
            for outage in (0.0, LEASE + 1.0):
                cluster.server.stop("immediate")
                time.sleep(outage)
                cluster.server.start()
                done = len(arena.effects("end"))
                until(lambda since=done: len(arena.effects("end")) > since + 20, "they go on")
        finally:
            over.set()
        load.result()
    arena.until_all("completed", "failed", "dead_letter", "cancelled")

    assert [worker.code for worker in workers] == [None, None]
    for worker in workers:
        worker.send(signal.SIGTERM)
    assert [worker.ends() for worker in workers] == [0, 0]
    findings = audit(arena.folder, arena.database)
    assert not any(finding.violations for finding in findings), report(findings)
    assert {row["crash_count"] for row in arena.rows()} == {0}
    given_up = Counter(row["type"] for row in arena.rows() if row["status"] == "dead_letter")
    assert set(given_up) <= {"hopeless"}
    for worker in workers:
        assert arena.effects("BackgroundError", pid=worker.pid), "the outage was never noticed"
