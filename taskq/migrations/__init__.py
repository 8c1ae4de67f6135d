"""The schema's history, for Alembic, and the few calls that taskq itself needs of it.

``alembic upgrade head`` in the repository's root, ``taskq migrate`` anywhere, or
``upgrade(connection)``. How to include it in your own Alembic is in docs/migrations.md.
"""

from __future__ import annotations

import importlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from sqlalchemy import ColumnElement, Connection, column, inspect, select, table

from taskq.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from alembic.config import Config

HEAD: Final = "tq0002"
"""The revision that this version of taskq needs."""

REVISIONS: Final = ("tq0001", "tq0002")
"""Every revision that this version knows, oldest first."""

VERSION_TABLE: Final = "taskq_alembic_version"
"""taskq's own version table, so that it never meets the heads of the user's migrations."""

FIRST_TABLE: Final = "taskq_activities"
"""The table that is there wherever taskq's tables are."""

VERSIONS: Final = Path(__file__).parent / "versions"
"""The folder of the revisions. Nothing of yours belongs there."""

# Alembic's ``context`` and ``op`` are global to the process.
_alembic = threading.Lock()


def current(connection: Connection) -> str | None:
    """The revision of the tables there, None when there are none. Needs no Alembic."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: ColumnElement[str] = column("version_num")
    return connection.scalar(select(version).select_from(table(VERSION_TABLE)))


def foreign(connection: Connection) -> bool:
    """Whether the tables there were made by migrations of the user's own, which count for
    themselves: without taskq's version table."""
    return current(connection) is None and inspect(connection).has_table(FIRST_TABLE)


def refuse_strangers(folder: Path = VERSIONS) -> None:
    """Raise ConfigurationError for a file among taskq's revisions that is none of ``REVISIONS``:
    Alembic would load it, and run it on any database.

    Alembic writes a new revision beside the one that it follows: what follows taskq's lands there.
    """
    for path in sorted(folder.glob("[!.]*.py")):
        if path.stem != "__init__" and path.stem.partition("_")[0] not in REVISIONS:
            raise ConfigurationError(
                f"{path} is no revision of taskq's: move it to your own migrations, or remove it"
            )


def prepare() -> None:
    """Import Alembic, which takes a fifth of a second: before a lock is taken, not under it."""
    importlib.import_module("alembic.command")


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the tables to ``revision``, in the transaction that the connection has begun.

    Raises SchemaError for tables that the user's own migrations have made, ConfigurationError as
    ``refuse_strangers`` does. Not for inside a migration: Alembic cannot run in itself, see
    ``revision``.
    """
    from alembic import command

    if foreign(connection):
        raise SchemaError(
            f"the taskq tables there have no {VERSION_TABLE}: migrations of your own have made"
            " them, so upgrade those"
        )
    with _alembic:
        command.upgrade(config(connection), revision)


def downgrade(connection: Connection, revision: str = "base") -> None:
    """Take the tables back to ``revision``; ``base`` removes them with all that is in them."""
    from alembic import command

    with _alembic:
        command.downgrade(config(connection), revision)


class Revision(Protocol):
    """A step of the history."""

    def upgrade(self) -> None:
        """Take it."""
        ...

    def downgrade(self) -> None:
        """Take it back."""
        ...


def revision(name: str) -> Revision:
    """One of ``REVISIONS``, to be called from a revision of your own, in place of its ``upgrade``
    and ``downgrade``. It goes through ``alembic.op`` and touches no version table.

    Raises ConfigurationError for a name that is none of them.
    """
    from alembic.script import ScriptDirectory

    if name not in REVISIONS:
        known = ", ".join(REVISIONS)
        raise ConfigurationError(f"taskq has no revision {name!r}; this version knows {known}")
    return cast("Revision", ScriptDirectory.from_config(config()).get_revision(name).module)


def migrate_url(url: str, *, schema: str | None = None) -> tuple[str | None, str]:
    """Bring the database of a URL to ``HEAD``; the revision before, and the one after.

    From any thread, also one that runs an event loop. ``schema`` as in ``TASKQ_SCHEMA``; it is
    made where it is missing. Raises ConfigurationError, BackendError.
    """
    from taskq.backends.sql.migrating import on_database

    def run(connection: Connection) -> tuple[str | None, str]:
        before = current(connection)
        upgrade(connection)
        return before, current(connection) or HEAD

    prepare()
    return on_database(url, schema, run)


def script(url: str, *, schema: str | None = None) -> str:
    """The SQL that makes the tables in an empty database of a URL's kind."""
    import io

    from alembic import command

    settings = config()
    settings.output_buffer = text = io.StringIO()
    settings.attributes["url"], settings.attributes["schema"] = url, schema
    with _alembic:
        command.upgrade(settings, "head", sql=True)
    return text.getvalue()


def config(connection: Connection | None = None) -> Config:
    """Alembic's configuration for taskq's scripts, without an ini file.

    Raises ConfigurationError as ``refuse_strangers`` does.
    """
    from alembic.config import Config

    refuse_strangers()
    settings = Config()
    settings.set_main_option("script_location", "taskq:migrations")
    settings.set_main_option("path_separator", "os")
    if connection is not None:
        settings.attributes["connection"] = connection
    return settings


def include_name(name: str | None, type_: str, parent_names: object) -> bool:
    """For ``context.configure`` of the user's own Alembic, whose autogenerate would drop the tables
    that it finds in the database and not in the user's models: leaves taskq's alone."""
    return type_ != "table" or name is None or not name.startswith("taskq_")
