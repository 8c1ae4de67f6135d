"""What the bridge's tests share."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator

import anyio
import pytest

from taskq.bridge import ResidentBridge

Until = Callable[[Callable[[], bool]], Awaitable[None]]


@pytest.fixture
def bridge() -> Iterator[ResidentBridge]:
    """A resident bridge that is closed afterwards."""
    bridge = ResidentBridge()
    yield bridge
    bridge.close(grace=0)


@pytest.fixture
def until() -> Until:
    """Wait until a condition holds, on any loop; fails after 10 s."""

    async def until(condition: Callable[[], bool]) -> None:
        last = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < last, "the condition did not come true within 10 s"
            await anyio.sleep(0.001)

    return until


@pytest.fixture
def until_sync() -> Callable[[Callable[[], bool]], None]:
    """The same in a thread."""

    def until(condition: Callable[[], bool]) -> None:
        last = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < last, "the condition did not come true within 10 s"
            time.sleep(0.001)

    return until
