"""What fault tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.arena import Arena
from tests.chaos.audit import audit, report


@pytest.fixture(params=["asyncio", "trio"])
def loop(request: pytest.FixtureRequest) -> str:
    """The event loop of a worker."""
    return str(request.param)


@pytest.fixture
def arenas(tmp_path: Path) -> Iterator[Callable[..., Arena]]:
    """Make an arena with other settings than the usual ones. At the end its processes are killed
    and what is left is audited, save that not all need have ended."""
    made: list[Arena] = []

    def make(**settings: float) -> Arena:
        folder = tmp_path / f"arena-{len(made)}"
        folder.mkdir()
        made.append(Arena(folder, **settings))
        return made[-1]

    yield make
    for arena in made:
        arena.close()
    for arena in made:
        findings = audit(arena.folder, drained=False)
        assert not any(finding.violations for finding in findings), report(findings)


@pytest.fixture
def arena(arenas: Callable[..., Arena]) -> Arena:
    """An arena with short leases."""
    return arenas()
