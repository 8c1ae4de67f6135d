"""An SQLite file sets itself up: the first to open it creates its tables, the others wait."""

from __future__ import annotations

from sqlalchemy import Connection

from taskq import migrations
from taskq.backends.sql.connect import transaction, waiting
from taskq.errors import SchemaError

PATIENCE = 15.0
"""Seconds to wait for another process that sets up the same file."""


def set_up(connection: Connection, path: str) -> None:
    """Bring the file's tables to the revision that this version needs.

    Raises SchemaError, and changes nothing, where a newer version has made them.
    """
    with transaction(connection, "DEFERRED"):
        if _is_ready(connection, path):
            return
    migrations.prepare()
    with waiting(connection, PATIENCE), transaction(connection):
        if not _is_ready(connection, path):
            migrations.upgrade(connection)


def _is_ready(connection: Connection, path: str) -> bool:
    revision = migrations.current(connection)
    if revision is not None and revision not in migrations.REVISIONS:
        raise SchemaError(
            f"{path} has tables of revision {revision}, made by a newer taskq;"
            f" this one knows {migrations.HEAD} and older: update taskq"
        )
    return revision == migrations.HEAD
