"""The SQLite backend keeps the contract."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from taskq.backends import Store
from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.testing import ManualClock
from taskq.testing.conformance import BackendConformance


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database, set up once and copied for each test."""
    path = tmp_path_factory.mktemp("template") / "taskq.db"
    bridge = ResidentBridge()
    backend = SQLiteBackend(path)
    bridge.call_sync(backend.open)
    bridge.call_sync(backend.close)
    bridge.close()
    return path


class TestSQLite(BackendConformance):
    """On asyncio and trio."""

    @pytest.fixture
    def backend(self, clock: ManualClock, template: Path, tmp_path: Path) -> Store:
        """A fresh one."""
        shutil.copy(template, tmp_path / "taskq.db")
        return SQLiteBackend(tmp_path / "taskq.db", clock=clock)

    @pytest.fixture
    def second(self, clock: ManualClock, backend: Store) -> Store:
        """Another one on the same file."""
        return SQLiteBackend(backend.location, clock=clock)
