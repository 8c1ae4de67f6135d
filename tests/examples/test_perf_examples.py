"""The stress of suspension, in small: how it ends, and what it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import forked
from tests.postgres_databases import Databases

STRESS = Path(__file__).parents[2] / "examples" / "perf" / "suspend_stress.py"
DRAINED, STALLED, TOO_SLOW = 0, 2, 3


def run(folder: Path, **knobs: str) -> tuple[int, str]:
    """Its exit status and what it printed."""
    answer = forked.run(
        ["-W", "error", str(STRESS)],
        cwd=folder,
        env=os.environ | {"WORK_MS": "5", "ROOTS": "6", "STALL_SEC": "10"} | knobs,
    )
    assert "Traceback" not in answer.stderr, answer.stderr
    return answer.returncode, answer.stdout


@pytest.mark.parametrize(("url", "reserved"), [("", "0"), ("memory://", "1")])
def test_with_suspension_more_parents_than_slots_drain(
    tmp_path: Path, url: str, reserved: str
) -> None:
    """seed:E12, seed:E13, seed:S7"""
    status, printed = run(
        tmp_path, SUSPEND="1", WORKERS="2", LEAVES_RESERVED=reserved, DATABASE_URL=url
    )

    assert status == DRAINED
    assert "leaves 30 of 30, dead letters +0" in printed
    assert f"SUSPEND 1\nLEAVES_RESERVED {reserved}\nFANOUT 2\n" in printed


def test_on_postgres_it_counts_the_transactions(databases: Databases, tmp_path: Path) -> None:
    url = databases.shared()
    status, printed = run(tmp_path, SUSPEND="1", WORKERS="2", DATABASE_URL=url)

    assert status == DRAINED
    counted = int(printed.rpartition("transactions ")[2])
    assert 48 / 2 < counted < 48 * 5


def test_without_suspension_they_stand_still_and_that_is_said(tmp_path: Path) -> None:
    status, printed = run(tmp_path, WORKERS="2")

    assert status == STALLED
    assert "deadlock: all 2 slots are held by handlers of root" in printed
    assert "leaves 0 of 30" in printed


def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    status, printed = run(tmp_path, WORKERS="50", WORK_MS="5000", DRAIN_TIMEOUT_SEC="0.5")

    assert status == TOO_SLOW
    assert "not drained after 0.5 s" in printed
