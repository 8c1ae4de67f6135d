"""A world with one memory store, on the machine's clock."""

from __future__ import annotations

import pytest

from taskq.clock import SystemClock
from tests.engine.world import World


@pytest.fixture
def world() -> World:
    """Real time: for what needs no waiting, and for threads."""
    return World(SystemClock())
