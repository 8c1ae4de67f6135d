"""Connections that broke while nobody used them are let go of together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from taskq.backends.sql.postgres import driver
from taskq.backends.sql.postgres.address import address_of
from taskq.backends.sql.postgres.connections import Connections

COUNT = 3


class Broken:
    """A connection that works until it is ``broken``. ``farewell`` is what its close does."""

    broken = False
    terminated = False

    def __init__(self, farewell: Callable[[], Any]) -> None:
        self._farewell = farewell

    async def fetch(self, query: str, *values: object, timeout: float | None) -> list[object]:
        if self.broken:
            raise driver.ConnectionLost("it broke")
        await asyncio.sleep(0)  # so that each of those at once needs one of its own
        return []

    def is_closed(self) -> bool:
        return False

    def is_in_transaction(self) -> bool:
        return False

    async def close(self, *, timeout: float) -> None:
        await self._farewell()

    def terminate(self) -> None:
        self.terminated = True


@pytest.fixture
def anyio_backend() -> str:
    """The storage loop's."""
    return "asyncio"


async def idle(
    monkeypatch: pytest.MonkeyPatch, farewell: Callable[[], Any]
) -> tuple[Connections, list[Broken]]:
    """So many idle connections, all of them broken, and none to be had any more."""
    made: list[Broken] = []

    async def connect(*_: object, **__: object) -> Broken:
        made.append(Broken(farewell))
        return made[-1]

    async def refuse(*_: object, **__: object) -> Broken:
        raise ConnectionRefusedError("nobody is there")

    monkeypatch.setattr(driver, "connect", connect)
    connections = Connections(address_of("postgresql://nowhere/shop"), limit=COUNT, schema=None)
    await asyncio.gather(*(connections.fetch(text("SELECT 1"), {}) for _ in range(COUNT)))
    for each in made:
        each.broken = True
    monkeypatch.setattr(driver, "connect", refuse)
    return connections, made


async def test_broken_connections_say_goodbye_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that is gone without a word answers none of them: one after the other, each would
    hold up the error for a second."""
    all_but_the_first = asyncio.Barrier(COUNT - 1)
    alone: list[None] = [None]

    async def farewell() -> None:
        if alone:
            alone.pop()  # the one that was in use is closed first
            return
        await all_but_the_first.wait()
        raise TimeoutError

    connections, made = await idle(monkeypatch, farewell)
    async with asyncio.timeout(5):
        with pytest.raises(ConnectionRefusedError):
            await connections.fetch(text("SELECT 1"), {})

    assert [each.terminated for each in made].count(True) == COUNT - 1


async def test_one_that_cannot_be_closed_keeps_no_other_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise RuntimeError("it cannot be closed")

    async def farewell() -> None:
        fail()

    connections, made = await idle(monkeypatch, farewell)
    with pytest.raises(RuntimeError):
        await connections.close()

    assert [each.terminated for each in made] == [True] * COUNT
