"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres_databases import Databases
from tests.postgres_server import NoServer, private_server

# The suite must not fail by chance or on a slow machine: the same examples each time, no deadline.
# --hypothesis-profile=explore draws new ones.
settings.register_profile(
    "suite", derandomize=True, deadline=None, suppress_health_check=[*HealthCheck]
)
settings.register_profile("explore", deadline=None, suppress_health_check=[*HealthCheck])
settings.load_profile("suite")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Async tests run on both event loops."""
    return str(request.param)


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
