"""What a PostgreSQL server says of itself, and what is seen of it from here. Only looks.

All of it is asked in transactions and without names for statements, so that the answers are the
server's also behind a pooler that lends sessions for a transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from statistics import median
from typing import Final

import msgspec
from msgspec import Struct

from taskq import migrations
from taskq.backends.sql.postgres.address import Address
from taskq.backends.sql.postgres.connections import connect, part
from taskq.backends.sql.postgres.driver import PostgresError, Raw, Records
from taskq.backends.sql.postgres.failures import POOLER, sqlstate
from taskq.backends.sql.postgres.hearing import hears, pooled
from taskq.backends.sql.postgres.schema import quoted
from taskq.backends.sql.tables import metadata

ROUNDS: Final = 5
"""How often a thing is asked that may be answered otherwise the next time."""
PATIENCE: Final = 2.0
"""Seconds that a session may be waited for."""
OLD: Final = 300.0
"""Seconds after which an open transaction is called old."""
RIGHTS: Final = ("SELECT", "INSERT", "UPDATE", "DELETE")

_SERVER: Final = """
SELECT current_setting('server_version') AS version,
       session_user::text AS role,
       pg_is_in_recovery() AS standby,
       current_setting('default_transaction_read_only')::bool AS read_only,
       current_setting('fsync')::bool AS fsync,
       current_setting('full_page_writes')::bool AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('autovacuum')::bool AND current_setting('track_counts')::bool AS autovacuum,
       (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
       current_setting('max_connections')::int
           - current_setting('superuser_reserved_connections')::int AS connections
"""

_TABLES: Final = """
SELECT c.relname::text AS name, c.oid::regclass::text AS shown,
       coalesce(c.reloptions, '{}') AS options,
       array(SELECT r FROM unnest($2::text[]) r
             WHERE NOT has_table_privilege(c.oid, r)) AS lacking
FROM unnest($1::text[]) t JOIN pg_class c ON c.oid = to_regclass(t)
ORDER BY c.relname
"""

# Only what is open in this database holds back the clearing of its tables. Of other roles' sessions
# a role sees nothing here, unless it is a member of pg_read_all_stats.
_HOLDERS: Final = """
SELECT 'the transaction of process ' || pid || coalesce(' (' || nullif(application_name, '') || ')',
           '') AS name,
       extract(epoch FROM clock_timestamp() - xact_start)::float8 AS age,
       'SELECT pg_terminate_backend(' || pid || ')' AS remedy
FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
  AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND pid <> pg_backend_pid()
UNION ALL
SELECT 'the prepared transaction ' || quote_literal(gid),
       extract(epoch FROM clock_timestamp() - prepared)::float8,
       'COMMIT PREPARED or ROLLBACK PREPARED ' || quote_literal(gid)
FROM pg_prepared_xacts
WHERE database = current_database()
UNION ALL
SELECT 'the replication slot ' || slot_name || ', which nobody reads,', NULL,
       'SELECT pg_drop_replication_slot(' || quote_literal(slot_name) || ')'
FROM pg_replication_slots
WHERE xmin IS NOT NULL AND NOT active
ORDER BY age DESC NULLS LAST
"""


class Server(Struct, frozen=True):
    """Its version and settings. ``connections``: for ordinary roles, of which ``used`` are."""

    version: str
    role: str
    standby: bool
    read_only: bool
    fsync: bool
    full_page_writes: bool
    synchronous_commit: str
    autovacuum: bool
    used: int
    connections: int


class Table(Struct, frozen=True):
    """One of taskq's tables: its name in SQL, its storage settings, what rights this role lacks."""

    name: str
    shown: str
    options: Mapping[str, str]
    lacking: tuple[str, ...]


class Holder(Struct, frozen=True):
    """What keeps dead rows from being cleared away; ``age`` in seconds, None where not known."""

    name: str
    age: float | None
    remedy: str


class Pooler(Struct, frozen=True):
    """What stands before the server. ``lends``: sessions, for the time of a transaction; ``names``:
    statements that are prepared by name are found again."""

    lends: bool
    names: bool


class Facts(Struct, frozen=True):
    """All that was seen. ``skew``: seconds that the database's clock is ahead of this host's;
    ``hears``: whether notifications arrive, None where that was not asked for."""

    server: Server
    tables: tuple[Table, ...]
    holders: tuple[Holder, ...]
    skew: float
    trip: float
    pooler: Pooler | None
    hears: bool | None


async def facts(
    address: Address, schema: str | None, now: Callable[[], datetime], *, listen: bool
) -> Facts:
    """Look at the database. Raises ``driver.BROKEN``."""
    unnamed = msgspec.structs.replace(address, prepared=False)
    async with _connected(unnamed) as raw:
        [server] = await _asked(raw, _SERVER)
        skew, trip = await _clock(raw, now)
        return Facts(
            server=Server(**dict(server)),
            tables=await _tables(raw, schema),
            holders=tuple(Holder(*row) for row in await _asked(raw, _HOLDERS)),
            skew=skew,
            trip=trip,
            pooler=await _pooler(raw, unnamed) if await pooled(raw) else None,
            hears=await hears(raw, unnamed) if listen and not server["standby"] else None,
        )


@asynccontextmanager
async def _connected(address: Address) -> AsyncGenerator[Raw]:
    raw = await connect(address)
    try:
        yield raw
    finally:
        await part(raw)


async def _asked(raw: Raw, query: str, *values: object) -> Records:
    async with raw.transaction(isolation="read_committed"):
        rows: Records = await raw.fetch(query, *values)
        return rows


async def _tables(raw: Raw, schema: str | None) -> tuple[Table, ...]:
    prefix = "" if schema is None else f"{quoted(schema)}."
    names = [prefix + table.name for table in metadata.sorted_tables]
    rows = [
        *await _asked(raw, _TABLES, names, RIGHTS),
        *await _asked(raw, _TABLES, [prefix + migrations.VERSION_TABLE], RIGHTS[:1]),
    ]
    return tuple(
        Table(name, shown, dict(_split(option) for option in options), tuple(lacking))
        for name, shown, options, lacking in rows
    )


def _split(option: str) -> tuple[str, str]:
    name, _, value = option.partition("=")
    return name, value


async def _clock(raw: Raw, now: Callable[[], datetime]) -> tuple[float, float]:
    """How far the database's clock is ahead, and the time of a round trip; medians."""
    ahead: list[float] = []
    trips: list[float] = []
    async with raw.transaction(isolation="read_committed"):
        for _ in range(ROUNDS):
            before = now()
            [[there]] = await raw.fetch("SELECT clock_timestamp()")
            trip = now() - before
            ahead.append((there - (before + trip / 2)).total_seconds())
            trips.append(trip.total_seconds())
    return median(ahead), median(trips)


async def _pooler(raw: Raw, address: Address) -> Pooler:
    """Whether two clients meet in one session, or one client in two."""
    ours = [0] * ROUNDS
    theirs = [0] * ROUNDS
    async with _connected(address) as other:
        for number in range(ROUNDS):
            ours[number] = await _process(raw)
            theirs[number] = await _process(other)
    lends = not {*ours}.isdisjoint(theirs) or len({*ours}) > 1 or len({*theirs}) > 1
    return Pooler(lends, not lends or await _names(address))


async def _process(raw: Raw) -> int:
    [[process]] = await _asked(raw, "SELECT pg_backend_pid()")
    return int(process)


async def _names(address: Address) -> bool:
    """Whether a statement's name is known in another session than that where it was prepared."""
    named = msgspec.structs.replace(address, prepared=True)
    async with _connected(named) as raw, _connected(address) as other:
        try:
            await _process(raw)
            async with other.transaction(isolation="read_committed"):
                await other.fetch("SELECT 1")  # takes the session that was lent last
                async with asyncio.timeout(PATIENCE):
                    await _process(raw)
        except TimeoutError:
            return False
        except PostgresError as error:
            if sqlstate(error) not in POOLER:
                raise
            return False
        return True


def settings(name: str) -> Mapping[str, str]:
    """The storage settings that the migrations give a table."""
    given: Mapping[str, object] = metadata.tables[name].kwargs.get("postgresql_with") or {}
    return {key: str(value) for key, value in given.items()}
