"""The audit finds what it asks for: for each question there is a world in which it is violated."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from taskq import TaskQ
from tests.chaos.audit import QUESTIONS, Finding, audit, report
from tests.chaos.database import SQLiteFile
from tests.chaos.orders import make_table

WORKER = "0f" * 16
SECOND = 1_000_000


class World:
    """A folder as a fault run leaves it, made by hand. Instants are seconds; ids are numbers."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.folder = folder
        shutil.copy(template, folder / "taskq.db")
        self._database = sqlite3.connect(folder / "taskq.db", isolation_level=None)

    def audited(self) -> Sequence[Finding]:
        """What the audit finds."""
        return audit(self.folder, SQLiteFile(self.folder / "taskq.db"))

    def row(self, number: int, **columns: object) -> None:
        """An activity; completed by its first claim, unless the columns say otherwise."""
        values: dict[str, object] = {
            "id": bytes.fromhex(hexed(number)),
            "type": "quick",
            "payload": "{}",
            "status": "completed",
            "claim": 1,
            "worker": bytes.fromhex(WORKER),
            "result": '{"claim": 1}',
            "created_at": 1 * SECOND,
            "ready_at": 1 * SECOND,
            "started_at": 2 * SECOND,
            "finished_at": 4 * SECOND,
            **columns,
        }
        if values["status"] in ("failed", "dead_letter"):
            values.setdefault("error", "{}")
        self.insert("taskq_activities", values)

    def event(self, number: int, kind: str, at: float, *, claim: int = 1, **detail: object) -> None:
        """An event row."""
        self.insert(
            "taskq_events",
            {
                "activity_id": bytes.fromhex(hexed(number)),
                "kind": kind,
                "at": int(at * SECOND),
                "claim": claim,
                "worker": bytes.fromhex(WORKER),
                "detail": json.dumps(detail),
            },
        )

    def effect(self, what: str, number: int, at: float, **fields: object) -> None:
        """A line of the effects log."""
        line: dict[str, object] = {"id": hexed(number), "claim": 1, "type": "quick", "pid": 1}
        self._append("effects.jsonl", {**line, "worker": WORKER, "what": what, **fields}, at)

    def told(self, what: str, at: float, number: int = 0, **fields: object) -> None:
        """A line of a client or of the nemesis."""
        self._append("clients-1.jsonl", {"what": what, "id": hexed(number), **fields}, at)

    def _append(self, file: str, line: dict[str, object], at: float) -> None:
        with (self.folder / file).open("a") as log:
            log.write(json.dumps({**line, "at": int(at * SECOND)}) + "\n")

    def insert(self, table: str, values: dict[str, object]) -> None:
        marks = ", ".join("?" for _ in values)
        self._database.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values())
        )


def hexed(number: int) -> str:
    """A number as an id."""
    return f"{number:032x}"


def ran(world: World, number: int, **columns: object) -> None:
    """An activity that was meant, stored, run once and completed."""
    world.told("intent", 0.5, number)
    world.told("stored", 1, number, answer=hexed(number))
    world.row(number, **columns)
    world.effect("start", number, 2)
    world.effect("end", number, 3)


def ran_twice(world: World, number: int, *, freed_at: float) -> None:
    """An activity whose first worker was lost at ``freed_at``."""
    ran(world, number, claim=2, result='{"claim": 2}', crash_count=1, started_at=6 * SECOND)
    world.event(number, "crashed", freed_at)
    world.told("harmed", 2.5, pid=1)
    world.effect("start", number, 6, claim=2)
    world.effect("end", number, 7, claim=2)


def sound(world: World) -> None:
    """A bit of everything, and nothing wrong with it."""
    ran(world, 1)
    ran_twice(world, 2, freed_at=3)
    ordered(world, 3, committed_at=0.9)
    order(world, 4, placed=False)
    world.told("withdrawn", 0.9, 4)
    world.told("seen", 9, 1, status="completed", result='{"claim":1}')
    world.told("stopped", 8, pid=1, grace=SECOND)
    world.effect("WorkerStopping", 0, 8)
    world.told("exited", 8.5, pid=1, code=0)


def order(world: World, number: int, *, placed: bool) -> None:
    """An order, and perhaps its row."""
    world.told("ordered", 0.6, number)
    if placed:
        world.insert("orders", {"id": hexed(number)})


def ordered(world: World, number: int, *, committed_at: float) -> None:
    """An order that was committed, and run."""
    order(world, number, placed=True)
    world.told("committing", committed_at, number)
    ran(world, number)


def not_undone(world: World) -> None:
    order(world, 11, placed=True)
    world.told("committing", 0.8, 11)
    world.told("withdrawn", 0.9, 11)


def called_without_order(world: World) -> None:
    order(world, 11, placed=False)
    world.told("intent", 0.5, 11)
    world.row(11, status="pending", result=None, claim=0)


def keyed(world: World, number: int, answer: int) -> None:
    """A call with a key, and what it was told."""
    world.told("intent", 0.5, number, idempotency="quick key")
    world.told("stored", 1, number, answer=hexed(answer))


def told_two_ids(world: World) -> None:
    keyed(world, 11, 1)
    keyed(world, 12, 2)


def one_key_twice(world: World) -> None:
    ran(world, 11, idempotency_key="key")
    ran(world, 12, idempotency_key="key")


def late_event(world: World) -> None:
    ran(world, 11)
    world.event(11, "handed_back", 5)


def two_hooks(world: World) -> None:
    policy = '{"hooks": ["on_failure"]}'
    ran(world, 11, status="failed", result=None, policy=policy)
    for child in (12, 13):
        ran(world, child, type="quick:on_failure", parent_id=bytes.fromhex(hexed(11)))


def run_early(world: World) -> None:
    ran(world, 11)
    world.told("intent", 0.5, 11, run_at=2.5 * SECOND)


def retried_early(world: World) -> None:
    ran(world, 11, claim=2, result='{"claim": 2}', retry_count=1)
    world.event(11, "failed", 3, delay=2.0)
    world.effect("start", 11, 4, claim=2)
    world.effect("end", 11, 4, claim=2)


def crashed_for_nothing(world: World) -> None:
    world.row(11, claim=2, crash_count=1, result=None)
    world.effect("start", 11, 2, worker="0e" * 16, pid=4)
    world.insert(
        "taskq_events",
        {
            "activity_id": bytes.fromhex(hexed(11)),
            "kind": "crashed",
            "at": 3 * SECOND,
            "claim": 1,
            "worker": bytes.fromhex("0e" * 16),
        },
    )


def delayed_too_long(world: World) -> None:
    ran(world, 11, claim=2, result='{"claim": 2}', retry_count=1, ready_at=int(1.5 * SECOND))
    world.event(11, "failed", 3, delay=0.3)


def key_of_nothing(world: World) -> None:
    world.insert(
        "taskq_keys",
        {
            "hash": bytes(32),
            "queue": "default",
            "type": "quick",
            "activity_id": bytes.fromhex(hexed(11)),
            "created_at": SECOND,
        },
    )


def crashes_left(world: World) -> None:
    ran(world, 11, status="dead_letter", error_kind="crashed", crash_count=1, result=None)


def cancelled_while_waiting(world: World) -> None:
    ran(world, 11)
    world.told("cancelled", 3, 11, before="pending")


def claimed_after_cancel(world: World) -> None:
    ran(world, 11)
    world.told("cancelled", 1.5, 11, before="processing")


def interrupted_at_a_cost(world: World) -> None:
    ran(world, 11, retry_count=1)
    world.event(11, "interrupted", 3)


WRONG: dict[str, Callable[[World], None]] = {
    "what a client was told is stored has its row": lambda world: world.told(
        "stored", 1, 11, answer=hexed(11)
    ),
    "there is no row that nobody meant to store": lambda world: world.row(11, result=None),
    "an order that was committed has its activity": lambda world: order(world, 11, placed=True),
    "an order that was not committed has none": called_without_order,
    "what was rolled back has left nothing": not_undone,
    "no worker runs an order before its commit": lambda world: ordered(world, 11, committed_at=2.5),
    "every client of one key is told one id": told_two_ids,
    "one key has one row": one_key_twice,
    "everything has ended": lambda world: ran(world, 11, status="pending", result=None),
    "no lease is left where nothing runs": lambda world: ran(world, 11, lease_until=SECOND),
    "the accepted result is the one of the last claim": lambda world: ran(world, 11, claim=2),
    "an end that a client has seen is still the end": lambda world: world.told(
        "seen", 3, 1, status="failed", result=None
    ),
    "nothing happens to what has ended": late_event,
    "a hook is made once where it is called for": two_hooks,
    "one claim is run once": lambda world: world.effect("start", 1, 3),
    "a later claim runs only after the earlier one was let go": lambda world: ran_twice(
        world, 11, freed_at=6.5
    ),
    "nothing runs before its time": run_early,
    "nothing is claimed before it is ready": lambda world: ran(world, 11, ready_at=3 * SECOND),
    "nothing is run again before its delay has passed": retried_early,
    "nothing exceeds a budget": lambda world: ran(world, 11, retry_count=4),
    "a retry is delayed as long as the formula says": delayed_too_long,
    "no worker ends but by a signal, whatever its database does": lambda world: world.told(
        "died", 5, pid=3, code=1
    ),
    "a crash is counted only of a worker that was killed or stood still": crashed_for_nothing,
    "a key points at an activity that is there": key_of_nothing,
    "what comes back from a worker keeps its place": lambda world: ran(
        world, 11, ready_at=int(1.5 * SECOND)
    ),
    "an end can be read: its result, or its error": lambda world: ran(world, 11, result=None),
    "what is given up for its crashes had as many as allowed": crashes_left,
    "the counts are what happened": lambda world: ran(world, 11, crash_count=1),
    "what was cancelled while it waited ends cancelled": cancelled_while_waiting,
    "nothing is claimed after its cancel was accepted": claimed_after_cancel,
    "a worker that stops starts nothing": lambda world: world.effect("start", 1, 9, claim=3),
    "what a stop interrupts costs nothing": interrupted_at_a_cost,
    "a stopped worker ends by itself, in time": lambda world: world.told(
        "stopped", 9, pid=2, grace=SECOND
    ),
}
"""For each question a world in which it is violated."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database."""
    path = tmp_path_factory.mktemp("template") / "taskq.db"
    taskq = TaskQ(f"sqlite:///{path}")
    taskq.stats()
    taskq.close()
    make_table(SQLiteFile(path))
    return path


@pytest.fixture
def world(tmp_path: Path, template: Path) -> World:
    """A sound one."""
    world = World(tmp_path, template)
    sound(world)
    return world


def test_a_sound_world_has_no_violations(world: World) -> None:
    findings = world.audited()
    assert not any(finding.violations for finding in findings), report(findings)


@pytest.mark.parametrize("says", [question.says for question in QUESTIONS])
def test_each_question_finds_its_violation(world: World, says: str) -> None:
    WRONG[says](world)
    found = {finding.question.says for finding in world.audited() if finding.violations}
    assert says in found


def test_a_torn_last_line_of_a_killed_client_is_passed_over(world: World) -> None:
    with (world.folder / "clients-1.jsonl").open("a") as log:
        log.write('{"what": "stored", "id"')
    assert not any(finding.violations for finding in world.audited())
