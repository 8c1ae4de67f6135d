"""Fixtures that every test may use."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# The suite must not fail by chance or on a slow machine: the same examples each time, no deadline.
# --hypothesis-profile=explore draws new ones.
settings.register_profile(
    "suite", derandomize=True, deadline=None, suppress_health_check=[*HealthCheck]
)
settings.register_profile("explore", deadline=None, suppress_health_check=[*HealthCheck])
settings.load_profile("suite")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Async tests run on both event loops."""
    return str(request.param)
