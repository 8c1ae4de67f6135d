"""A store whose every text column of every table holds markup that must stay text."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from taskq import TaskQ
from tests.browser.scene import Scene, served
from tests.browser.workload import TOKENS, Ids
from tests.web.played import played

MARKUP = '"><img src=x onerror=alert(1)></script><script>alert(1)</script>{{7*7}}'
"""What a browser would obey."""
CANARY = (
    f"{MARKUP}"
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{ZERO WIDTH SPACE}\N{RIGHT-TO-LEFT ISOLATE}\N{ZERO WIDTH JOINER}"
)
VISIBLE = "<img src=x onerror=alert(1)>"
"""The part of it that a reader of the page sees as it is."""
CAUSE = "c0ffeec0ffeec0ff"
"""What the infested dead letter failed of."""

JSON = json.dumps({"note": CANARY, CANARY: [CANARY, {CANARY: CANARY}]}, ensure_ascii=False)
LIST = json.dumps([CANARY, "default"], ensure_ascii=False)
TAGS = json.dumps({"region": CANARY, CANARY: CANARY}, ensure_ascii=False)
ERROR = json.dumps({"type": CANARY, "message": CANARY, "traceback": CANARY}, ensure_ascii=False)
PROGRESS = json.dumps(
    {"done": 1, "total": 4, "note": CANARY, "at": "2030-01-01T00:00:00Z"}, ensure_ascii=False
)

HELD: dict[str, dict[str, str | None]] = {
    "taskq_activities": {
        **dict.fromkeys(("queue", "type", "source", "correlation_id", "user_id"), CANARY),
        **dict.fromkeys(("idempotency_key", "step", "fingerprint", "error_kind"), CANARY),
        **dict.fromkeys(("payload", "result", "metadata", "policy"), JSON),
        "tags": TAGS,
        "error": ERROR,
        "progress": PROGRESS,
    },
    "taskq_events": {"kind": CANARY, "detail": JSON},
    "taskq_workers": {
        **dict.fromkeys(("name", "host", "version", "async_backend", "state"), CANARY),
        **dict.fromkeys(("queues", "types"), LIST),
        "detail": JSON,
    },
    "taskq_rollup": dict.fromkeys(("queue", "type", "outcome"), CANARY),
    "taskq_queues": dict.fromkeys(("name", "paused_by", "reason"), CANARY),
    "taskq_schedules": {
        **dict.fromkeys(("name", "queue", "type", "timezone", "cron", "digest"), CANARY),
        **dict.fromkeys(("payload", "options"), JSON),
        "every_ms": None,
    },
    "taskq_audit": {
        **dict.fromkeys(("actor", "action", "reason", "target"), CANARY),
        "detail": JSON,
    },
    "taskq_keys": {"queue": CANARY, "type": CANARY},
}
"""What columns are made to hold, in one row of each kind."""

CLOSED = {
    "taskq_activities": {"status"},
    "taskq_rollup": {"waits", "runs"},
    "taskq_queues": {"kind"},
    "taskq_schedules": {"catch_up", "overlap"},
}
"""Columns whose words the tables themselves check, or by which rows are found; or of numbers."""


REACHED = (
    ("dead_letter", "fingerprint", CAUSE),
    ("pending", "type", "send"),
    ("scheduled", "queue", "reports"),
)
"""By state, what one of them has in common with what can be asked for: no page is about a type, a
queue or a cause whose name is markup."""


@contextmanager
def infested(folder: Path) -> Iterator[Scene]:
    """The console of such a store, in a file in this folder."""
    path = folder / "canaries.db"
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    app = TaskQ(f"sqlite:///{path}", web_tokens=accounts)

    async def fill(app: TaskQ) -> Ids:
        stage = await played(app, CANARY)
        with closing(sqlite3.connect(path)) as connection:
            _infest(connection)
            connection.commit()
        return stage.ids

    with served(app, fill=fill) as scene:
        yield scene


def spared(path: Path) -> list[str]:
    """Text columns in which no row holds the canary, but those that are closed."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            f"{table}.{column}"
            for table, column in _text_columns(connection)
            if column not in CLOSED.get(table, ())
            and not any(
                VISIBLE in str(value) for (value,) in connection.execute(
                    f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"
                )
            )
        ]  # fmt: skip


def _infest(connection: sqlite3.Connection) -> None:
    """Change the rows that are there, one of each state; the rest stay to be compared with."""
    for table, values in HELD.items():
        sets = ", ".join(f"{column} = ?" for column in values)
        where = {
            "taskq_activities": "id IN (SELECT min(id) FROM taskq_activities GROUP BY status)",
            "taskq_rollup": "span = 60",
            "taskq_schedules": "name = 'often'",
            "taskq_queues": "kind = 'type'",
            "taskq_audit": "id = (SELECT max(id) FROM taskq_audit)",
        }.get(table, "true")
        connection.execute(f"UPDATE {table} SET {sets} WHERE {where}", [*values.values()])
    for status, column, value in REACHED:
        connection.execute(
            f"UPDATE taskq_activities SET {column} = ? WHERE id ="
            " (SELECT min(id) FROM taskq_activities WHERE status = ?)",
            (value, status),
        )
    hash, id = b"\0" * 32, b"\0" * 16
    connection.execute(
        "INSERT INTO taskq_keys (hash, queue, type, activity_id) VALUES (?, ?, ?, ?)",
        (hash, CANARY, CANARY, id),
    )


def _text_columns(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'taskq_%'"
        " AND name <> 'taskq_alembic_version'"
    ).fetchall()
    for (table,) in tables:
        for row in connection.execute(f"PRAGMA table_info({table})"):
            if row[2] == "TEXT":
                yield table, row[1]
