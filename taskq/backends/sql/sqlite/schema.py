"""An SQLite file sets itself up: the first to open it creates its tables, the others wait."""

from __future__ import annotations

from sqlalchemy import Connection, inspect

from taskq import migrations
from taskq.backends.sql.sqlite.connect import transaction, waiting
from taskq.backends.sql.tables import activities
from taskq.errors import SchemaError

PATIENCE = 15.0
"""Seconds to wait for another process that sets up the same file."""


def set_up(connection: Connection, path: str) -> None:
    """Bring the file's tables to the revision that this version needs.

    Raises SchemaError, and changes nothing, where a newer version has made them, or migrations of
    the user's own that are older.
    """
    with transaction(connection, "DEFERRED"):
        if _is_ready(connection, path):
            return
    migrations.prepare()
    with waiting(connection, PATIENCE), transaction(connection):
        if not _is_ready(connection, path):
            migrations.upgrade(connection)


def check(connection: Connection, path: str) -> None:
    """Raises SchemaError where the file's tables are not those that this version needs."""
    with transaction(connection, "DEFERRED"):
        if not _is_ready(connection, path):
            raise SchemaError(
                f"the tables in {path} are not there yet, or older than this taskq needs: start a"
                " worker, or run `taskq migrate`"
            )


def _is_ready(connection: Connection, path: str) -> bool:
    revision = migrations.current(connection)
    if revision is not None and revision not in migrations.REVISIONS:
        raise SchemaError(
            f"{path} has tables of revision {revision}, made by a newer taskq;"
            f" this one knows {migrations.HEAD} and older: update taskq"
        )
    if revision is None and migrations.foreign(connection):
        _check(connection, path)
        return True
    return revision == migrations.HEAD


def _check(connection: Connection, path: str) -> None:
    """Tables of the user's own migrations, whose versions say nothing here: judged by columns."""
    columns = {each["name"] for each in inspect(connection).get_columns(activities.name)}
    if missing := {each.name for each in activities.c} - columns:
        raise SchemaError(
            f"{path}: {activities.name} has no column {min(missing)}: upgrade your migrations"
        )
