"""The fixtures of the suite. A subclass gives the first one, ``backend``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from taskq.backends import Store
from taskq.testing.clock import ManualClock
from taskq.testing.conformance.harness import Harness, bridge_for


class Fixtures:
    """``backend(self, clock) -> Store`` is for the subclass: empty, not yet opened, on ``clock``.

    A shared backend also gives ``second(self, clock, backend) -> Store``: another one on the same
    place. A backend with a clock of its own overrides ``harness`` and ``other``.
    """

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The time of the backends under test."""
        return ManualClock()

    @pytest.fixture
    async def harness(self, backend: Store, clock: ManualClock) -> AsyncIterator[Harness]:
        """The backend, opened."""
        async with opened(Harness(backend, bridge_for(backend), clock)) as harness:
            yield harness

    @pytest.fixture
    def second(self, backend: Store) -> Store:
        """Another backend on the same place."""
        name = type(backend).__name__
        if backend.capabilities.shared:
            pytest.fail(f"the tests of {name}, which is shared, must give the fixture `second`")
        pytest.skip(f"{name} is not shared")

    @pytest.fixture
    async def other(
        self, harness: Harness, second: Store, clock: ManualClock
    ) -> AsyncIterator[Harness]:
        """The second backend, opened after the first."""
        async with opened(Harness(second, bridge_for(second), clock)) as other:
            yield other


@asynccontextmanager
async def opened(harness: Harness) -> AsyncGenerator[Harness]:
    """Open the harness' backend, and close it and its bridge in the end."""
    try:
        await harness.call(harness.backend.open)
        yield harness
    finally:
        await harness.call(harness.backend.close)
        await harness.bridge.aclose()
