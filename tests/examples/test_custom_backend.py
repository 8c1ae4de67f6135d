"""The example's backend keeps the contract, and is found by its URL."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from taskq import TaskQ
from taskq.backends import Store
from taskq.lifecycle import Succeeded
from taskq.testing import ManualClock
from taskq.testing.conformance import Fixtures, Harness
from taskq.testing.conformance.fences import FenceTests
from taskq.testing.conformance.keys import KeyTests
from taskq.testing.conformance.samples import call
from taskq.testing.conformance.settle import SettleTests
from taskq.testing.conformance.submit import SubmitTests

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example's module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "custom_backend", raising=False)
    return importlib.import_module("custom_backend")


class TestJournal(SubmitTests, KeyTests, SettleTests, FenceTests, Fixtures):
    """seed:B15: the parts of the contract that its two methods touch, on asyncio and trio.

    The whole of it is ``BackendConformance``; the rest is the memory backend's own.
    """

    @pytest.fixture
    def backend(self, example: ModuleType, clock: ManualClock, tmp_path: Path) -> Store:
        """A fresh one."""
        make: Callable[..., Store] = example.JournalBackend
        return make(tmp_path / "calls.jsonl", clock)

    async def test_what_was_refused_is_not_written_down(
        self, harness: Harness, tmp_path: Path
    ) -> None:
        attempt = await harness.running(call("send", payload='{"to":"ada"}'))
        await harness.end(attempt, Succeeded("1"))
        await harness.end(attempt, Succeeded("2"))

        lines = (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line) for line in lines] == [
            {"stored": "send", "arguments": {"to": "ada"}},
            {"settled": "completed"},
        ]


def test_an_entry_point_serves_its_scheme(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """seed:B4, seed:B15"""
    installed = tmp_path / "journal-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: journal\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[taskq.backends]\njournal = custom_backend:open_journal\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    store = TaskQ("journal:///calls.jsonl").client.store

    assert isinstance(store, example.JournalBackend)
