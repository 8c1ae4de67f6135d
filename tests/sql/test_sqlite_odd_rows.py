"""Rows at the edge of what the tables allow, counts that cannot be kept: nobody else is hurt."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial

import pytest

from taskq.audit import Command
from taskq.backends import ClaimRequest
from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.tables import BIG_INTEGER
from taskq.bridge import ResidentBridge
from taskq.errors import BackendUnavailable, ConfigurationError
from taskq.filtering.reading import narrowed, parsed
from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Failed, Verdict, decide
from taskq.model import COUNTED_TO, Attempt, Lease, Status
from taskq.occurrences import Timing
from taskq.schedule import Schedule, Template
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import MINUTE, beat, bucket, call, error, worker

Claim = Callable[[], list[Attempt]]


@pytest.fixture
def claim(backend: SQLiteBackend, bridge: ResidentBridge) -> Claim:
    """Claims all that is ready."""

    def claim() -> list[Attempt]:
        request = ClaimRequest(
            worker=new_id(), queues=("default",), types=None, limit=100, lease=30.0
        )
        return bridge.call_sync(backend.claim, request)

    return claim


def test_the_highest_claim_number_stops_no_claim(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection, claim: Claim
) -> None:
    """fault:H7: one such row stopped its queue for everybody."""
    odd, good = call(), call()
    bridge.call_sync(backend.submit, [odd, good])
    foreign.execute(
        "UPDATE taskq_activities SET claim = ? WHERE id = ?", (BIG_INTEGER, odd.id.bytes)
    )

    assert {each.id: each.claim for each in claim()} == {odd.id: 1, good.id: 1}


@pytest.mark.parametrize("outcome", [Crashed(), Failed(error=error())])
def test_the_highest_counts_are_settled(
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    foreign: sqlite3.Connection,
    claim: Claim,
    outcome: Crashed | Failed,
) -> None:
    bridge.call_sync(backend.submit, [call(max_retries=None, max_crashes=COUNTED_TO)])
    foreign.execute(
        "UPDATE taskq_activities SET retry_count = ?, crash_count = ?", (COUNTED_TO, COUNTED_TO)
    )
    [attempt] = claim()
    foreign.execute("UPDATE taskq_activities SET lease_until = 1")

    [settled] = bridge.call_sync(backend.settle, [decide(attempt, outcome)])

    assert settled.verdict is Verdict.APPLIED
    assert settled.status in (Status.DEAD_LETTER, Status.RETRYING)


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("step", "x" * 1_000_000),
        ("step", ""),
        ("step", b"x"),
        ("generation", -1),
        ("expires_at", "x"),
    ],
)
def test_a_step_a_generation_or_a_limit_that_is_none_is_refused_by_the_table(
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    foreign: sqlite3.Connection,
    change: str,
    value: object,
) -> None:
    bridge.call_sync(backend.submit, [call()])

    with pytest.raises(sqlite3.IntegrityError):
        foreign.execute(f"UPDATE taskq_activities SET {change} = ?", (value,))


def test_odd_steps_and_limits_that_came_past_the_rules_stop_nobody(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection, claim: Claim
) -> None:
    """fault:H7: what is no instant is no limit, and a long step is a step."""
    odd, good = call(expires_in=1000.0), call(step="s", expires_in=1000.0)
    bridge.call_sync(backend.submit, [odd, good])
    foreign.execute("PRAGMA ignore_check_constraints = ON")
    foreign.execute(
        "UPDATE taskq_activities SET expires_at = 'x', deadline_at = x'00', step = ?,"
        " generation = 'y' WHERE id = ?",
        ("x" * 1_000_000, odd.id.bytes),
    )

    assert bridge.call_sync(backend.claim_overdue, new_id(), 10, 30.0) == []
    found = {each.id: each for each in claim()}
    assert found.keys() == {odd.id, good.id}
    assert (found[odd.id].expires_in, found[odd.id].generation) == (None, 0)


def test_counts_that_are_refused_keep_no_lease_from_being_renewed(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection, claim: Claim
) -> None:
    """bug:B28"""
    bridge.call_sync(backend.submit, [call()])
    [attempt] = claim()
    foreign.execute("UPDATE taskq_activities SET lease_until = 1")
    foreign.execute(
        "CREATE TRIGGER refusing BEFORE INSERT ON taskq_rollup"
        " BEGIN SELECT RAISE(ABORT, 'not here'); END"
    )
    mine = worker(attempt.worker)
    lease = Lease(attempt.id, attempt.claim)

    renewal = bridge.call_sync(backend.heartbeat, beat(mine, lease, buckets=(bucket(),)))

    assert renewal.lost == frozenset()
    assert "not here" in str(renewal.unreported)
    assert not isinstance(renewal.unreported, BackendUnavailable)
    assert bridge.call_sync(backend.expired, 10) == []


def test_counts_end_at_the_highest(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection
) -> None:
    mine = worker()
    bridge.call_sync(backend.heartbeat, beat(mine, buckets=(bucket(),)))
    foreign.execute("UPDATE taskq_rollup SET count = ?", (BIG_INTEGER,))

    renewal = bridge.call_sync(backend.heartbeat, beat(mine, number=2, buckets=(bucket(),)))

    assert renewal.unreported is None
    assert foreign.execute("SELECT count FROM taskq_rollup").fetchall() == [(BIG_INTEGER,)]
    assert (
        MINUTE.timestamp() * 1e6 == foreign.execute("SELECT minute FROM taskq_rollup").fetchone()[0]
    )


@pytest.mark.parametrize(
    "change",
    ["taskq_workers SET seen_at = -1", "taskq_workers SET started_at = 253370764800000000"],
)
def test_instants_outside_the_years_are_refused_in_every_table(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection, change: str
) -> None:
    bridge.call_sync(backend.heartbeat, beat(worker()))

    with pytest.raises(sqlite3.IntegrityError):
        foreign.execute(f"UPDATE {change}")


@pytest.mark.parametrize(
    "change",
    [
        "payload = x'ff00'",
        "payload = 7",
        "error = x'ff'",
        "error = '{'",
        "error = '{\"type\":1}'",
        "tags = x'00'",
        "tags = '[1]'",
        "type = x'ff'",
        "created_at = 'x'",
        "user_id = x'ff'",
        "priority = 'x'",
    ],
)
def test_an_odd_row_fails_no_filter(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection, change: str
) -> None:
    """fault:H7"""
    odd, good = call(payload='{"a":1}'), call(payload='{"a":1}', user_id="u", tags='{"t":"v"}')
    bridge.call_sync(backend.submit, [odd, good])
    foreign.execute("PRAGMA ignore_check_constraints = ON")
    foreign.execute(f"UPDATE taskq_activities SET {change} WHERE id = ?", (odd.id.bytes,))

    for text in ("args.a:1", "work", "-error:x", "user:u", "tag.t:v*", "-tag.t:x", "type:w*", "-x"):
        page = bridge.call_sync(backend.list, narrowed(Filter(), parsed(text)), Page())
        assert good.id in [item.id for item in page.items], text


@pytest.mark.parametrize("text", ["", "type:work", "args.a:1"])
@pytest.mark.parametrize("limit", [1, 2])
def test_an_id_that_is_none_hides_nobody_from_a_list(
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    foreign: sqlite3.Connection,
    text: str,
    limit: int,
) -> None:
    """fault:H7"""
    calls = [call(payload='{"a":1}') for _ in range(3)]
    bridge.call_sync(backend.submit, calls)
    foreign.execute("PRAGMA ignore_check_constraints = ON")
    for odd, each in ((b"\xff", calls[2]), (b"\x00", calls[0])):
        foreign.execute("UPDATE taskq_activities SET id = ? WHERE id = ?", (odd, each.id.bytes))

    filter = narrowed(Filter(), parsed(text))
    page = bridge.call_sync(backend.list, filter, Page(limit=limit))

    assert [item.id for item in page.items] == [calls[1].id]
    assert page.next is None


DEEP = '{"metadata":' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    "options",
    ["nonsense", "[1]", '{"policy":{"retry":{"initial_delay":-5}}}', '{"priority":77}', DEEP],
    ids=["no JSON", "list", "policy", "priority", "deep"],
)
def test_a_schedule_that_cannot_be_read_is_shown_as_broken_and_hurts_no_other(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection, options: str
) -> None:
    """It is kept as it is, also when it is paused, until it is declared anew or deleted."""
    bad, good = hourly("bad"), hourly("good")
    bridge.call_sync(backend.declare_schedules, [bad, good])
    foreign.execute("UPDATE taskq_schedules SET next_at = next_at - 7200000000")
    foreign.execute("UPDATE taskq_schedules SET options = ? WHERE name = 'bad'", (options,))

    found = {each.name: each.broken for each in bridge.call_sync(backend.schedules)}
    fired = bridge.call_sync(backend.fire_schedule, "good")

    assert found["bad"] is not None and found["good"] is None
    assert fired is not None and fired.activities
    who = Command(actor="ada")
    with pytest.raises(ConfigurationError, match="'bad'"):
        bridge.call_sync(backend.fire_schedule, "bad")
    with pytest.raises(ConfigurationError, match="'bad'"):
        bridge.call_sync(partial(backend.trigger_schedule, id=new_id(), command=who), "bad")
    bridge.call_sync(partial(backend.pause_schedule, paused=True, command=who), "bad")
    kept = foreign.execute("SELECT options FROM taskq_schedules WHERE name = 'bad'").fetchone()
    assert kept == (options,)
    bridge.call_sync(backend.declare_schedules, [bad, good])
    [whole] = bridge.call_sync(backend.schedules, ["bad"])
    assert (whole.broken, whole.schedule) == (None, bad) and whole.paused_at is not None
    assert bridge.call_sync(partial(backend.delete_schedule, command=who), "bad")


def hourly(name: str) -> Schedule:
    """A schedule with an option."""
    template = Template(type="sum", queue="default", payload="{}", user_id="u")
    return Schedule(name=name, timing=Timing(every=3_600_000), template=template)


@pytest.mark.parametrize(
    "detail", ["nonsense", "[1]", "null", '{"a":1e999}', DEEP], ids=lambda text: text[:12]
)
def test_a_record_whose_detail_cannot_be_read_hides_no_other(
    backend: SQLiteBackend, bridge: ResidentBridge, foreign: sqlite3.Connection, detail: str
) -> None:
    who = Command(actor="ada")
    for name in ("first", "second"):
        put = partial(backend.put_schedule, revision=None, command=who)
        bridge.call_sync(put, hourly(name))
    foreign.execute("UPDATE taskq_audit SET detail = ? WHERE target = 'first'", (detail,))

    second, first = bridge.call_sync(backend.audit)

    assert first.detail == {"unreadable": detail}
    assert second.detail["jitter"] == 0
