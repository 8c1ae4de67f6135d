"""A database with fifty thousand activities, for tests of what a statement reads of them."""

from __future__ import annotations

from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, decide
from taskq.testing.conformance.samples import call

ROWS = 50_000
QUEUES = tuple(f"q{number}" for number in range(5))
TYPES = tuple(f"t{number}" for number in range(200))
WORKER = new_id()
ROOT = call("tree", queue="trees")
CHILDREN = [call("tree", queue="trees", parent_id=ROOT.id, root_id=ROOT.id) for _ in range(30)]
LEAVES = [
    call("tree", queue="trees", parent_id=child.id, root_id=ROOT.id)
    for child in CHILDREN
    for _ in range(3)
]
TREE = [ROOT, *CHILDREN, *LEAVES]
FAR = 1e6
"""Seconds until the limits that two thirds of the rows have."""
BY_HAND = "ALTER TABLE taskq_activities SET (autovacuum_enabled = off)"
"""Nothing is known of the table until somebody says ANALYZE."""
SCHEDULES = """
    INSERT INTO taskq_schedules (name, every_ms, queue, type, payload, next_at)
    SELECT 's' || number, 1000, 'q0', 't0', '{}',
           '2030-01-01Z'::timestamptz + number * '1s'::interval
    FROM generate_series(1, 10000) AS number
"""
COUNTS = """
    INSERT INTO taskq_rollup (span, minute, queue, type, outcome, count, waits, runs)
    SELECT span, '2030-01-01Z'::timestamptz + number * span * '1s'::interval, 'q0', 't' || type,
           'completed', 1, '[]', '[]'
    FROM unnest(array[60, 600]) AS span, generate_series(0, 86400 / span - 1) AS number,
         generate_series(1, 5) AS type
"""


async def fill(url: str) -> None:
    """Most pending, in five queues and 200 types; some due later, some running, some done. Every
    other one has a parent."""
    backend = PostgresBackend(url)
    await backend.open()
    rows = [
        call(
            TYPES[number % 200],
            queue=QUEUES[number % 5],
            delay=3600.0 if number % 10 == 0 else None,
            correlation_id=f"c{number % 1000}",
            expires_in=FAR if number % 3 == 0 else None,
            deadline_in=FAR if number % 3 == 1 else None,
            parent_id=new_id() if number % 2 else None,
            depth=number // 5 % 10,
        )
        for number in range(ROWS)
    ]
    await backend.submit(rows)
    await backend.submit(TREE)
    request = ClaimRequest(worker=WORKER, queues=QUEUES, types=None, limit=500, lease=300.0)
    await backend.claim(request)
    attempts = await backend.claim(request)
    await backend.settle([decide(attempt, Succeeded("1")) for attempt in attempts])
    await backend.close()
