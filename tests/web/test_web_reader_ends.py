"""No connection of the console's reader is left unclosed, whoever ends first."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from taskq import TaskQ
from taskq.backends.sql.postgres import connections, driver, facade
from taskq.backends.sql.postgres.address import address_of
from taskq.backends.sql.postgres.facade import Facade
from taskq.bridge import ResidentBridge
from taskq.web import Console, ConsoleOptions
from taskq.web.reading import Kept
from tests.web.listening import until


class Opened:
    """The connections that facades have opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all: list[Any] = []
        self.hold: anyio.Event | None = None
        self._connect = connections.connect
        monkeypatch.setattr(facade, "connect", self._counted)

    async def _counted(self, address: Any) -> Any:
        made = await self._connect(address)
        self.all.append(made)
        if self.hold is not None:
            await self.hold.wait()
        return made

    @property
    def closed(self) -> list[bool]:
        return [each.is_closed() for each in self.all]


class SlowReader:
    """Is opened when the test lets it, and answers at once."""

    def __init__(self) -> None:
        self.may_open = anyio.Event()
        self.did: list[str] = []

    async def open(self) -> None:
        self.did.append("opening")
        await self.may_open.wait()
        self.did.append("open")

    async def close(self) -> None:
        self.did.append("closed")

    def after_fork(self) -> None: ...

    async def stats(self) -> None:
        self.did.append("asked")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    return Opened(monkeypatch)


async def test_an_app_that_is_closed_closes_the_readers_of_its_consoles(
    postgres_url: str, opened: Opened
) -> None:
    """They live on the app's own event loop, which ends then. seed:O4"""
    async with TaskQ(postgres_url) as app:
        console = Console(app, ConsoleOptions())
        await console.ask(console.reader.stats)
        assert opened.closed == [False]
    assert opened.closed == [True]


async def test_two_who_ask_first_open_the_reader_once() -> None:
    reader: Any = SlowReader()
    kept = Kept(reader)
    async with anyio.create_task_group() as group:
        group.start_soon(kept.ask, reader.stats, ())
        group.start_soon(kept.ask, reader.stats, ())
        await until(lambda: reader.did)
        reader.may_open.set()
    assert reader.did == ["opening", "open", "asked", "asked"]


async def test_a_reader_that_is_being_opened_is_closed_after_that() -> None:
    reader: Any = SlowReader()
    kept = Kept(reader)
    async with anyio.create_task_group() as group:
        group.start_soon(kept.ask, reader.stats, ())
        await until(lambda: reader.did)
        assert kept.is_open
        group.start_soon(kept.close)
        await anyio.wait_all_tasks_blocked()
        assert reader.did == ["opening"]
        reader.may_open.set()
    assert reader.did[:2] == ["opening", "open"]
    assert "closed" in reader.did
    assert not kept.is_open


def test_what_is_read_while_its_store_is_closed_closes_its_connection(
    postgres_url: str, opened: Opened
) -> None:
    """Given back to the pool that was left, nobody would close it."""
    bridge = ResidentBridge()
    reads = Facade(address_of(postgres_url), schema=None, lock_timeout="1s")

    async def both() -> None:
        opened.hold = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(reads.read, lambda connection, now: now)
            await until(lambda: opened.all)
            await reads.close()
            assert opened.closed == [False]
            opened.hold.set()

    bridge.call_sync(both)
    assert opened.closed == [True]
    bridge.close()


def test_a_connect_that_fails_at_its_last_step_leaves_nothing_open(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def fail(connected: Any) -> None:
        made.append(connected)
        raise OSError("the network has gone")

    monkeypatch.setattr(driver, "_keep_alive", fail)
    bridge = ResidentBridge()
    address = address_of(postgres_url)

    async def attempt() -> None:
        with pytest.raises(OSError, match="has gone"):
            await connections.connect(address)

    bridge.call_sync(attempt)
    assert made[0].fileno() == -1
    bridge.close()
