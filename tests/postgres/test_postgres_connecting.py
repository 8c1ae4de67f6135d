"""A connect that its caller gives up leaves nothing: no connection, no word on stderr."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Iterator

import pytest

from taskq.backends.sql.postgres.address import address_of
from taskq.backends.sql.postgres.connections import connect
from tests.postgres.conftest import Sql

STEPS = 12
"""Turns of the event loop after which a connect is given up: asyncpg needs about six of them to
have the network connected and to wait for the first byte."""

OPEN = "SELECT pid FROM pg_stat_activity WHERE application_name = 'given-up'"


@pytest.fixture
def anyio_backend() -> str:
    """The storage loop is asyncio's."""
    return "asyncio"


@pytest.fixture
def silent_url() -> Iterator[str]:
    """A server that lets everybody in and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield f"postgresql://ada@127.0.0.1:{server.getsockname()[1]}/shop"


async def given_up(url: str, *, after: int) -> None:
    """Begin to connect, and cancel that after so many turns of the loop."""
    opening = asyncio.ensure_future(connect(address_of(url)))
    for _ in range(after):
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening


@pytest.mark.parametrize("mode", ["prefer", "disable", "require"])
async def test_a_connect_that_is_given_up_at_any_step_says_nothing(
    silent_url: str, mode: str
) -> None:
    """asyncpg forgets a future whose error the event loop would print."""
    said: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))

    async with asyncio.TaskGroup() as tasks:
        for step in range(STEPS):
            tasks.create_task(given_up(f"{silent_url}?sslmode={mode}", after=step))
    gc.collect()

    assert said == []


async def test_a_connect_that_is_given_up_twice_ends_at_once(silent_url: str) -> None:
    opening = asyncio.ensure_future(connect(address_of(silent_url)))
    for _ in range(STEPS):
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.sleep(0)
    opening.cancel()

    before = asyncio.get_running_loop().time()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert asyncio.get_running_loop().time() - before < 0.09


async def test_what_a_given_up_connect_has_opened_is_closed(postgres_url: str, sql: Sql) -> None:
    url = f"{postgres_url}?application_name=given-up"
    async with asyncio.TaskGroup() as tasks:
        for step in range(STEPS):
            tasks.create_task(given_up(url, after=step))

    async with asyncio.timeout(10):
        while await asyncio.to_thread(sql, OPEN):
            await asyncio.sleep(0.01)
