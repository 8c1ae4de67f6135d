"""SQLite's statements about workers and their counts; PostgreSQL's are in ``postgres.beats``."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Delete, Executable, bindparam, delete, select
from sqlalchemy.dialects.sqlite import Insert

from taskq.backends.sql.statements import upsert
from taskq.backends.sql.tables import ROLLUP_KEY, rollup, workers


@cache
def last_beat() -> Executable:
    """The number of the latest heartbeat of ``worker`` that was counted."""
    return select(workers.c.beat).where(workers.c.id == bindparam("worker"))


@cache
def put_worker() -> Insert:
    """Insert a worker's row or replace it."""
    return upsert(workers, "id")


@cache
def retire() -> Delete:
    """Remove the row of ``worker``."""
    return delete(workers).where(workers.c.id == bindparam("worker"))


@cache
def forget_workers() -> Delete:
    """Remove the rows of workers that were not seen since ``last``."""
    return delete(workers).where(workers.c.seen_at < bindparam("last"))


@cache
def bucket() -> Executable:
    """The counts of ``span``, ``minute``, ``queue``, ``type`` and ``outcome`` so far."""
    return select(rollup.c.count, rollup.c.waits, rollup.c.runs).where(
        *(rollup.c[name] == bindparam(name) for name in ROLLUP_KEY)
    )


@cache
def put_bucket() -> Insert:
    """Insert counts or replace them."""
    return upsert(rollup, *ROLLUP_KEY)
