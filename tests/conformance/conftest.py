"""Which event loop a test of the contract runs on.

Both for the memory store, which is called where the test is. The SQL stores run on the storage
loop whoever asks: there each test has one of the two, on SQLite the one that it has not on
PostgreSQL.
"""

from __future__ import annotations

from zlib import crc32

import pytest

from tests.loops import leave_out

FIRST = {"test_sqlite.py": 0, "test_postgres.py": 1}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other loop."""
    leave_out(config, items, _turn)


def _turn(item: pytest.Function) -> int | None:
    if item.path.parent.name != "conformance" or item.path.name not in FIRST:
        return None
    return crc32(item.originalname.encode()) + FIRST[item.path.name]
