"""A database for each test, reached as a backend and as another program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from taskq.backends.sql import PostgresBackend
from taskq.bridge import ResidentBridge
from tests.postgres_databases import Databases

MakeBackend = Callable[..., PostgresBackend]
Sql = Callable[..., Sequence[Any]]


@pytest.fixture
def bridge() -> Iterator[ResidentBridge]:
    """The storage loop."""
    bridge = ResidentBridge()
    yield bridge
    bridge.close()


@pytest.fixture
def make_backend(postgres_url: str, bridge: ResidentBridge) -> Iterator[MakeBackend]:
    """Makes backends on the database, opened, and closes them in the end."""
    made: list[PostgresBackend] = []

    def make(url: str = postgres_url, **options: Any) -> PostgresBackend:
        backend = PostgresBackend(url, **options)
        bridge.call_sync(backend.open)
        made.append(backend)
        return backend

    yield make
    for backend in made:
        bridge.call_sync(backend.close)


@pytest.fixture
def backend(make_backend: MakeBackend) -> PostgresBackend:
    """One of them."""
    return make_backend()


@pytest.fixture
def sql(databases: Databases, postgres_url: str) -> Sql:
    """Runs SQL in the same database as another program."""
    return partial(databases.run, postgres_url)
