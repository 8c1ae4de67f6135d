"""A fault run in its short form; ``./scripts/chaos`` runs it for long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.database import Database
from tests.chaos.run import fault_run

pytestmark = pytest.mark.chaos


def test_every_promise_holds_under_random_harm(
    tmp_path: Path, make_database: Callable[[Path], Database]
) -> None:
    """promise:G1, promise:G3, promise:G4, promise:G5, promise:G6, promise:G7, promise:G8,
    promise:G10, promise:G14: workers on both event loops, under one load."""
    outcome = fault_run(
        tmp_path,
        make_database(tmp_path),
        seconds=6,
        seed=7,
        loops=("asyncio", "trio"),
        rate=40,
        patience=40,
    )
    assert outcome.sound, str(outcome)
    assert outcome.deeds.total() > 0
