"""Workers that die while they fire schedules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.database import Database
from tests.chaos.ticks import ticking

pytestmark = pytest.mark.chaos


def test_each_second_is_fired_once_whoever_is_killed(
    tmp_path: Path, make_database: Callable[[Path], Database]
) -> None:
    """promise:G12; ``./scripts/chaos --ticks 60`` is the long form"""
    database = make_database(tmp_path)
    ticks = ticking(tmp_path, database, ticks=6, pause=2.0, kills=2, seed=7, workers=2)

    assert ticks.killed == 2
    assert ticks.wrong(6) == []
