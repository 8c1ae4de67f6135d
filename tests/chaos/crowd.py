"""A database as it is after a month of work: as many activities as are asked for, their events, a
day of the rollup, workers, and a record. Written by SQL, the same each time.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from msgspec import Struct

from taskq.fingerprint import fingerprint
from taskq.model import ErrorInfo
from taskq.snapshot import HISTOGRAM_BOUNDS

TYPES = [f"shop.task_{number:02}" for number in range(20)]
QUEUES = ["default", "mail", "reports", "billing", "import"]
MONTH = 30 * 86_400
SHARES = [
    ("completed", 0.90),
    ("cancelled", 0.02),
    ("failed", 0.02),
    ("dead_letter", 0.02),
    ("pending", 0.025),
    ("scheduled", 0.01),
    ("retrying", 0.005),
]
RUNNING = 60
"""Activities that are processing."""
LARGEST_TREE = 1500
AUDITED = 5000
ENDED = {"completed", "cancelled", "failed", "dead_letter"}
COLUMNS = [
    "id",
    "queue",
    "type",
    "status",
    "priority",
    "payload",
    "result",
    "error",
    "error_kind",
    "fingerprint",
    "max_retries",
    "tags",
    "metadata",
    "source",
    "correlation_id",
    "user_id",
    "retry_count",
    "claim",
    "worker",
    "lease_until",
    "parent_id",
    "root_id",
    "origin_id",
    "depth",
    "created_at",
    "ready_at",
    "started_at",
    "finished_at",
]

Values = tuple[object, ...]


class Crowd(Struct, frozen=True):
    """Some of the ids that are there: some that completed, some that are dead letters, the root of
    a large tree and a member of it."""

    completed: list[UUID]
    dead: list[UUID]
    root: UUID
    member: UUID


class Author:
    """Makes up rows. ``now`` is the last instant of them."""

    def __init__(self, number: int, now: datetime) -> None:
        self.number = number
        self.now = now
        self.random = random.Random(7)
        self.workers = [UUID(int=self.random.getrandbits(128), version=4) for _ in range(20)]
        self.completed: list[UUID] = []
        self.dead: list[tuple[UUID, datetime, str]] = []
        self.tree: list[UUID] = []

    def crowd(self) -> Crowd:
        """What was made."""
        dead = [id for id, _, _ in self.dead]
        return Crowd(self.completed[:500], dead[:500], self.tree[0], self.tree[-1])

    def activities(self) -> Iterator[Values]:
        """Oldest first."""
        names = [name for name, _ in SHARES]
        weights = [share for _, share in SHARES]
        recent: list[UUID] = []
        for index in range(self.number):
            at = self.now - timedelta(seconds=MONTH * (1 - index / self.number))
            [status] = self.random.choices(names, weights)
            if status in ("pending", "scheduled", "retrying") and index < self.number * 0.5:
                status = "completed"
            if self.number - index <= RUNNING:
                status = "processing"
            id = self.id(at, index)
            parent = None
            if len(self.tree) < LARGEST_TREE and index * 4 > self.number:
                parent = self.tree[0] if self.tree else None
                self.tree.append(id)
            elif recent and self.random.random() < 0.1:
                parent = self.random.choice(recent)
            else:
                recent = [*recent[-50:], id]
            yield self.activity(id, status, at, parent)

    def activity(self, id: UUID, status: str, at: datetime, parent: UUID | None) -> Values:
        """One row."""
        chance = self.random
        type = chance.choice(TYPES)
        ended = status in ENDED
        ran = ended or status in ("retrying", "processing")
        started = at + timedelta(seconds=chance.expovariate(1)) if ran else None
        finished = None
        if started is not None and ended:
            finished = min(self.now, started + timedelta(seconds=chance.expovariate(0.5)))
        ready = self.now + timedelta(seconds=chance.random() * 86_400) if _waits(status) else at
        error = None
        if status in ("failed", "dead_letter", "retrying"):
            kind = chance.randrange(25)
            message = f"upstream {kind} said no to order {chance.randrange(10**6)}"
            error = ErrorInfo(
                type=f"shop.errors.Error{kind}",
                message=message,
                traceback="Traceback (most recent call last):\n" + "  File x.py, line 3\n" * 20,
            )
        if status == "completed" and len(self.completed) < 500 and chance.random() < 0.01:
            self.completed.append(id)
        if status == "dead_letter":
            self.dead.append((id, finished or at, json.dumps({"error": _plain(error)})))
        tagged = chance.random() < 0.2
        tags = {"region": chance.choice(["eu", "us", "asia"]), "tenant": str(chance.randrange(99))}
        running = status == "processing"
        worker = chance.choice(self.workers) if ran else None
        return (
            id,
            chance.choices(QUEUES, [70, 10, 10, 5, 5])[0],
            type,
            status,
            chance.choices([1, 2, 3, 4], [5, 80, 10, 5])[0],
            json.dumps({"order": chance.randrange(10**6), "note": "n" * _length(chance)}),
            '{"ok":true}' if status == "completed" else None,
            None if error is None else json.dumps(_plain(error)),
            None if error is None else "error",
            None if error is None or status == "retrying" else fingerprint(type, error),
            3,
            json.dumps(tags) if tagged else None,
            '{"trace":"abc"}' if tagged else None,
            "cron" if parent is None and chance.random() < 0.05 else None,
            f"corr-{chance.randrange(10**5)}" if tagged else None,
            f"user-{chance.randrange(1000)}" if tagged else None,
            3 if status == "dead_letter" else int(status == "retrying"),
            int(ran),
            worker,
            self.now + timedelta(hours=1) if running else None,
            parent,
            parent,
            parent,
            int(parent is not None),
            at,
            ready,
            started,
            finished,
        )

    def events(self) -> Iterator[Values]:
        """Three failed attempts of each dead letter."""
        for id, at, detail in self.dead:
            for attempt in (1, 2, 3):
                yield id, at, "failed", attempt, attempt, self.workers[0], detail

    def beats(self) -> Iterator[Values]:
        """Workers, alive for an hour to come."""
        for number, id in enumerate(self.workers):
            yield (
                *(id, f"worker-{number}", f"host-{number % 5}", 4711 + number),
                *(json.dumps(QUEUES), "[]", 10, 3, 0, 0, "running", "1.0", "asyncio"),
                *(self.now - timedelta(days=1), self.now + timedelta(hours=1), 1),
            )

    def rollup(self) -> Iterator[Values]:
        """A day, in both resolutions."""
        for span in (60, 600):
            last = int(self.now.timestamp()) // span * span
            for start in range(last - 86_400, last + span, span):
                at = datetime.fromtimestamp(start, UTC)
                for type in TYPES:
                    for outcome, count in (("completed", span), ("retrying", span // 60)):
                        counts = [count // 4] * 4 + [0] * (len(HISTOGRAM_BOUNDS) - 3)
                        text = json.dumps(counts)
                        yield span, at, "default", type, outcome, count, text, text

    def record(self) -> Iterator[Values]:
        """What operators did."""
        for number in range(min(AUDITED, self.number)):
            at = self.now - timedelta(minutes=number)
            yield at, "console:ada", "retry", "they asked", f"activity {number}", "{}"

    def id(self, at: datetime, index: int) -> UUID:
        """A UUIDv7 of this instant."""
        milliseconds = int(at.timestamp() * 1000)
        low = (index & 0xFFFFFFFF) << 30 | self.random.getrandbits(30)
        return UUID(int=milliseconds << 80 | 0x7 << 76 | 0b10 << 62 | low)


def crowd(url: str, number: int) -> Crowd:
    """Fill the database at ``url``, whose tables are there and empty."""
    author = Author(number, datetime.now(UTC))
    tables = (
        ("taskq_activities", COLUMNS, author.activities()),
        (
            "taskq_events",
            ["activity_id", "at", "kind", "attempt", "claim", "worker", "detail"],
            author.events(),
        ),
        ("taskq_workers", _WORKER.split(), author.beats()),
        (
            "taskq_rollup",
            ["span", "minute", "queue", "type", "outcome", "count", "waits", "runs"],
            author.rollup(),
        ),
        ("taskq_audit", ["at", "actor", "action", "reason", "target", "detail"], author.record()),
    )
    write = _to_file if url.startswith("sqlite") else _to_server
    write(url, tables)
    return author.crowd()


_WORKER = (
    "id name host pid queues types concurrency slots_used suspended threads_stuck state version"
    " async_backend started_at seen_at beat"
)

Tables = Sequence[tuple[str, Sequence[str], Iterator[Values]]]


def _to_server(url: str, tables: Tables) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for table, columns, rows in tables:
            copy = f"COPY {table} ({','.join(columns)}) FROM STDIN"
            with connection.cursor() as cursor, cursor.copy(copy) as target:
                for row in rows:
                    target.write_row(row)
        connection.execute("VACUUM ANALYZE")


def _to_file(url: str, tables: Tables) -> None:
    connection = sqlite3.connect(Path(url.removeprefix("sqlite:///")))
    try:
        for table, columns, rows in tables:
            marks = ",".join("?" * len(columns))
            into = f"INSERT INTO {table} ({','.join(columns)}) VALUES ({marks})"
            connection.executemany(into, (tuple(map(_kept, row)) for row in rows))
            connection.commit()
        connection.execute("ANALYZE")
        connection.commit()
    finally:
        connection.close()


def _kept(value: Any) -> Any:
    """A value as SQLite has it."""
    match value:
        case UUID():
            return value.bytes
        case datetime():
            return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        case _:
            return value


def _waits(status: str) -> bool:
    return status in ("scheduled", "retrying")


def _plain(error: ErrorInfo | None) -> dict[str, str]:
    if error is None:
        return {}
    return {"type": error.type, "message": error.message, "traceback": error.traceback}


def _length(chance: random.Random) -> int:
    """Most arguments are short."""
    return 20_000 if chance.random() < 0.001 else chance.randrange(20, 200)
