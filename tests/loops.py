"""Which event loop a test runs on that proves no more on both than on one of them.

With TASKQ_TEST_EVERY_LOOP each has both.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import pytest

LOOPS = ("asyncio", "trio")
EVERY_LOOP = "TASKQ_TEST_EVERY_LOOP"

Turn = Callable[[pytest.Function], int | None]
"""Of a test that needs one loop only, a number: even for asyncio, odd for trio."""


def every_loop() -> bool:
    """Whether tests are to run on both, whatever that adds."""
    return bool(os.environ.get(EVERY_LOOP))


def leave_out(config: pytest.Config, items: list[pytest.Item], turn: Turn) -> None:
    """Leave out the other loop of each test that has a turn and was asked for on both."""
    if every_loop():
        return
    copies = Counter(name_of(item) for item in items if isinstance(item, pytest.Function))
    out = {
        item
        for item in items
        if isinstance(item, pytest.Function)
        and copies[name_of(item)] == len(LOOPS)
        and (number := turn(item)) is not None
        and _loop(item) == LOOPS[1 - number % 2]
    }
    if out:
        config.hook.pytest_deselected(items=[item for item in items if item in out])
        items[:] = [item for item in items if item not in out]


def name_of(item: pytest.Function) -> str:
    """The same for a test's copies on both loops."""
    return item.nodeid.replace(_loop(item), "*") if _loop(item) else item.nodeid


def _loop(item: pytest.Function) -> str:
    callspec = getattr(item, "callspec", None)
    loop = None if callspec is None else callspec.params.get("anyio_backend")
    return loop if loop in LOOPS else ""
