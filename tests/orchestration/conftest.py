"""Apps on each kind of store, and how their workers' slots stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taskq import TaskQ
from taskq.worker import Worker
from tests.engine.world import until
from tests.postgres_databases import Databases


@pytest.fixture
def app() -> Iterator[TaskQ]:
    """An app on memory."""
    app = TaskQ("memory://", lease=30.0, shutdown_grace=1.0)
    yield app
    app.close()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TaskQ]:
    """An app on each store."""
    options: dict[str, Any] = {"lease": 30.0, "shutdown_grace": 1.0}
    match request.param:
        case "memory":
            app = TaskQ("memory://", **options)
        case "sqlite":
            app = TaskQ(f"sqlite:///{tmp_path}/taskq.db", **options)
        case _:
            databases: Databases = request.getfixturevalue("databases")
            app = TaskQ(databases.fresh(), **options)
    yield app
    app.close()


async def permits_are_whole(worker: Worker) -> None:
    """Every slot and every thread is free, and nothing is suspended (done when: 2)."""
    parts = worker._engine._parts
    assert parts is not None
    threads = parts.slots._runner._seating.threads

    def whole() -> bool:
        health = worker.health()
        return (health.slots_used, health.suspended, threads.used) == (0, 0, 0)

    await until(whole)
