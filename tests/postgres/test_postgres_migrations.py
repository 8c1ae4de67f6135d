"""The migrations on PostgreSQL: made once, whoever comes; up, down, up; and what open() says."""

from __future__ import annotations

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from click.testing import CliRunner
from sqlalchemy import Connection

from taskq import migrations
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.migrating import on_database
from taskq.backends.sql.tables import BUSY, metadata
from taskq.bridge import ResidentBridge
from taskq.cli import commands
from taskq.errors import BackendError, SchemaError
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import call
from tests.postgres_databases import Databases

ROOT = Path(__file__).parents[2]

TABLES = """
SELECT c.relname, c.relkind::text, pg_get_indexdef(c.oid), c.reloptions,
       array(SELECT (a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
                     pg_get_expr(d.adbin, d.adrelid))::text
             FROM pg_attribute a
             LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
             WHERE a.attrelid = c.oid AND a.attnum > 0 ORDER BY a.attnum) AS columns,
       array(SELECT conname || ' ' || pg_get_constraintdef(k.oid) FROM pg_constraint k
             WHERE k.conrelid = c.oid ORDER BY conname) AS constraints
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = '{schema}' ORDER BY c.relname
"""
PUBLIC = TABLES.format(schema="public")


@pytest.fixture
def empty(databases: Databases) -> str:
    """A database without tables."""
    return databases.create()


def migrate_in_a_process(url: str) -> int:
    """``taskq migrate`` in a process of its own; its exit code."""
    done = subprocess.run([sys.executable, "-m", "taskq", "migrate", "--database", url], cwd=ROOT)
    return done.returncode


def test_alembic_finds_no_difference_to_the_tables(postgres_url: str) -> None:
    def compare(connection: Connection) -> object:
        context = MigrationContext.configure(
            connection, opts={"version_table": migrations.VERSION_TABLE}
        )
        return compare_metadata(context, metadata)

    assert on_database(postgres_url, None, compare) == []


def test_down_and_up_again_leaves_the_same_schema(databases: Databases) -> None:
    url = databases.fresh()
    before = databases.run(url, PUBLIC)

    on_database(url, None, migrations.downgrade)
    assert databases.run(url, PUBLIC) == []
    assert migrations.migrate_url(url) == (None, migrations.HEAD)

    assert databases.run(url, PUBLIC) == before


def test_four_at_once_all_succeed(databases: Databases, empty: str) -> None:
    """seed:B11, fault:DB25: an advisory lock lets one make the tables; the others find them."""
    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(migrate_in_a_process, [empty] * 4))

    assert codes == [0] * 4
    assert len(databases.run(empty, "SELECT * FROM taskq_alembic_version")) == 1


def test_alembic_upgrades_from_the_root(
    databases: Databases, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_DATABASE_URL", empty)

    command.upgrade(Config(ROOT / "alembic.ini", stdout=io.StringIO()), "head")

    assert databases.run(empty, "SELECT version_num FROM taskq_alembic_version")[0][0] == (
        migrations.HEAD
    )


def test_busy_tables_are_cleared_of_dead_rows_by_count(
    databases: Databases, postgres_url: str
) -> None:
    """design 7.4"""
    query = "SELECT reloptions FROM pg_class WHERE relname = 'taskq_activities'"
    [[options]] = databases.run(postgres_url, query)

    assert options == [f"{name}={value}" for name, value in BUSY.items()]


@pytest.mark.parametrize("schema", ["shop", 'My "own" schema:x %s'])
def test_another_schema_holds_everything(
    databases: Databases, empty: str, bridge: ResidentBridge, schema: str
) -> None:
    """fault:DB26: TASKQ_SCHEMA, without any state in the session."""
    migrations.migrate_url(empty, schema=schema)
    backend = PostgresBackend(empty, schema=schema)

    async def use() -> list[object]:
        await backend.open()
        await backend.submit([call()])
        found = await backend.list(Filter(), Page())
        await backend.cancel([found.items[0].id])
        await backend.close()
        return list(found.items)

    assert len(bridge.call_sync(use)) == 1
    assert databases.run(empty, PUBLIC) == []
    with pytest.raises(SchemaError, match="no taskq tables"):
        bridge.call_sync(PostgresBackend(empty).open)


def test_missing_tables_are_told_with_the_command(empty: str, bridge: ResidentBridge) -> None:
    with pytest.raises(SchemaError, match="run `taskq migrate`"):
        bridge.call_sync(PostgresBackend(empty).open)


def test_a_missing_schema_is_named(empty: str, bridge: ResidentBridge) -> None:
    with pytest.raises(SchemaError, match=r"in schema 'nowhere' \(TASKQ_SCHEMA\)"):
        bridge.call_sync(PostgresBackend(empty, schema="nowhere").open)


@pytest.mark.parametrize(
    ("revision", "message"),
    [("tq9999", "made by a newer taskq"), ("", "older"), (None, "older")],
)
def test_tables_of_another_version_are_refused(
    databases: Databases, bridge: ResidentBridge, revision: str | None, message: str
) -> None:
    """fault:DB25"""
    url = databases.fresh()
    statement = (
        "DELETE FROM taskq_alembic_version"
        if not revision
        else f"UPDATE taskq_alembic_version SET version_num = '{revision}'"
    )
    databases.run(url, statement)

    with pytest.raises(SchemaError, match=message):
        bridge.call_sync(PostgresBackend(url).open)


def test_a_program_that_is_running_goes_on_beside_newer_tables(
    databases: Databases, bridge: ResidentBridge
) -> None:
    """A rolling upgrade: first the tables, then one program after the other."""
    url = databases.fresh()
    running = PostgresBackend(url)
    bridge.call_sync(running.open)
    databases.run(url, "UPDATE taskq_alembic_version SET version_num = 'tq9999'")

    assert len(bridge.call_sync(running.submit, [call()])) == 1
    with pytest.raises(SchemaError, match="newer taskq"):
        bridge.call_sync(PostgresBackend(url).open)
    bridge.call_sync(running.close)


def test_tables_of_the_users_own_migrations_are_judged_by_their_columns(
    databases: Databases, bridge: ResidentBridge
) -> None:
    """In the user's own Alembic there is no version table of taskq's."""
    url = databases.fresh()
    databases.run(url, "DROP TABLE taskq_alembic_version")
    backend = PostgresBackend(url)
    bridge.call_sync(backend.open)
    bridge.call_sync(backend.close)

    databases.run(url, "ALTER TABLE taskq_activities DROP COLUMN step")

    with pytest.raises(SchemaError, match="no column step"):
        bridge.call_sync(PostgresBackend(url).open)


def test_a_database_in_another_encoding_is_refused(
    databases: Databases, bridge: ResidentBridge, postgres_server: str
) -> None:
    """fault:DB24"""
    name = f"taskq_latin_{call().id.hex[:8]}"
    create = (
        f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    databases.run(postgres_server, create)
    url = databases.url(name)
    try:
        with pytest.raises(BackendError, match="LATIN1"):
            bridge.call_sync(PostgresBackend(url).open)
    finally:
        databases.run(postgres_server, f"DROP DATABASE {name} WITH (FORCE)")


def test_the_command_makes_the_tables_and_says_so(empty: str) -> None:
    runner = CliRunner()

    first = runner.invoke(commands, ["migrate", "--database", empty])
    second = runner.invoke(commands, ["migrate", "--database", empty])

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "tables made" in first.output
    assert "already" in second.output


@pytest.mark.parametrize("schema", ["public", "shop"])
def test_the_command_prints_sql_that_does_the_same(
    databases: Databases, empty: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run as psql runs it: as it is, transaction and all."""
    if schema != "public":
        monkeypatch.setenv("TASKQ_SCHEMA", schema)
    other = databases.create()
    migrations.migrate_url(other, schema=schema)

    printed = CliRunner().invoke(commands, ["migrate", "--sql", "--database", empty])
    databases.run(empty, printed.output)

    tables = TABLES.format(schema=schema)
    assert databases.run(empty, tables) == databases.run(other, tables)
    assert migrations.migrate_url(empty, schema=schema) == (migrations.HEAD, migrations.HEAD)


def test_the_command_works_for_sqlite_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.db"

    done = CliRunner().invoke(commands, ["migrate", "--database", url])

    assert done.exit_code == 0
    assert "tables made" in done.output


def test_memory_has_nothing_to_migrate() -> None:
    assert CliRunner().invoke(commands, ["migrate", "--database", "memory://"]).exit_code == 2
