"""What tests of schedules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskq import TaskQ
from taskq.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def taskq(clock: ManualClock) -> Iterator[TaskQ]:
    """An app in memory."""
    app = TaskQ("memory://", clock=clock)
    yield app
    app.close()
