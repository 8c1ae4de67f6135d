"""Run by Alembic. The database is the first of: the connection that the caller gave, ``-x url=…``,
``sqlalchemy.url`` of the ini section, the setting ``database_url``. On PostgreSQL the tables go to
the schema that the setting ``schema`` names, else to the first one of the search path.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from configparser import InterpolationError

from alembic import context
from alembic.runtime.migration import MigrationContext, MigrationInfo
from alembic.util import CommandError
from sqlalchemy import Connection

from taskq.backends.sql.migrating import alone, in_schema, on_database
from taskq.backends.sql.tables import metadata
from taskq.backends.urls import scheme_of
from taskq.errors import BackendError, ConfigurationError
from taskq.migrations import VERSION_TABLE, current, refuse_strangers
from taskq.settings import load


def database_url() -> str:
    """Where to go when no connection was given."""
    given = context.get_x_argument(as_dictionary=True).get("url")
    return context.config.attributes.get("url") or given or _configured() or load().database_url


def _configured() -> str | None:
    """The ini section's URL. Raises ConfigurationError without a piece of it."""
    try:
        return context.config.get_main_option("sqlalchemy.url")
    except InterpolationError:
        raise ConfigurationError("in an ini file, sqlalchemy.url has %% for every %") from None


def migrate_offline() -> None:
    """Write the SQL instead of running it (``--sql``)."""
    dialect = _dialect(database_url())
    context.configure(
        dialect_name=dialect,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        literal_binds=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        if dialect == "postgresql":
            for statement in in_schema(schema()):
                context.execute(statement)
        context.run_migrations()


def schema() -> str | None:
    """The schema of the tables on PostgreSQL."""
    given: str | None = context.config.attributes.get("schema")
    return given or load().schema


def migrate(connection: Connection) -> None:
    """Migrate in the transaction that the connection has begun; one process at a time.

    After the last step back nothing stays, the version table neither.
    """
    alone(connection)
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        render_as_batch=connection.dialect.name == "sqlite",
        on_version_apply=_tell,
    )
    context.run_migrations()
    if current(connection) is None:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {VERSION_TABLE}")


def migrate_online() -> None:
    """Migrate the given connection's database, or the one that the URL names."""
    given = context.config.attributes.get("connection")
    if given is not None:
        migrate(given)
        return
    on_database(database_url(), schema(), migrate)


def _tell(
    ctx: MigrationContext,
    step: MigrationInfo,
    heads: Collection[object],
    run_args: Mapping[str, object],
) -> None:
    """Say what was done, when it was asked for by the command ``alembic``."""
    if context.config.config_file_name is not None:
        done = "upgraded to" if step.is_upgrade else "downgraded from"
        context.config.print_stdout("taskq: %s %s", done, step.up_revision_id)


def _dialect(url: str) -> str:
    scheme = scheme_of(url)
    if scheme.startswith("postgres"):
        return "postgresql"
    if scheme.startswith("sqlite"):
        return "sqlite"
    raise ConfigurationError(f"{scheme}:// has no tables to migrate")


try:
    refuse_strangers()
    if context.is_offline_mode():
        migrate_offline()
    else:
        migrate_online()
except (ConfigurationError, BackendError) as error:
    raise CommandError(str(error)) from error
