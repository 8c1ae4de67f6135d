"""A clock for a database, which can be put forward: a schema before pg_catalog has ``now()`` and
``clock_timestamp()``."""

from __future__ import annotations

from tests.postgres_databases import Databases

CLOCK = (
    "CREATE SCHEMA clock",
    "CREATE TABLE clock.ahead (by interval NOT NULL)",
    "INSERT INTO clock.ahead VALUES ('0')",
    "CREATE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS"
    " 'SELECT pg_catalog.now() + by FROM clock.ahead'",
    "CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS"
    " 'SELECT pg_catalog.statement_timestamp() + by FROM clock.ahead'",
    "CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS"
    " 'SELECT pg_catalog.clock_timestamp() + by FROM clock.ahead'",
    "ANALYZE clock.ahead",
)


def put_clock(databases: Databases, url: str) -> None:
    """Give a database a clock of its own, for sessions that begin from now on."""
    name = url.rpartition("/")[2]
    path = f"ALTER DATABASE {name} SET search_path = clock, pg_catalog, public"
    databases.run(url, *CLOCK, path, f"ALTER DATABASE {name} SET jit = off")
    databases.part(url)


def set_clock(seconds: float) -> str:
    """The SQL that puts the clock forward, beyond the machine's."""
    return f"UPDATE clock.ahead SET by = interval '{seconds} seconds'"
