"""Fixtures that every test may use."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from taskq import migrations
from tests import compiled, memoized
from tests.postgres_databases import Databases
from tests.postgres_server import NoServer, private_server

# The conformance suite lives in the package; its assertions are to explain themselves here too.
pytest.register_assert_rewrite("taskq.testing.conformance")

# The suite must not fail by chance or on a slow machine: the same examples each time, no deadline.
# --hypothesis-profile=explore draws new ones, and more of them.
settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[*HealthCheck],
)
settings.register_profile("explore", deadline=None, suppress_health_check=[*HealthCheck])
settings.load_profile("suite")


MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
"""Bytes that must be free there for tests to keep their files in it."""


def pytest_configure() -> None:
    """Tests pull no plug: where there is a file system in memory, their files are there, and a
    commit of SQLite takes microseconds instead of ten milliseconds. PYTEST_DEBUG_TEMPROOT, pytest's
    own, names another folder.

    They start hundreds of processes: these keep the bytecode of the package, also where
    PYTHONDONTWRITEBYTECODE is set, as to compile it is half of what it costs to start one. So does
    this process, which rewrites the assertions of every test module that it compiles."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    compiled.share()
    memoized.share()
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


ALONE = Path(__file__).parent / "chaos"
"""Tests that start and stop many processes and wait for what these do: never two at once."""
TOGETHER = {
    Path(__file__).parent / name
    for name in (
        "house/test_house.py",
        "postgres/test_postgres_plans.py",
        "sql/test_sqlite_plans.py",
        "web/test_api_crowd.py",
    )
}
"""Tests for which something is made first that costs more than they do: it is made once."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """With ``-n 2 --dist loadgroup``, one process runs the first, and others run the rest beside
    it."""
    if not config.pluginmanager.has_plugin("xdist"):
        return
    for item in items:
        if group := _group(item.path):
            item.add_marker(pytest.mark.xdist_group(group))


@cache
def _group(path: Path) -> str | None:
    """What the tests of a file run with, on one process."""
    if ALONE in path.parents:
        return "alone"
    return path.stem if path in TOGETHER else None


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Async tests run on both event loops."""
    return str(request.param)


@pytest.fixture
def by_alembic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of every SQLite file are made by Alembic, see ``memoized``."""
    monkeypatch.setattr(migrations, "upgrade", memoized.upgrade)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server on which databases may be made; started when first needed."""
    given = os.environ.get("TASKQ_TEST_DATABASE_URL")
    if given:
        yield given
        return
    try:
        with private_server() as server:
            yield server.url
    except NoServer as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def databases(postgres_server: str) -> Iterator[Databases]:
    """Databases on it."""
    databases = Databases(postgres_server)
    yield databases
    databases.close()


@pytest.fixture
def postgres_url(databases: Databases) -> str:
    """The URL of a database with taskq's tables, empty."""
    return databases.shared()
