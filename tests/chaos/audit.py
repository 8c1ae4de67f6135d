"""The audit after faults: each promise as questions in plain SQL, whose answers are violations.

Three witnesses are put side by side, in an SQLite database in memory whatever was audited: the rows
of that database (``stored_activity``, ``stored_event``), the effects log that handlers wrote
(``effects.jsonl``), and what clients and the nemesis wrote before and after each of their deeds
(``clients-*.jsonl``). All have the host's clock, in microseconds.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.database import Database, Row

SLACK = 2_000_000
"""Microseconds that a busy machine may take beyond what is promised of a process's end."""
MARGIN = 3_000_000
"""Microseconds beyond the grace in which a stopped worker has ended."""
OVERLAP = 500_000
"""Microseconds by which a transaction may be older than one that it had to wait for: the lock
timeout of fault runs. What it writes has its own time, from when it began."""
SHOWN = 5
"""Violations of one question that a report shows."""

WITNESSES = {
    "effect": ("at", "what", "pid", "worker", "id", "claim", "type"),
    "intent": ("at", "id", "idempotency", "run_at"),
    "stored": ("at", "id", "answer"),
    "ordered": ("at", "id"),
    "committing": ("at", "id"),
    "withdrawn": ("at", "id"),
    "cancelled": ("at", "id", "before"),
    "seen": ("at", "id", "status", "result"),
    "stopped": ("at", "pid", "grace"),
    "exited": ("at", "pid", "code"),
    "died": ("at", "pid", "code"),
    "harmed": ("at", "pid"),
}
"""The tables made of the logs. In those of clients ``what`` is the table's name."""

STORED = {
    "stored_activity": (
        "taskq_activities",
        (
            *("id", "parent_id", "queue", "type", "status", "claim", "result", "error"),
            *("error_kind", "policy", "idempotency_key", "retry_count", "crash_count"),
            *("max_retries", "max_crashes", "lease_until", "created_at", "ready_at"),
            *("started_at", "finished_at"),
        ),
    ),
    "stored_event": (
        "taskq_events",
        ("id", "activity_id", "at", "kind", "claim", "worker", "detail"),
    ),
    "stored_key": ("taskq_keys", ("hash", "activity_id")),
}
"""The tables made of the database: of which of its tables, and which columns."""

ORDERS = ("stored_order", "orders", ("id",))
"""The same of the clients' own table, where they have one."""

TABLES = """
CREATE TEMP TABLE activity AS
    SELECT *, parent_id AS parent,
           status IN ('completed', 'failed', 'dead_letter', 'cancelled') AS ended,
           json_array_length(policy, '$.hooks') AS hooks
    FROM stored_activity;
CREATE TEMP TABLE event AS
    SELECT id AS place, activity_id AS id, at, kind, claim, worker,
           json_extract(detail, '$.delay') AS delay
    FROM stored_event;
CREATE TEMP TABLE run AS
    SELECT rowid AS place, at, id, claim, worker, type FROM effect WHERE what = 'start';
CREATE INDEX temp.activity_by_id ON activity (id);
CREATE INDEX temp.activity_by_parent ON activity (parent);
CREATE INDEX temp.event_by_id ON event (id, claim);
CREATE INDEX temp.run_by_id ON run (id, claim);
CREATE INDEX temp.effect_by_id ON effect (id, claim);
CREATE INDEX temp.intent_by_id ON intent (id);
CREATE TEMP VIEW "order" AS
    SELECT ordered.id, withdrawn.at AS withdrawn_at, committing.at AS committing_at,
           ordered.id IN (SELECT id FROM stored_order) AS placed,
           ordered.id IN (SELECT id FROM activity) AS called
    FROM ordered LEFT JOIN withdrawn USING (id) LEFT JOIN committing USING (id);
CREATE TEMP VIEW history AS
    SELECT id, status, retry_count, crash_count,
           (SELECT count(*) FROM event WHERE event.id = activity.id
                AND kind IN ('failed', 'timed_out')) AS failures,
           (SELECT count(*) FROM event WHERE event.id = activity.id AND kind = 'crashed')
               + (status = 'dead_letter' AND error_kind = 'crashed') AS crashes,
           (SELECT count(*) FROM event WHERE event.id = activity.id
                AND kind IN ('interrupted', 'handed_back')) AS stops
    FROM activity
    WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.id = activity.id AND kind = 'retried');
CREATE TEMP TABLE process AS
    SELECT DISTINCT worker, pid FROM effect WHERE worker IS NOT NULL;
CREATE INDEX temp.process_by_worker ON process (worker);
CREATE TEMP VIEW fallen AS
    SELECT pid FROM harmed UNION SELECT pid FROM effect WHERE what = 'start' AND type = 'kill';
CREATE TEMP VIEW failure AS
    SELECT event.*, min(1.0, 0.2 * (1 << (
               SELECT count(*) FROM event AS earlier WHERE earlier.id = event.id
               AND earlier.kind = 'failed' AND earlier.place < event.place))) AS formula
    FROM event WHERE kind = 'failed'
        AND NOT EXISTS (SELECT 1 FROM event AS again WHERE again.id = event.id
                        AND again.kind = 'retried');
CREATE TEMP VIEW undelayed AS
    SELECT activity.* FROM activity LEFT JOIN intent USING (id)
    WHERE intent.run_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM event WHERE event.id = activity.id
        AND kind NOT IN ('crashed', 'interrupted', 'handed_back'));
CREATE TEMP VIEW hooked AS
    SELECT id, status,
           (SELECT count(*) FROM activity AS child WHERE child.parent = activity.id
                AND instr(child.type, ':on_') > 0) AS made
    FROM activity WHERE hooks = 1;
CREATE TEMP VIEW key_answer AS
    SELECT idempotency, count(DISTINCT answer) AS answers, group_concat(DISTINCT answer) AS ids
    FROM stored JOIN intent USING (id) WHERE idempotency IS NOT NULL GROUP BY idempotency;
CREATE TEMP VIEW key_row AS
    SELECT queue, type, idempotency_key, count(*) AS rows FROM activity
    WHERE idempotency_key IS NOT NULL GROUP BY queue, type, idempotency_key;
CREATE TEMP VIEW claimed_run AS
    SELECT id, claim, count(*) AS runs FROM run GROUP BY id, claim;
CREATE TEMP VIEW ending AS
    SELECT stopped.pid, stopped.grace, code, exited.at - stopped.at AS took
    FROM stopped LEFT JOIN exited USING (pid);
"""


@dataclass(frozen=True)
class Question:
    """Of the rows of ``of`` where ``where`` holds, those that are ``wrong`` are violations.

    ``drained``: it makes sense only when everything was to end.
    """

    promise: str
    says: str
    of: str
    wrong: str
    where: str = "TRUE"
    drained: bool = False


@dataclass(frozen=True)
class Finding:
    """The answer: how many rows were looked at, and those that were wrong."""

    question: Question
    checked: int
    violations: Sequence[dict[str, Any]]


QUESTIONS = (
    Question(
        "G1",
        "what a client was told is stored has its row",
        of="stored",
        wrong="answer NOT IN (SELECT id FROM activity)",
    ),
    Question(
        "G1",
        "there is no row that nobody meant to store",
        of="activity",
        where="parent IS NULL AND EXISTS (SELECT 1 FROM intent)",
        wrong="id NOT IN (SELECT id FROM intent)",
    ),
    Question(
        "G2",
        "an order that was committed has its activity",
        of='"order"',
        where="placed",
        wrong="NOT called",
    ),
    Question(
        "G2",
        "an order that was not committed has none",
        of='"order"',
        where="NOT placed",
        wrong="called",
    ),
    Question(
        "G2",
        "what was rolled back has left nothing",
        of='"order"',
        where="withdrawn_at IS NOT NULL",
        wrong="placed OR called",
    ),
    Question(
        "G2",
        "no worker runs an order before its commit",
        of='"order" JOIN run USING (id)',
        wrong="committing_at IS NULL OR run.at < committing_at",
    ),
    Question(
        "G3",
        "every client of one key is told one id",
        of="key_answer",
        wrong="answers > 1",
    ),
    Question("G3", "one key has one row", of="key_row", wrong="rows > 1"),
    Question(
        "G3",
        "a key points at an activity that is there",
        of="stored_key",
        wrong="activity_id NOT IN (SELECT id FROM activity)",
    ),
    Question("G4", "everything has ended", of="activity", wrong="NOT ended", drained=True),
    Question(
        "G4",
        "no lease is left where nothing runs",
        of="activity",
        where="status <> 'processing'",
        wrong="lease_until IS NOT NULL",
    ),
    Question(
        "G4",
        "no worker ends but by a signal, whatever its database does",
        of="died",
        wrong="code <> -9",
    ),
    Question(
        "G5",
        "the accepted result is the one of the last claim",
        of="activity",
        where="status = 'completed' AND json_type(result) = 'object' AND type <> 'taskq.bulk'",
        wrong="json_extract(result, '$.claim') <> claim OR NOT EXISTS (SELECT 1 FROM effect"
        " WHERE effect.id = activity.id AND effect.claim = activity.claim AND what = 'end')",
    ),
    Question(
        "G5",
        "an end that a client has seen is still the end",
        of="seen LEFT JOIN activity USING (id)",
        wrong="activity.status IS NOT seen.status"
        " OR (activity.status = 'completed' AND json(activity.result) IS NOT json(seen.result))",
    ),
    Question(
        "G5",
        "nothing happens to what has ended",
        of="activity JOIN event USING (id)",
        where="ended AND kind <> 'retried'",
        wrong=f"event.at > finished_at + {OVERLAP} OR event.claim > activity.claim",
    ),
    Question(
        "G5",
        "a hook is made once where it is called for",
        of="hooked",
        wrong="made > 1 OR (status = 'dead_letter' AND made = 0)"
        " OR (status NOT IN ('failed', 'dead_letter') AND made > 0)",
    ),
    Question("G6", "one claim is run once", of="claimed_run", wrong="runs > 1"),
    Question(
        "G6",
        "a later claim runs only after the earlier one was let go",
        of="run AS earlier JOIN run AS later"
        " ON later.id = earlier.id AND later.claim > earlier.claim",
        wrong="NOT EXISTS (SELECT 1 FROM event WHERE event.id = earlier.id"
        " AND event.claim = earlier.claim AND event.at <= later.at)",
    ),
    Question(
        "G7",
        "nothing runs before its time",
        of="run JOIN intent USING (id)",
        where="run_at IS NOT NULL",
        wrong="run.at < run_at",
    ),
    Question(
        "G7",
        "nothing is claimed before it is ready",
        of="activity",
        where="started_at IS NOT NULL AND status IN ('completed', 'failed', 'dead_letter')",
        wrong="started_at < ready_at",
    ),
    Question(
        "G7",
        "nothing is run again before its delay has passed",
        of="event JOIN run ON run.id = event.id AND run.claim > event.claim",
        where="delay IS NOT NULL",
        wrong="run.at < event.at + CAST(delay * 1000000 AS INTEGER)",
    ),
    Question(
        "G8",
        "nothing exceeds a budget",
        of="activity",
        wrong="retry_count > max_retries OR crash_count > max_crashes",
    ),
    Question(
        "G8",
        "what is given up for its crashes had as many as allowed",
        of="activity",
        where="status = 'dead_letter' AND error_kind = 'crashed'",
        wrong="crash_count <> max_crashes",
    ),
    Question(
        "G8",
        "the counts are what happened",
        of="history",
        wrong="retry_count <> failures OR crash_count <> crashes",
    ),
    Question(
        "G8",
        "a crash is counted only of a worker that was killed or stood still",
        of="event JOIN process USING (worker)",
        where="kind = 'crashed'",
        wrong="pid NOT IN fallen",
    ),
    Question(
        "G9",
        "a retry is delayed as long as the formula says",
        of="failure",
        where="delay IS NOT NULL",
        wrong="abs(delay / formula - 1) > 0.1001",
    ),
    Question(
        "G10",
        "what was cancelled while it waited ends cancelled",
        of="cancelled JOIN activity USING (id)",
        where="before IN ('scheduled', 'pending', 'retrying')",
        wrong="status <> 'cancelled'",
    ),
    Question(
        "G10",
        "nothing is claimed after its cancel was accepted",
        of="cancelled JOIN activity USING (id)",
        where="before IN ('scheduled', 'pending', 'retrying', 'processing')",
        wrong="started_at > cancelled.at",
    ),
    # What is run in a thread is noted there, perhaps a moment after it was started.
    Question(
        "G14",
        "a worker that stops starts nothing",
        of="run JOIN effect AS stop ON stop.worker = run.worker",
        where="stop.what = 'WorkerStopping'"
        " AND run.type NOT LIKE 'thread%' AND instr(run.type, ':on_') = 0",
        wrong="run.place > stop.rowid",
    ),
    Question(
        "G14",
        "what a stop interrupts costs nothing",
        of="history",
        where="stops > 0",
        wrong="retry_count > failures OR crash_count > crashes",
    ),
    Question(
        "G14",
        "a stopped worker ends by itself, in time",
        of="ending",
        where="pid NOT IN (SELECT pid FROM effect WHERE what = 'start' AND type = 'kill')",
        wrong=f"code IS NULL OR code NOT IN (0, 1) OR took > grace + {MARGIN} + {SLACK}",
    ),
    Question(
        "G15",
        "what comes back from a worker keeps its place",
        of="undelayed",
        wrong="ready_at <> created_at",
    ),
    Question(
        "G16",
        "an end can be read: its result, or its error",
        of="activity",
        where="ended",
        wrong="finished_at IS NULL OR (status = 'completed') <> (error IS NULL)"
        " OR (status = 'completed' AND result IS NULL)",
    ),
)


def audit(folder: Path, database: Database, *, drained: bool = True) -> list[Finding]:
    """Ask everything. Not ``drained``, activities may still be on their way."""
    connection = sqlite3.connect(":memory:")
    try:
        _load_logs(connection, folder)
        _load_stored(connection, database)
        connection.executescript(TABLES)
        return [
            _answered(connection, question)
            for question in QUESTIONS
            if drained or not question.drained
        ]
    finally:
        connection.close()


def report(findings: Sequence[Finding]) -> str:
    """A table, and below it what was wrong."""
    lines = [f"{'promise':<8} {'checked':>8} {'violations':>10}  says"]
    for finding in findings:
        question = finding.question
        lines.append(
            f"{question.promise:<8} {finding.checked:>8} {len(finding.violations):>10}"
            f"  {question.says}"
        )
    for finding in findings:
        for violation in finding.violations[:SHOWN]:
            lines.append(f"{finding.question.promise} ({finding.question.says}): {violation}")
    return "\n".join(lines)


def _answered(connection: sqlite3.Connection, question: Question) -> Finding:
    asked = f"FROM {question.of} WHERE ({question.where})"
    [checked] = connection.execute(f"SELECT count(*) {asked}").fetchone()
    cursor = connection.execute(f"SELECT * {asked} AND ({question.wrong})")
    names = [column[0] for column in cursor.description]
    violations = [dict(zip(names, row, strict=True)) for row in cursor]
    return Finding(question, checked, violations)


def _load_stored(connection: sqlite3.Connection, database: Database) -> None:
    for table, (source, columns) in STORED.items():
        _copy(connection, table, columns, database.query(_select(source, columns)))
    table, source, columns = ORDERS
    [ordered] = connection.execute("SELECT EXISTS (SELECT 1 FROM ordered)").fetchone()
    _copy(connection, table, columns, database.query(_select(source, columns)) if ordered else [])


def _select(source: str, columns: Sequence[str]) -> str:
    return f"SELECT {', '.join(columns)} FROM {source}"


def _copy(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Row]
) -> None:
    connection.execute(f"CREATE TEMP TABLE {table} ({', '.join(columns)})")
    for row in rows:
        _insert(connection, table, columns, row)


def _load_logs(connection: sqlite3.Connection, folder: Path) -> None:
    for table, columns in WITNESSES.items():
        connection.execute(f"CREATE TEMP TABLE {table} ({', '.join(columns)})")
    for line in _lines(folder / "effects.jsonl"):
        _insert(connection, "effect", WITNESSES["effect"], line)
    for log in sorted(folder.glob("clients-*.jsonl")):
        for line in _lines(log):
            if (table := str(line["what"])) in WITNESSES:
                _insert(connection, table, WITNESSES[table], line)


def _insert(
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    line: Mapping[str, Any],
) -> None:
    marks = ", ".join("?" for _ in columns)
    connection.execute(
        f"INSERT INTO {table} VALUES ({marks})", [line.get(column) for column in columns]
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log; the last one may be torn where its writer was killed."""
    if path.exists():
        for line in path.read_bytes().splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue
