"""A bulk command whose worker is killed in the middle of it."""

from __future__ import annotations

import json
import os
import signal

import pytest

from taskq.bulk.action import Action
from taskq.bulk.order import CHUNK, Order, activity_of
from tests.chaos.arena import Arena, until

pytestmark = pytest.mark.chaos

LEASE = 3.0
"""Seconds: a busy machine does not stand still for so long."""

MANY = int(os.environ.get("TASKQ_TEST_BULK", "2000"))
"""How many dead letters: 20 000 are chunks of the usual size."""
SIZE = min(CHUNK, MANY // 20)


def test_a_killed_bulk_retry_goes_on_and_retries_each_once(arena: Arena, loop: str) -> None:
    """promise:G8: what was done before the kill is on record, and is not done again."""
    parked = [arena.app.quick.options(queue="parked").build() for _ in range(MANY)]
    arena.app.taskq.enqueue(parked)
    arena.database.execute(
        "UPDATE taskq_activities SET status = 'dead_letter', finished_at = created_at"
    )
    order = Order(
        action=Action.RETRY,
        actor="console:ada",
        filter="status:dead_letter queue:parked",
        total=MANY,
        size=SIZE,
        rate=float(MANY),
    )
    [bulk] = arena.app.taskq.operator.enqueue([activity_of(order)], action="bulk.retry")

    victim = arena.worker(loop, "-q", "default")
    until(lambda: chunks(arena), "a chunk is done")
    victim.send(signal.SIGKILL)
    victim.ends()
    done = len(chunks(arena))
    arena.worker(loop, "-q", "default")
    until(lambda: arena.row(bulk.id)["status"] == "completed", "it has ended", within=60)

    assert done < len(chunks(arena))
    assert json.loads(arena.row(bulk.id)["result"]) == {"done": MANY, "skipped": 0}
    assert arena.row(bulk.id)["crash_count"] == 1
    retried = arena.query(
        "SELECT activity_id, count(*) AS times FROM taskq_events WHERE kind = 'retried'"
        " GROUP BY activity_id"
    )
    assert {row["times"] for row in retried} == {1}
    assert len(retried) == MANY == sum(map(len, chunks(arena)))


def chunks(arena: Arena) -> list[list[str]]:
    """The ids of each chunk that is on record."""
    found = arena.query("SELECT detail FROM taskq_audit WHERE action = 'retry'")
    return [json.loads(row["detail"])["ids"] for row in found]
