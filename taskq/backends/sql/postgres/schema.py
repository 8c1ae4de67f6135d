"""Whether a PostgreSQL database has the tables that this version needs; never makes them."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from taskq import migrations
from taskq.backends.sql.postgres.driver import Raw
from taskq.backends.sql.postgres.failures import MIGRATE
from taskq.backends.sql.tables import activities
from taskq.errors import BackendError, SchemaError

OLDEST: Final = 130000
"""The oldest server that has everything the tables and statements use."""

_LOOK: Final = """
SELECT n.nspname AS schema,
       to_regclass(quote_ident(n.nspname) || '.' || $2::text) IS NOT NULL AS versioned,
       array(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
       current_setting('default_transaction_isolation') AS isolation,
       current_setting('server_encoding') AS encoding,
       current_setting('server_version_num')::int AS version
FROM (SELECT to_regclass($1::text) AS oid) t
LEFT JOIN pg_class c ON c.oid = t.oid
LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
"""


class Found(Struct, frozen=True):
    """The schema where the tables are, and the isolation level that transactions have."""

    schema: str
    isolation: str


def quoted(name: str) -> str:
    """An identifier as SQL."""
    return '"' + name.replace('"', '""') + '"'


async def look(raw: Raw, location: str, schema: str | None) -> Found:
    """Look at the database. Raises SchemaError where its tables do not fit, BackendError where
    taskq cannot use it at all."""
    prefix = "" if schema is None else f"{quoted(schema)}."
    [row] = await raw.fetch(_LOOK, prefix + activities.name, migrations.VERSION_TABLE)
    if row["version"] < OLDEST:
        raise BackendError(f"{location} is older than PostgreSQL 13, which taskq needs")
    if row["encoding"] != "UTF8":
        raise BackendError(
            f"{location} has the encoding {row['encoding']}: taskq needs a database in UTF8"
        )
    if row["schema"] is None:
        where = "" if schema is None else f" in schema {schema!r} (TASKQ_SCHEMA)"
        raise SchemaError(f"{location} has no taskq tables{where}: {MIGRATE}")
    if row["versioned"]:
        table = f"{quoted(row['schema'])}.{migrations.VERSION_TABLE}"
        revisions = await raw.fetch(f"SELECT version_num FROM {table}")
        _check([each[0] for each in revisions], location)
    elif missing := {each.name for each in activities.c} - set(row["columns"]):
        # They belong to a user's own migrations, whose versions say nothing here.
        raise SchemaError(
            f"{location}: {activities.name} has no column {min(missing)}: upgrade your migrations"
        )
    return Found(row["schema"], row["isolation"])


def _check(revisions: list[str], location: str) -> None:
    if revisions == [migrations.HEAD]:
        return
    newer = [each for each in revisions if each not in migrations.REVISIONS]
    if newer:
        raise SchemaError(
            f"{location} has tables of revision {newer[0]}, made by a newer taskq; this one knows"
            f" {migrations.HEAD} and older: update taskq"
        )
    found = revisions[0] if revisions else "none"
    raise SchemaError(
        f"the tables of {location} are older (revision {found}) than this taskq needs"
        f" ({migrations.HEAD}): {MIGRATE}"
    )
