"""``taskq migrate``: makes the tables, or brings them up to this version."""

from __future__ import annotations

import click

from taskq.cli.command import Command
from taskq.cli.failure import Refused
from taskq.cli.output import emit
from taskq.cli.target import target


@click.command("migrate", cls=Command)
@click.option("-A", "--app", metavar="APP", help="Migrate where this app keeps activities.")
@click.option("--database", metavar="URL", help="Migrate this database.")
@click.option("--sql", "as_sql", is_flag=True, help="Print the SQL for an empty database instead.")
def migrate_command(app: str | None, database: str | None, as_sql: bool) -> None:
    """Make taskq's tables in a database, or bring them up to this version.

    Safe to repeat, and to run by several at once. TASKQ_SCHEMA names the schema on PostgreSQL.
    """
    from taskq import migrations

    found = target(database, app)
    url, schema = found.settings.database_url, found.settings.schema
    if not found.client.store.capabilities.durable:
        raise Refused(f"{found.client.store.location} has no tables to migrate")
    if as_sql:
        emit(migrations.script(url, schema=schema).rstrip())
        return
    before, after = migrations.migrate_url(url, schema=schema)
    emit(f"{found.client.store.location}: {_said(before, after)}")


def _said(before: str | None, after: str) -> str:
    if before == after:
        return f"its tables are those of this version already ({after})"
    return f"tables made ({after})" if before is None else f"from {before} to {after}"
