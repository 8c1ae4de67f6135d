"""Random verbs: the promises hold whatever the order, and every backend answers like memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, settings

from taskq.backends import Store
from taskq.backends.memory import MemoryBackend
from taskq.backends.sql import SQLiteBackend
from taskq.testing import ManualClock
from taskq.testing.conformance.machine import StoreMachine


class SQLiteMachine(StoreMachine):
    """SQLite beside the reference."""

    def make_stores(self, clock: ManualClock) -> Sequence[Store]:
        """Both, on one clock."""
        self.folder = TemporaryDirectory()
        path = Path(self.folder.name) / "taskq.db"
        return [MemoryBackend(clock), SQLiteBackend(path, clock=clock)]

    def teardown(self) -> None:
        """Close both, then remove the file."""
        super().teardown()
        self.folder.cleanup()


TestMemoryMachine = StoreMachine.TestCase
TestMemoryMachine.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)

TestSQLiteMachine = SQLiteMachine.TestCase
TestSQLiteMachine.settings = settings(
    max_examples=3,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking opens thousands of files
)
