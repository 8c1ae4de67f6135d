"""The ways into a user's own Alembic, as docs/migrations.md has them, in a real project.

The ini, the Python files and the commands are those of the page; only the database is another.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.config import CommandLine, Config
from click.testing import CliRunner
from sqlalchemy import create_engine, inspect

from taskq import TaskQ, migrations
from taskq.backends.sql.tables import metadata
from taskq.cli import commands
from taskq.errors import SchemaError
from tests import forked
from tests.docs.test_snippets import ROOT, Block, blocks
from tests.postgres_databases import Databases

pytestmark = pytest.mark.usefixtures("by_alembic")

PAGE = ROOT / "docs" / "migrations.md"
TABLES = {table.name for table in metadata.sorted_tables}

MODELS = """
from sqlalchemy import Column, Integer, MetaData, Table

metadata = MetaData()
Table("customers", metadata, Column("id", Integer, primary_key=True))
"""

ORDERS = """
Table("orders", metadata, Column("id", Integer, primary_key=True))
"""

FIRST = """
import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = ("shop",)


def upgrade():
    op.create_table("customers", sa.Column("id", sa.Integer, primary_key=True))


def downgrade():
    op.drop_table("customers")
"""

TEMPLATE = '''
"""${message}"""
from alembic import op
import sqlalchemy as sa

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade():
    ${upgrades if upgrades else "pass"}


def downgrade():
    ${downgrades if downgrades else "pass"}
'''


def section(title: str) -> list[Block]:
    """The blocks under a heading, until the next one."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    headings = [number for number, line in enumerate(lines, 1) if re.match("#+ [A-Z]", line)]
    [start] = [number for number in headings if lines[number - 1].lstrip("# ") == title]
    end = min((number for number in headings if number > start), default=len(lines))
    return [block for block in blocks(PAGE) if start < block.line < end]


class Project:
    """A user's project that has Alembic, a model and a first revision."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.versions = folder / "migrations" / "versions"
        self.versions.mkdir(parents=True)
        (folder / "models.py").write_text(MODELS)
        (folder / "migrations" / "script.py.mako").write_text(TEMPLATE)
        (self.versions / "0001_customers.py").write_text(FIRST)

    @property
    def of_sqlalchemy(self) -> str:
        """The URL as SQLAlchemy wants it for psycopg."""
        return self.url.replace("postgresql://", "postgresql+psycopg://")

    def follow(self, title: str) -> list[str]:
        """Do what a section says; its commands."""
        for block in [*section("In your own Alembic"), *section(title)]:
            named = re.match(r"# ([\w.]+)\n", block.text)
            if named:
                self._place(named[1]).write_text(self._here(block.text))
        lines = [block.text for block in section(title) if block.language == "console"]
        return [line[2:] for line in "".join(lines).splitlines()]

    def run(self, command: str) -> str:
        """Run an ``alembic`` command of the page as its program does; what it printed."""
        _, *arguments = shlex.split(command)
        program, printed = CommandLine("alembic"), io.StringIO()
        options = program.parser.parse_args(arguments)
        config = Config(
            "alembic.ini",
            ini_section=options.name,
            stdout=printed,
            output_buffer=printed,
            cmd_opts=options,
        )
        sys.modules.pop("models", None)  # another project's, or what it was before
        program.run_cmd(config, options)
        return printed.getvalue()

    def tables(self) -> set[str]:
        engine = create_engine(self.of_sqlalchemy)
        names = set(inspect(engine).get_table_names())
        engine.dispose()
        return names

    def works(self) -> None:
        """Taskq takes the tables for its own."""
        app = TaskQ(self.url)

        @app.activity
        async def greet() -> None: ...

        assert greet.delay().info().status == "pending"
        app.close()

    def autogenerate(self, command: str) -> str:
        """A new model, and the revision that Alembic writes for it."""
        models = self.folder / "models.py"
        models.write_text(MODELS + ORDERS)
        before = set(self.versions.glob("*.py"))
        self.run(command)
        [written] = set(self.versions.glob("*.py")) - before
        return written.read_text()

    def _place(self, name: str) -> Path:
        match name:
            case "alembic.ini":
                return self.folder / name
            case "env.py":
                return self.folder / "migrations" / name
            case _:
                return self.versions / name

    def _here(self, text: str) -> str:
        """The page's database replaced by the test's."""
        text = text.replace("postgresql+psycopg://localhost/shop", self.of_sqlalchemy)
        return text.replace("postgresql://localhost/shop", self.url)


@pytest.fixture(params=["sqlite", "postgresql"])
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """On an empty database of each kind; it is the current folder."""
    url = f"sqlite:///{tmp_path}/shop.db"
    if request.param == "postgresql":
        databases: Databases = request.getfixturevalue("databases")
        url = databases.create()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TASKQ_DATABASE_URL", url)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.path_importer_cache, ".", raising=False)  # another folder then
    yield Project(tmp_path, url)
    sys.modules.pop("models", None)


def test_a_section_of_its_own(project: Project) -> None:
    """seed:B7"""
    mine, taskqs, autogenerate, downgrade = project.follow("A section of its own")

    project.run(mine)
    project.run(taskqs)

    versions = {"alembic_version", "taskq_alembic_version"}
    assert project.tables() == {"customers", *versions, *TABLES}
    project.works()
    assert drops_nothing(project.autogenerate(autogenerate))
    project.run(downgrade)
    assert project.tables() == {"customers", "alembic_version"}


def test_a_branch_of_the_users_history(project: Project) -> None:
    _, upgrade, autogenerate, downgrade = project.follow("A branch of your history")

    project.run(upgrade)

    assert project.tables() == {"customers", "alembic_version", *TABLES}
    project.works()
    assert drops_nothing(project.autogenerate(autogenerate))
    project.run(upgrade)
    assert "orders" in project.tables()
    project.run(downgrade)
    assert project.tables() == {"customers", "orders", "alembic_version"}


def test_a_branch_of_a_history_that_has_yet_to_begin(project: Project) -> None:
    """What a bare ``alembic revision`` would write into taskq's own folder lands in the user's."""
    first, upgrade, autogenerate, downgrade = project.follow("A branch of your history")
    (project.versions / "0001_customers.py").unlink()

    project.run(first)
    project.run(upgrade)

    assert project.tables() == {"alembic_version", *TABLES}
    assert drops_nothing(project.autogenerate(autogenerate))
    migrations.refuse_strangers()
    project.run(upgrade)
    assert project.tables() == {"customers", "orders", "alembic_version", *TABLES}
    project.run(downgrade)
    assert project.tables() == {"customers", "orders", "alembic_version"}


def test_a_file_that_is_none_of_taskqs_revisions_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "installed" / "taskq"
    shutil.copytree(ROOT / "taskq", package)
    stranger = package / "migrations" / "versions" / "5e1f_orders.py"
    stranger.write_text(FIRST.replace("None", "'tq0001'").replace('("shop",)', "None"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("TASKQ_DATABASE_URL", "sqlite:///shop.db")
    Path("alembic.ini").write_text(
        "[alembic]\nscript_location = taskq:migrations\npath_separator = os\n"
    )
    sentence = f"{stranger} is no revision of taskq's: move it to your own migrations"

    for command in ("taskq migrate", "alembic upgrade head"):
        done = forked.run(["-m", *shlex.split(command)])
        assert done.returncode != 0
        assert sentence in done.stderr + done.stdout
        assert "CommandError" not in done.stderr + done.stdout
    engine = create_engine("sqlite:///shop.db")
    assert inspect(engine).get_table_names() == []
    engine.dispose()


def test_a_revision_of_the_users_own(project: Project) -> None:
    upgrade, autogenerate, downgrade = project.follow("From a revision of your own")

    project.run(upgrade)

    assert project.tables() == {"customers", "alembic_version", *TABLES}
    project.works()
    assert drops_nothing(project.autogenerate(autogenerate))
    assert "CREATE TABLE taskq_activities" in project.run(f"{upgrade} --sql")
    project.run(downgrade)
    assert project.tables() == {"customers", "alembic_version"}


def test_tables_of_the_users_own_migrations_are_left_to_them(project: Project) -> None:
    upgrade, *_ = project.follow("From a revision of your own")
    project.run(upgrade)

    done = CliRunner().invoke(commands, ["migrate", "--database", project.url])

    assert done.exit_code != 0
    assert "migrations of your own" in done.output
    project.works()


def test_from_the_repository(project: Project) -> None:
    upgrade, current, downgrade = [
        line[2:]
        for block in section("Alembic, from the repository")
        for line in block.text.splitlines()
    ]
    (project.folder / "alembic.ini").write_text((ROOT / "alembic.ini").read_text())

    assert forked.run(["-m", *shlex.split(upgrade)]).returncode == 0

    assert project.tables() == {"taskq_alembic_version", *TABLES}
    assert "tq0002" in project.run(current)
    project.works()
    project.run(downgrade)
    assert project.tables() == set()


@pytest.mark.parametrize(("number", "revision"), [(0, None), (1, "tq9999")])
def test_what_a_program_says_is_what_the_page_says(
    databases: Databases, number: int, revision: str | None
) -> None:
    said = [block.text.strip() for block in section("What a program says")]
    url = databases.fresh() if revision else databases.create()
    if revision:
        databases.run(url, f"UPDATE taskq_alembic_version SET version_num = '{revision}'")

    app = TaskQ(url)
    with pytest.raises(SchemaError) as caught:
        app.client.bridge.call_sync(app.client.ready)
    app.close()

    assert str(caught.value).replace(url, "postgresql://localhost/shop") == said[number]


def drops_nothing(revision: str) -> bool:
    """Whether a written revision makes the new table and touches no other."""
    upgrade = revision.partition("def upgrade")[2].partition("def downgrade")[0]
    return "create_table('orders'" in upgrade and "drop" not in upgrade
