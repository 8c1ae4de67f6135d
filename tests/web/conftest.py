"""A console on a store in memory, and a client that speaks to it without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from taskq import TaskQ
from taskq.web import Console, ConsoleOptions
from taskq.web.application import application


@pytest.fixture
async def app() -> AsyncIterator[TaskQ]:
    async with TaskQ("memory://") as taskq:
        yield taskq


@pytest.fixture
async def browser(app: TaskQ) -> AsyncIterator[httpx.AsyncClient]:
    console = application(Console(app, ConsoleOptions()))
    transport = httpx.ASGITransport(console)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client
