"""What the tests of the rules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.house.sources import forget


@pytest.fixture(scope="package", autouse=True)
def sources() -> Iterator[None]:
    """What was parsed of the package is kept as long as these tests run."""
    yield
    forget()
