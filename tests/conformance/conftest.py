"""Which event loop a test of the contract runs on.

Both for the memory store, which is called where the test is. The SQL stores run on the storage
loop whoever asks: there each test has one of the two, on SQLite the one that it has not on
PostgreSQL. With TASKQ_TEST_EVERY_LOOP each has both.
"""

from __future__ import annotations

import os
from zlib import crc32

import pytest

LOOPS = ("asyncio", "trio")
FIRST = {"test_sqlite.py": 0, "test_postgres.py": 1}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other loop."""
    if os.environ.get("TASKQ_TEST_EVERY_LOOP"):
        return
    out = [item for item in items if isinstance(item, pytest.Function) and not _kept(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        left_out = set(out)
        items[:] = [item for item in items if item not in left_out]


def _kept(item: pytest.Function) -> bool:
    callspec = getattr(item, "callspec", None)
    loop = None if callspec is None else callspec.params.get("anyio_backend")
    if item.path.parent.name != "conformance" or item.path.name not in FIRST or loop is None:
        return True
    turn = crc32(item.originalname.encode()) + FIRST[item.path.name]
    return bool(loop == LOOPS[turn % 2])
