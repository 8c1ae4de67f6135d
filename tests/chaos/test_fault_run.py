"""A fault run in its short form; ``./scripts/chaos`` runs it for long."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.run import fault_run
from tests.chaos.site import SITES
from tests.postgres_server import NoServer

pytestmark = pytest.mark.chaos

ALWAYS_ASKED = ("G2", "G10")
"""The promises of which every question has something to look at: each client begins with it."""


def run(folder: Path, kind: str, *, seed: int, seconds: float) -> Counter[str]:
    """Some seconds of harm to workers on both event loops, under one load; what was done. For each
    promise there was something to ask about."""
    try:
        with SITES[kind](folder) as site:
            outcome = fault_run(
                folder,
                site,
                seconds=seconds,
                seed=seed,
                loops=("asyncio", "trio"),
                rate=40,
                patience=40,
            )
    except NoServer as reason:
        pytest.skip(str(reason))
    assert outcome.sound, str(outcome)
    unasked = [finding.question for finding in outcome.findings if not finding.checked]
    asked = {finding.question.promise for finding in outcome.findings if finding.checked}
    assert asked == {finding.question.promise for finding in outcome.findings}, str(outcome)
    assert not [each for each in unasked if each.promise in ALWAYS_ASKED], str(outcome)
    return outcome.deeds


def test_every_promise_holds_under_random_harm_on_sqlite(tmp_path: Path) -> None:
    """promise:G1, promise:G2, promise:G3, promise:G4, promise:G5, promise:G6, promise:G7,
    promise:G8, promise:G9, promise:G10, promise:G14, promise:G15, promise:G16"""
    assert run(tmp_path, "sqlite", seed=7, seconds=6).total() > 0


def test_every_promise_holds_under_random_harm_on_postgresql(tmp_path: Path) -> None:
    """promise:G1, promise:G2, promise:G3, promise:G4, promise:G5, promise:G6, promise:G7,
    promise:G8, promise:G9, promise:G10, promise:G14, promise:G15, promise:G16: its server is
    restarted too, and connections are cut."""
    deeds = run(tmp_path, "postgres", seed=3, seconds=8)

    assert deeds["database restarted"] > 0
    assert deeds["sessions ended"] + deeds["connections cut"] > 0
    assert any(deeds[name] for name in deeds if name.endswith(" lost"))
