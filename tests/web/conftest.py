"""A console on a store in memory, and a client that speaks to it without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import anyio
import httpx
import pytest
from litestar.types import ASGIApp
from msgspec import Struct

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from tests.web.stage import Stage, played

TOKENS = {role: f"{role}-0123456789-0123456789" for role in ("viewer", "operator", "admin")}
"""A token of each role; each account has the name of its role."""


@pytest.fixture
async def app() -> AsyncIterator[TaskQ]:
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    async with TaskQ("memory://", web_tokens=accounts) as taskq:
        yield taskq


@pytest.fixture
async def browser(app: TaskQ) -> AsyncIterator[httpx.AsyncClient]:
    """Speaks as admin."""
    transport = httpx.ASGITransport(build(Console(app, ConsoleOptions())))
    headers = {"authorization": f"Bearer {TOKENS['admin']}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=headers
    ) as client:
        yield client


class Ground(Struct, frozen=True):
    """A console on a store in which something of everything is, for tests that only look."""

    app: TaskQ
    stage: Stage
    asgi: ASGIApp

    def client(self, role: str) -> httpx.AsyncClient:
        """Speaks as this role."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.asgi),
            base_url="http://127.0.0.1",
            headers={"authorization": f"Bearer {TOKENS[role]}"},
        )


@pytest.fixture(scope="module")
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """Made once for all tests of a module, which says ``SETTINGS`` and ``CANARY``."""
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    settings = getattr(request.module, "SETTINGS", {})
    app = TaskQ("memory://", web_tokens=accounts, **settings)
    stage = anyio.run(played, app, getattr(request.module, "CANARY", "plain"))
    yield Ground(app, stage, build(Console(app, ConsoleOptions())))
    app.close()


@pytest.fixture
def stage(ground: Ground) -> Stage:
    return ground.stage


@pytest.fixture
async def admin(ground: Ground) -> AsyncIterator[httpx.AsyncClient]:
    async with ground.client("admin") as client:
        yield client


@pytest.fixture
async def viewer(ground: Ground) -> AsyncIterator[httpx.AsyncClient]:
    async with ground.client("viewer") as client:
        yield client
