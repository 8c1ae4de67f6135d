"""A console on a store in memory, and a client that speaks to it without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import anyio
import httpx
import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from taskq.web.shell import Shell
from tests.web.asking import TOKENS
from tests.web.ground import Ground
from tests.web.stage import Stage, played


@pytest.fixture
async def app() -> AsyncIterator[TaskQ]:
    """Has an account of each role, see ``TOKENS``."""
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    async with TaskQ("memory://", web_tokens=accounts) as taskq:
        yield taskq


@pytest.fixture
async def console(app: TaskQ) -> Shell:
    """A console that can do everything."""
    return build(Console(app, ConsoleOptions()))


@pytest.fixture
async def browser(console: Shell) -> AsyncIterator[httpx.AsyncClient]:
    """Speaks as admin."""
    headers = {"authorization": f"Bearer {TOKENS['admin']}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(console), base_url="http://127.0.0.1", headers=headers
    ) as client:
        yield client


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
