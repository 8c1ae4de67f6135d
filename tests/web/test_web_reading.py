"""The console reads through a reader of its own, opened when first asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskq import TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.backends.sql.sqlite.reader import SQLiteReader
from taskq.errors import BackendUnavailable
from taskq.model import Status
from taskq.snapshot import Filter
from taskq.web import Console, ConsoleOptions
from tests.faulty import FaultyBackend


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def console_of(app: TaskQ) -> Console:
    return Console(app, ConsoleOptions())


async def test_it_has_a_reader_of_its_own_where_the_store_gives_one(tmp_path: Path) -> None:
    async with TaskQ(f"sqlite:///{tmp_path / 'taskq.db'}") as app:

        @app.activity
        def work() -> None: ...

        await work.adelay()
        console = console_of(app)

        stats = await console.ask(console.reader.stats)

        assert isinstance(console.reader, SQLiteReader)
        assert stats.by_status[Status.PENDING] == 1
        await console.aclose()
        assert (await console.ask(console.reader.count, Filter())).number == 1
        await console.aclose()


async def test_to_look_makes_no_database(tmp_path: Path) -> None:
    """promise:G17, threat:T21"""
    app = TaskQ(f"sqlite:///{tmp_path / 'taskq.db'}")
    console = console_of(app)

    with pytest.raises(BackendUnavailable, match="there is no file"):
        await console.ask(console.reader.stats)

    assert files(tmp_path) == []
    assert not app.client.is_open
    await app.aclose()


async def test_other_stores_are_read_through_themselves() -> None:
    store = FaultyBackend(MemoryBackend())
    async with TaskQ(backend=store) as app:
        console = console_of(app)

        await console.ask(console.reader.stats)

        assert console.reader is store
        assert store.calls["stats"] == 1
        await console.aclose()


async def test_nothing_is_opened_before_somebody_asks(tmp_path: Path) -> None:
    app = TaskQ(f"sqlite:///{tmp_path / 'taskq.db'}")

    console = console_of(app)
    await console.aclose()

    assert files(tmp_path) == []
    await app.aclose()
