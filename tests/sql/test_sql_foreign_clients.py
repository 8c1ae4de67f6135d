"""Rows that other programs wrote: the least that is needed, and nonsense that harms nobody else."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable
from uuid import UUID

import pytest

from taskq.backends import Cancellation, ClaimRequest
from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.errors import IdempotencyConflict
from taskq.idempotency import key_hash
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Succeeded, decide
from taskq.model import DEFAULT_POLICY, Attempt, ErrorKind, Priority, Receipt, Status
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import error, keyed

Put = Callable[..., UUID]


@pytest.fixture
def put(foreign: sqlite3.Connection) -> Put:
    """Inserts an activity as another program would, with only the columns given."""

    def put(**columns: object) -> UUID:
        id = new_id()
        columns = {"id": id.bytes, "type": "work", "payload": "{}", **columns}
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        foreign.execute(
            f"INSERT INTO taskq_activities ({names}) VALUES ({marks})", tuple(columns.values())
        )
        return id

    return put


@pytest.fixture
def claim(backend: SQLiteBackend, bridge: ResidentBridge) -> Callable[[], list[Attempt]]:
    """Claims all that is ready in the default queue."""

    def claim() -> list[Attempt]:
        request = ClaimRequest(
            worker=new_id(), queues=("default",), types=None, limit=100, lease=30.0
        )
        return bridge.call_sync(backend.claim, request)

    return claim


def test_id_type_and_payload_are_enough(put: Put, claim: Callable[[], list[Attempt]]) -> None:
    """seed:Q18"""

    before = time.time()
    id = put(payload='{"to": "ada@example.com"}')

    [attempt] = claim()

    assert (attempt.id, attempt.type, attempt.queue) == (id, "work", "default")
    assert attempt.payload == '{"to": "ada@example.com"}'
    assert (attempt.root_id, attempt.origin_id, attempt.parent_id) == (id, id, None)
    assert (attempt.priority, attempt.max_retries, attempt.timeout) == (Priority.NORMAL, 3, 300.0)
    assert (attempt.max_crashes, attempt.policy, attempt.number) == (3, DEFAULT_POLICY, 1)
    assert before - 0.002 <= attempt.created_at.timestamp() <= time.time()
    assert attempt.ready_at == attempt.created_at


def test_the_id_may_come_from_sqlite_itself(
    foreign: sqlite3.Connection, claim: Callable[[], list[Attempt]]
) -> None:
    foreign.execute(
        "INSERT INTO taskq_activities (id, type, payload) VALUES (randomblob(16), 'work', '{}')"
    )

    assert len(claim()) == 1


def test_a_run_time_needs_the_scheduled_state(
    put: Put, claim: Callable[[], list[Attempt]], backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    id = put(status="scheduled", ready_at=int(time.time() * 1e6) + 3_600_000_000)

    assert claim() == []
    promotion = bridge.call_sync(backend.promote, 10)
    assert promotion.moved == 0
    assert promotion.next_due == pytest.approx(3600, abs=30)
    assert bridge.call_sync(backend.cancel, [id]) == {id: Cancellation(Status.SCHEDULED)}


@pytest.mark.parametrize(
    "columns",
    [
        {"id": "0197a7e0-0000-7000-8000-000000000000"},
        {"id": b"short"},
        {"id": None},
        {"payload": b"{}"},
        {"payload": None},
        {"metadata": b"{}"},
        {"tags": b"{}"},
        {"policy": b"{}"},
        {"status": "done"},
        {"status": "processing"},
        {"priority": 0},
        {"priority": 5},
        {"priority": "high"},
        {"type": ""},
        {"type": 121 * "t"},
        {"queue": ""},
        {"max_retries": -1},
        {"max_retries": "many"},
        {"max_crashes": 0},
        {"timeout_ms": 0},
        {"timeout_ms": 2**62},
        {"claim": -1},
        {"ready_at": "2030-01-01"},
        {"ready_at": -1},
        {"ready_at": 253370764800000000},
        {"deadline_at": "soon"},
        {"parent_id": "0197a7e0-0000-7000-8000-000000000000"},
        {"root_id": "0197a7e0-0000-7000-8000-000000000000"},
        {"root_id": b"short"},
        {"origin_id": 7},
        {"worker": "worker-1"},
        {"priority": 1.5},
        {"max_retries": 1.5},
        {"depth": 0.5},
        {"timeout_ms": 0.5},
        {"isolate": 7},
        {"ready_at": 1.5},
        {"started_at": "now"},
        {"started_at": 253370764800000000},
        {"lease_until": 1.5},
        {"type": b"work"},
        {"queue": b"default"},
        {"source": b"program"},
        {"correlation_id": b"c"},
        {"result": b"1"},
        {"error": b"{}"},
    ],
    ids=lambda columns: "-".join(f"{name}={str(value)[:12]}" for name, value in columns.items()),
)
def test_what_would_break_a_batch_is_refused_when_it_is_written(
    put: Put, columns: dict[str, object]
) -> None:
    """fault:H7"""
    with pytest.raises(sqlite3.IntegrityError):
        put(**columns)


NONSENSE = {
    "policy": '{"retry": {"initial_delay": -1}}',
    "metadata": "[1, 2",
    "tags": '{"a": 1}',
    "source": "\0",
    "correlation_id": "",
    "progress": '{"done": 1, "at": "2030-01-01T00:00:00"}',
}


def test_nonsense_in_one_row_breaks_no_batch(
    put: Put,
    claim: Callable[[], list[Attempt]],
    foreign: sqlite3.Connection,
    backend: SQLiteBackend,
    bridge: ResidentBridge,
) -> None:
    """fault:L10, fault:H2, fault:H7"""
    odd, good = put(payload="no JSON at all", **NONSENSE), put(payload='{"n": 1}')
    foreign.execute(
        "UPDATE taskq_activities SET payload = CAST(x'7b22ff227d' AS TEXT),"
        " error = 'oops', error_kind = 'odd' WHERE id = ?",
        (odd.bytes,),
    )

    infos = bridge.call_sync(backend.list, Filter(), Page()).items
    attempts = {attempt.id: attempt for attempt in claim()}

    assert {info.id for info in infos} == {odd, good}
    [info] = [info for info in infos if info.id == odd]
    assert (info.tags, info.metadata, info.progress) == ({}, {}, None)
    assert info.error is not None
    assert (info.error.message, info.error.kind) == ("oops", ErrorKind.ERROR)
    assert attempts[odd].policy == DEFAULT_POLICY
    assert attempts[odd].payload == '{"\ufffd"}'
    assert attempts[good].payload == '{"n": 1}'
    bridge.call_sync(
        backend.settle,
        [
            decide(attempts[odd], Failed(error=error(), retryable=False)),
            decide(attempts[good], Succeeded("1")),
        ],
    )
    assert bridge.call_sync(backend.timeline, odd)[-1].kind == "failed"


@pytest.mark.parametrize(
    "columns",
    [
        {"parent_id": "0197a7e0-0000-7000-8000-000000000000"},
        {"root_id": b"short"},
        {"origin_id": 7.5},
        {"worker": "worker-1"},
        {"priority": 1.5},
        {"priority": 9},
        {"max_retries": 1.5},
        {"max_crashes": "few"},
        {"retry_count": "none"},
        {"timeout_ms": "long"},
        {"created_at": "yesterday"},
        {"ready_at": 2**62},
        {"started_at": -(2**62)},
        {"isolate": 7},
        {"policy": '{"x":' + 100_000 * "[" + 100_000 * "]" + "}"},
        {"metadata": '{"x":' + 100_000 * "[" + 100_000 * "]" + "}"},
        {"error": '{"x":' + 100_000 * "[" + 100_000 * "]" + "}"},
    ],
    ids=lambda columns: "-".join(f"{name}={str(value)[:12]}" for name, value in columns.items()),
)
def test_what_was_stored_against_the_rules_is_read_all_the_same(
    put: Put,
    claim: Callable[[], list[Attempt]],
    foreign: sqlite3.Connection,
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    columns: dict[str, object],
) -> None:
    """fault:H7: one such row stopped every claim of its queue, every list, and the reaper."""
    foreign.execute("PRAGMA ignore_check_constraints = 1")
    odd, good = put(**columns), put()

    infos = bridge.call_sync(backend.list, Filter(), Page()).items
    claimed = {attempt.id for attempt in claim()}

    assert {info.id for info in infos} == {odd, good}
    assert {good} <= claimed <= {odd, good}
    assert (odd in claimed) is (columns.get("isolate") != 7)

    foreign.execute("UPDATE taskq_activities SET lease_until = 1 WHERE status = 'processing'")
    expired = bridge.call_sync(backend.expired, 10)

    assert {attempt.id for attempt in expired} == claimed


def test_what_nothing_could_be_settled_for_is_passed_over(
    put: Put, foreign: sqlite3.Connection, backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    """fault:H7: the reaper goes on with the others."""
    foreign.execute("PRAGMA ignore_check_constraints = 1")
    lost = {"status": "processing", "claim": 1, "lease_until": 1}
    odd, good = put(worker="worker-1", **lost), put(worker=new_id().bytes, **lost)

    [attempt] = bridge.call_sync(backend.expired, 10)

    assert attempt.id == good
    assert set(bridge.call_sync(backend.get, [odd, good])) == {odd, good}


def test_names_that_are_no_utf8_end_no_reader(
    put: Put, foreign: sqlite3.Connection, backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    """fault:L10: they were found as the next queue again and again."""
    put(queue="other")
    for column in ("queue", "type"):
        id = put()
        foreign.execute(
            f"UPDATE taskq_activities SET {column} = CAST(x'ff' AS TEXT) WHERE id = ?", (id.bytes,)
        )

    stats = bridge.call_sync(backend.stats, deadline=5.0)
    unserved = bridge.call_sync(backend.unserved, deadline=5.0)

    assert stats.by_queue["other"] == 1
    assert {gap.queue for gap in unserved} >= {"default", "other"}


def test_events_and_counts_of_another_version_are_passed_over(
    put: Put, foreign: sqlite3.Connection, backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    id = put()
    foreign.execute(
        "INSERT INTO taskq_events (activity_id, at, kind, claim, detail)"
        " VALUES (?, 0, 'teleported', 0, '{'), (?, 0, 'handed_back', 0, '{')",
        (id.bytes, id.bytes),
    )

    entries = bridge.call_sync(backend.timeline, id)

    assert [entry.kind for entry in entries] == ["handed_back", "enqueued"]


@pytest.mark.parametrize(
    ("stored", "same"),
    [
        ('{"a": 1, "b": [2]}', True),
        ('{"b":[2],"a":1}', True),
        ('{"a": 1.0, "b": [2]}', False),
        ('{"a": 2, "b": [2]}', False),
        ("no JSON", False),
    ],
)
def test_a_key_without_a_digest_is_compared_by_value(
    put: Put,
    foreign: sqlite3.Connection,
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    stored: str,
    same: bool,
) -> None:
    """design 2.2"""
    holder = put(payload=stored)
    hash = key_hash("default", "work", "order-42")
    foreign.execute(
        "INSERT INTO taskq_keys (hash, queue, type, activity_id) VALUES (?, 'default', 'work', ?)",
        (hash, holder.bytes),
    )
    activity = keyed(payload='{"a":1,"b":[2]}')

    if same:
        assert bridge.call_sync(backend.submit, [activity]) == [Receipt(holder, False)]
    else:
        with pytest.raises(IdempotencyConflict):
            bridge.call_sync(backend.submit, [activity])


def test_a_key_is_free_when_it_has_expired_or_its_activity_is_gone(
    put: Put, foreign: sqlite3.Connection, backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    def point(key: str, activity: UUID, expires_at: int | None) -> None:
        foreign.execute(
            "INSERT INTO taskq_keys (hash, queue, type, activity_id, digest, expires_at)"
            " VALUES (?, 'default', 'work', ?, ?, ?)",
            (
                key_hash("default", "work", key),
                activity.bytes,
                hashlib.sha256(b"{}").digest(),
                expires_at,
            ),
        )

    live = put()
    point("live", live, int(time.time() * 1e6) + 3_600_000_000)
    point("expired", live, int(time.time() * 1e6) - 1)
    point("gone", UUID(bytes=os.urandom(16)), None)
    fresh = [keyed("expired"), keyed("gone")]

    receipts = bridge.call_sync(backend.submit, [keyed("live"), *fresh])
    again = bridge.call_sync(backend.submit, [keyed("expired"), keyed("gone")])

    assert receipts == [Receipt(live, False), *(Receipt(each.id, True) for each in fresh)]
    assert again == [Receipt(each.id, False) for each in fresh]
