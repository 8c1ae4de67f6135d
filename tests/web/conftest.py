"""A console on a store in memory, and a client that speaks to it without a socket.

Each route is tested on one event loop, by turns; what waits for something else than the store, as
streams and bulk commands do, on both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

import anyio
import httpx
import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from taskq.web.shell import Shell
from tests.loops import leave_out, name_of
from tests.web.asking import TOKENS
from tests.web.ground import Ground
from tests.web.played import Stage, played

ON_BOTH = ("test_live_", "test_bulk_resuming", "test_bulk_serving", "test_mounting_", "test_web_")
"""How the names of files begin whose tests run on both loops."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other loop."""
    leave_out(config, items, _turn)


def _turn(item: pytest.Function) -> int | None:
    return crc32(name_of(item).encode()) if _on_one(item.path) else None


@cache
def _on_one(path: Path) -> bool:
    return path.parent == Path(__file__).parent and not path.name.startswith(ON_BOTH)


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
