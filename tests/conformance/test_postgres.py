"""The PostgreSQL backend keeps the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from functools import partial

import pytest

from taskq.backends import Store
from taskq.backends.sql import PostgresBackend
from taskq.bridge import Bridge
from taskq.testing import ManualClock
from taskq.testing.conformance import BackendConformance, Harness
from taskq.testing.conformance.fixtures import opened
from taskq.testing.conformance.harness import bridge_for
from taskq.testing.conformance.sharing import OpeningTests
from tests.conformance.kept import Kept
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
    databases.run(clocked, f"{EMPTY};{set_clock(0)}")
    return clocked


@pytest.fixture(scope="module")
def kept(clocked: str) -> Iterator[tuple[Kept, Kept]]:
    """Connections to it, for the first and the second backend of each test."""
    both = Kept(clocked), Kept(clocked)
    yield both
    for each in both:
        each.end()


class PostgresHarness(Harness):
    """Time is the database's."""

    def __init__(
        self, backend: Store, bridge: Bridge, clock: ManualClock, databases: Databases, url: str
    ) -> None:
        super().__init__(backend, bridge, clock)
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
    def backend(self, url: str, kept: tuple[Kept, Kept]) -> Store:
        """On an empty database."""
        return kept[0].backend()

    @pytest.fixture
    def second(self, backend: Store, kept: tuple[Kept, Kept]) -> Store:
        """Another one on the same database."""
        return kept[1].backend()

    @pytest.fixture
    async def harness(
        self,
        backend: Store,
        clock: ManualClock,
        databases: Databases,
        url: str,
        kept: tuple[Kept, Kept],
    ) -> AsyncIterator[Harness]:
        """The backend, opened."""
        made = PostgresHarness(backend, kept[0].bridge, clock, databases, url)
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
        kept: tuple[Kept, Kept],
    ) -> AsyncIterator[Harness]:
        """The second one, opened after the first."""
        made = PostgresHarness(second, kept[1].bridge, clock, databases, url)
        async with opened(made) as other:
            yield other


class TestOpening(OpeningTests):
    """With nothing kept: each close ends every connection."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    async def harness(self, url: str, databases: Databases) -> AsyncIterator[Harness]:
        """A backend of its own, opened."""
        backend, clock = PostgresBackend(url), ManualClock()
        made = PostgresHarness(backend, bridge_for(backend), clock, databases, url)
        async with opened(made) as harness:
            yield harness
