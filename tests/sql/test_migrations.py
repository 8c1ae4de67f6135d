"""The migrations create exactly the tables that the code uses."""

from __future__ import annotations

import io
import re
import sqlite3
import traceback
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.schema import CreateIndex, CreateTable

from taskq import migrations
from taskq.backends.sql.sqlite.connect import make_engine, transaction
from taskq.backends.sql.sqlite.schema import set_up
from taskq.backends.sql.tables import metadata
from taskq.errors import ConfigurationError, SchemaError
from taskq.model import Status

pytestmark = pytest.mark.usefixtures("by_alembic")

ROOT = Path(__file__).parents[2]


def ini() -> Config:
    """The alembic.ini of the repository's root."""
    return Config(ROOT / "alembic.ini", stdout=io.StringIO(), output_buffer=io.StringIO())


def offline(url: str) -> str:
    """What ``alembic upgrade head --sql`` writes."""
    config = ini()
    config.cmd_opts = None
    config.set_main_option("sqlalchemy.url", url)
    command.upgrade(config, "head", sql=True)
    assert isinstance(config.output_buffer, io.StringIO)
    return config.output_buffer.getvalue()


def squeezed(sql: str) -> str:
    return re.sub(r"\s+", " ", sql).strip()


def test_alembic_finds_no_difference_to_the_tables(connection: Connection) -> None:
    with transaction(connection, "DEFERRED"):
        context = MigrationContext.configure(
            connection, opts={"version_table": migrations.VERSION_TABLE}
        )

        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize(
    ("url", "dialect"),
    [("sqlite:///x.db", sqlite.dialect()), ("postgresql://h/d", postgresql.dialect())],
    ids=["sqlite", "postgresql"],
)
def test_every_table_and_index_is_created_word_for_word(url: str, dialect: DefaultDialect) -> None:
    """Alembic compares no CHECK, no condition of an index, no WITHOUT ROWID; the text does.

    seed:B7
    """
    written = squeezed(offline(url))

    for table in metadata.sorted_tables:
        assert squeezed(str(CreateTable(table).compile(dialect=dialect))) + ";" in written
        for index in table.indexes:
            assert squeezed(str(CreateIndex(index).compile(dialect=dialect))) + ";" in written
    assert written.count("CREATE TABLE") == len(metadata.tables) + 1
    assert written.count(" INDEX taskq_") == sum(len(t.indexes) for t in metadata.tables.values())


def test_down_and_up_again_leaves_the_same_schema(
    connection: Connection, foreign: sqlite3.Connection
) -> None:
    query = "SELECT name, sql FROM sqlite_master ORDER BY name"
    before = foreign.execute(query).fetchall()

    with transaction(connection):
        migrations.downgrade(connection)
    assert foreign.execute(query).fetchall() == []
    with transaction(connection):
        assert migrations.current(connection) is None
        migrations.upgrade(connection)

    assert foreign.execute(query).fetchall() == before


def test_the_printed_sql_makes_the_same_schema(foreign: sqlite3.Connection, tmp_path: Path) -> None:
    empty = sqlite3.connect(tmp_path / "empty.db")

    empty.executescript(migrations.script("sqlite:///x.db"))

    def tables(connection: sqlite3.Connection) -> dict[str, str]:
        rows = connection.execute("SELECT name, sql FROM sqlite_master")
        return {name: squeezed(sql or "") for name, sql in rows}

    assert tables(empty) == tables(foreign)
    [[revision]] = empty.execute(f"SELECT version_num FROM {migrations.VERSION_TABLE}")
    assert revision == migrations.HEAD
    empty.close()


def test_tables_of_the_users_own_migrations_are_judged_by_their_columns(
    connection: Connection, foreign: sqlite3.Connection, path: Path
) -> None:
    """In the user's own Alembic there is no version table of taskq's."""
    foreign.execute(f"DROP TABLE {migrations.VERSION_TABLE}")
    set_up(connection, str(path))
    assert migrations.foreign(connection)
    connection.rollback()

    foreign.execute("ALTER TABLE taskq_activities RENAME COLUMN step TO stage")

    with pytest.raises(SchemaError, match="no column step"):
        set_up(connection, str(path))


def test_no_step_is_taken_that_this_version_does_not_know() -> None:
    with pytest.raises(ConfigurationError, match="'tq9999'"):
        migrations.revision("tq9999")


def test_the_states_in_the_database_are_those_of_the_code(foreign: sqlite3.Connection) -> None:
    """seed:L2"""

    [sql] = foreign.execute(
        "SELECT sql FROM sqlite_master WHERE name = 'taskq_activities'"
    ).fetchone()
    [statuses] = re.findall(r"CHECK \(status IN \((.*?)\)\)", sql)

    assert {each.strip(" '") for each in statuses.split(",")} == {each.value for each in Status}


def test_the_known_revisions_are_those_of_the_scripts() -> None:
    scripts = ScriptDirectory.from_config(migrations.config())

    found = [script.revision for script in scripts.walk_revisions()]

    assert tuple(reversed(found)) == migrations.REVISIONS
    assert scripts.get_heads() == [migrations.HEAD] == [migrations.REVISIONS[-1]]


def test_what_alembic_logs_of_a_revision_is_for_people() -> None:
    scripts = ScriptDirectory.from_config(migrations.config())

    told = [script.doc for script in scripts.walk_revisions()]

    assert [doc for doc in told if not doc.endswith(".") or "(" in doc] == []


def test_alembic_upgrades_the_database_of_the_ini_section(tmp_path: Path) -> None:
    config = ini()
    path = tmp_path / "mine.db"
    config.set_main_option("sqlalchemy.url", f"sqlite:///{path}")

    command.upgrade(config, "head")

    engine = make_engine(str(path), lock_timeout=3.0)
    with engine.connect() as connection, transaction(connection, "DEFERRED"):
        assert migrations.current(connection) == migrations.HEAD


def test_alembic_upgrades_the_database_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TASKQ_DATABASE_URL", "sqlite:///there.db")

    command.upgrade(ini(), "head")

    assert (tmp_path / "there.db").exists()


def test_alembic_upgrades_the_database_that_a_file_of_settings_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D35: Alembic and the workers agree on where activities are kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TASKQ_CONFIG", "taskq.toml")
    (tmp_path / "taskq.toml").write_text('database_url = "sqlite:///named.db"\n', encoding="utf-8")

    command.upgrade(ini(), "head")

    assert (tmp_path / "named.db").exists()


def test_alembic_says_in_one_line_that_a_file_of_settings_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TASKQ_CONFIG", "nowhere.toml")

    with pytest.raises(Exception, match=r"there is no file .*nowhere\.toml") as caught:
        command.upgrade(ini(), "head")

    assert type(caught.value).__name__ == "CommandError"


def test_alembic_says_in_one_line_that_a_url_is_wrong() -> None:
    config = ini()
    config.set_main_option("sqlalchemy.url", "sqlite://")

    with pytest.raises(Exception, match="memory://") as caught:
        command.upgrade(config, "head")

    assert type(caught.value).__name__ == "CommandError"


@pytest.mark.parametrize(
    "url", ["postgresql://ada:hun%40ter2@host/shop", "postgresql://ada:hun%%40t?er2@host/shop"]
)
def test_alembic_shows_no_password_of_a_wrong_url(tmp_path: Path, url: str) -> None:
    """An ini file has a % twice; Alembic's own error for one shows the rest of the URL."""
    file = tmp_path / "alembic.ini"
    file.write_text(f"[alembic]\nscript_location = taskq:migrations\nsqlalchemy.url = {url}\n")

    with pytest.raises(Exception, match="%") as caught:
        command.upgrade(Config(file, stdout=io.StringIO()), "head")

    assert type(caught.value).__name__ == "CommandError"
    shown = "".join(traceback.TracebackException.from_exception(caught.value).format())
    assert "hun" not in shown
    assert "er2" not in shown


def test_a_failed_migration_leaves_nothing_behind(path: Path) -> None:
    """fault:DB25"""
    engine = make_engine(str(path), lock_timeout=3.0)
    with engine.connect() as connection:
        with pytest.raises(ZeroDivisionError), transaction(connection):
            migrations.upgrade(connection)
            raise ZeroDivisionError

        with transaction(connection, "DEFERRED"):
            assert migrations.current(connection) is None
            names = connection.exec_driver_sql("SELECT name FROM sqlite_master").all()
    assert names == []


def test_the_tables_stay_out_of_the_migrations_of_a_user() -> None:
    assert migrations.include_name("orders", "table", {})
    assert not migrations.include_name("taskq_activities", "table", {})
    assert migrations.include_name("taskq_activities_ready", "index", {})
