"""A console on a store in memory, and a client that speaks to it without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build

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
