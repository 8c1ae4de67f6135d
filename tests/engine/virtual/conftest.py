"""The same world in virtual time: trio's clock jumps whenever everybody waits."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from taskq.testing import LoopClock
from tests.engine.world import World


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, MockClock]]:
    """Trio with a clock that jumps; a fresh one for each test."""
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def world() -> World:
    """The store and the engines follow the event loop's virtual time."""
    return World(LoopClock())
