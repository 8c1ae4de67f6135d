"""Callers with each driver, and an app that keeps its activities where they have their tables."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from taskq import TaskQ
from taskq.events import Enqueued, Event
from taskq.task import AsyncTask
from tests.transaction.callers import DRIVERS, Caller

EVERY = [(driver, "session") for driver in DRIVERS] + [
    ("sqlite3", "connection"),
    ("asyncpg", "connection"),
]
POSTGRES = [each for each in EVERY if each[0] not in ("sqlite3", "aiosqlite")]
SQLITE = [each for each in EVERY if each[0] in ("sqlite3", "aiosqlite")]


class Heard:
    """A listener that keeps what was enqueued."""

    def __init__(self) -> None:
        self.enqueued: list[Enqueued] = []

    def on_event(self, event: Event) -> None:
        if isinstance(event, Enqueued):
            self.enqueued.append(event)


@pytest.fixture
def anyio_backend() -> str:
    """A user's AsyncSession runs on asyncio only."""
    return "asyncio"


@pytest.fixture(params=EVERY, ids=lambda each: f"{each[0]} {each[1]}")
def caller_kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A driver, and what is given of it; tests of one database parametrize it."""
    driver, given_as = request.param
    return driver, given_as


@pytest.fixture
def url(caller_kind: tuple[str, str], request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where activities are kept."""
    if caller_kind[0] in ("sqlite3", "aiosqlite"):
        return f"sqlite:///{tmp_path}/shop.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def caller(caller_kind: tuple[str, str], url: str) -> AsyncIterator[Caller]:
    """The program."""
    caller = Caller(*caller_kind, url)
    yield caller
    await caller.close()


@pytest.fixture
def heard() -> Heard:
    """What the app published."""
    return Heard()


@pytest.fixture
def app(url: str, heard: Heard) -> Iterator[TaskQ]:
    """The app, opened."""
    app = TaskQ(url, listeners=[heard])
    app.stats()
    yield app
    app.close()


@pytest.fixture
def add(app: TaskQ) -> AsyncTask[[int, int], int]:
    """A task of it."""

    @app.activity
    async def add(left: int, right: int) -> int:
        return left + right

    return add


@pytest.fixture
async def orders(caller: Caller, app: TaskQ) -> AsyncIterator[str]:
    """The name of a table of the caller's own, with one column ``id``."""
    async with caller.transaction(given_as="connection") as transaction:
        await transaction.execute("CREATE TABLE orders (id text PRIMARY KEY)")
        await transaction.commit()
    yield "orders"
    async with caller.transaction(given_as="connection") as transaction:
        await transaction.execute("DROP TABLE orders")
        await transaction.commit()
