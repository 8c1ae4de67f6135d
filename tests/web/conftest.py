"""A console on a store in memory, and a client that speaks to it without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from taskq.web.shell import Shell
from tests.web.asking import TOKENS


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
