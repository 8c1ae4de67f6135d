"""The PostgreSQL backend keeps the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial

import pytest

from taskq.backends import Store
from taskq.backends.sql import PostgresBackend
from taskq.testing import ManualClock
from taskq.testing.conformance import BackendConformance, Harness
from taskq.testing.conformance.fixtures import opened
from taskq.testing.conformance.harness import bridge_for
from tests.postgres_databases import EMPTY, Databases
from tests.postgres_time import put_clock, set_clock


@pytest.fixture(scope="module")
def clocked(databases: Databases) -> str:
    """A database whose clock can be put forward."""
    url = databases.fresh()
    put_clock(databases, url)
    return url


@pytest.fixture
def url(databases: Databases, clocked: str) -> str:
    """The same, empty, with the clock at the machine's time."""
    databases.run(clocked, EMPTY, set_clock(0))
    return clocked


class PostgresHarness(Harness):
    """Time is the database's."""

    def __init__(self, backend: Store, clock: ManualClock, databases: Databases, url: str) -> None:
        super().__init__(backend, bridge_for(backend), clock)
        self._run = partial(databases.run, url)

    async def now(self) -> datetime:
        """The database's."""
        [[now]] = self._run("SELECT now()")
        assert isinstance(now, datetime)
        return now

    async def advance(self, seconds: float) -> None:
        """Put its clock forward."""
        self._clock.advance(seconds)
        self._run(set_clock(self._clock.monotonic()))


class TestPostgres(BackendConformance):
    """On asyncio and trio."""

    @pytest.fixture
    def backend(self, url: str) -> Store:
        """On an empty database."""
        return PostgresBackend(url)

    @pytest.fixture
    def second(self, url: str, backend: Store) -> Store:
        """Another one on the same database."""
        return PostgresBackend(url)

    @pytest.fixture
    async def harness(
        self, backend: Store, clock: ManualClock, databases: Databases, url: str
    ) -> AsyncIterator[Harness]:
        """The backend, opened."""
        made = PostgresHarness(backend, clock, databases, url)
        async with opened(made) as harness:
            yield harness

    @pytest.fixture
    async def other(
        self,
        harness: Harness,
        second: Store,
        clock: ManualClock,
        databases: Databases,
        url: str,
    ) -> AsyncIterator[Harness]:
        """The second one, opened after the first."""
        made = PostgresHarness(second, clock, databases, url)
        async with opened(made) as other:
            yield other
