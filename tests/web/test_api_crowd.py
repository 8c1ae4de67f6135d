"""The console over many activities: what it asks the database for, not how long that takes.

The large form is ``./scripts/chaos --console 1000000``.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Engine, event

from taskq import TaskQ
from tests.chaos.console import Measure, asked
from tests.chaos.crowd import Crowd, crowd

NUMBER = 4000
MOST_STATEMENTS = 100
"""For one request."""
CAUSES = ("/api/dead-letters", "/api/attention")
"""On SQLite, where a statement costs no way, a statement for each cause."""

Asked = tuple[str, Any]


@contextmanager
def statements() -> Iterator[list[Asked]]:
    """What is asked of any SQLite database meanwhile, with its parameters."""
    seen: list[Asked] = []

    def see(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        seen.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", see)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", see)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Asked], Counter[str]]:
    """The file, all statements, and how many each request took."""
    path = tmp_path_factory.mktemp("crowd") / "taskq.db"
    url = f"sqlite:///{path}"
    app = TaskQ(url)
    app.stats()  # makes the tables
    app.close()
    found: Crowd = crowd(url, NUMBER)
    took: Counter[str] = Counter()
    with statements() as every:
        before = 0

        def tell(measure: Measure) -> None:
            nonlocal before
            took[measure.name] = (len(every) - before) // 2  # each was asked twice
            before = len(every)

        anyio.run(asked, url, found, 1, tell)
    return path, every, took


def test_each_request_asks_for_little(
    seen: tuple[Path, list[Asked], Counter[str]],
) -> None:
    """threat:T7"""
    _, _, took = seen
    assert len(took) > 80
    many = {name: n for name, n in took.items() if n > MOST_STATEMENTS}
    assert [name for name in many if not name.startswith(CAUSES)] == []


def test_no_statement_reads_all_activities(
    seen: tuple[Path, list[Asked], Counter[str]],
) -> None:
    """threat:T7: each of them is led by an index, or by a window of ids."""
    path, every, _ = seen
    connection = sqlite3.connect(path)
    try:
        for statement, parameters in dict(every).items():
            if "taskq_activities" not in statement:
                continue
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            wrong = [step[3] for step in plan if step[3].strip() == "SCAN taskq_activities"]
            assert not wrong, statement
    finally:
        connection.close()


def test_no_statement_leaves_rows_out_by_an_offset(
    seen: tuple[Path, list[Asked], Counter[str]],
) -> None:
    """Every OFFSET that SQLAlchemy writes for SQLite is 0: pages go on by keyset."""
    _, every, _ = seen
    for statement, parameters in every:
        assert "OFFSET" not in statement.replace("OFFSET ?", ""), statement
        for place in offsets(statement):
            assert parameters[place] == 0, statement


def offsets(statement: str) -> Iterator[int]:
    """Which of the parameters are offsets."""
    parts = statement.split("?")
    for place, part in enumerate(parts[:-1]):
        if part.rstrip().endswith("OFFSET"):
            yield place
