"""Rows of other programs with nonsense in them, in tables whose rules somebody has taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from uuid import UUID

import pytest

from taskq.backends import Cancellation, ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.tables import activities
from taskq.bridge import ResidentBridge
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Settlement, Succeeded, Verdict, decide
from taskq.model import Attempt, Lease, Status
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import call, error
from tests.postgres.conftest import MakeBackend, Sql
from tests.postgres_databases import EMPTY, Databases

Put = Callable[..., UUID]
Claim = Callable[[], dict[UUID, Attempt]]

RULES = [
    f"ALTER TABLE taskq_activities DROP CONSTRAINT {rule.name}"
    for rule in activities.constraints
    if rule.name
    and str(rule.name) != "taskq_activities_pkey"
    and not str(rule.name).endswith("_kind")
] + [
    f"ALTER TABLE taskq_activities ALTER {column.name} DROP NOT NULL"
    for column in activities.columns
    if not column.nullable and column.name != "id"
]

RULE = "taskq_activities_depth_range"
MANY = tuple(f"type-{number}" for number in range(100))


@pytest.fixture(scope="module")
def lawless(databases: Databases) -> str:
    """A database whose activities may hold anything."""
    url = databases.fresh()
    databases.run(url, *RULES)
    return url


@pytest.fixture
def sql(databases: Databases, lawless: str) -> Iterator[Sql]:
    """Runs SQL there as another program."""
    databases.run(lawless, EMPTY)
    yield partial(databases.run, lawless)
    databases.run(lawless, f"ALTER TABLE taskq_activities DROP CONSTRAINT IF EXISTS {RULE}")


@pytest.fixture
def backend(make_backend: MakeBackend, lawless: str, sql: Sql) -> PostgresBackend:
    """A backend on it, while nothing is there."""
    return make_backend(lawless)


@pytest.fixture
def put(sql: Sql) -> Put:
    """Inserts an activity as another program would, with these columns, written as SQL."""

    def put(**columns: str) -> UUID:
        id = new_id()
        columns = {"id": f"'{id}'", "type": "'work'", "payload": "'{}'", **columns}
        names, values = ", ".join(columns), ", ".join(columns.values())
        sql(f"INSERT INTO taskq_activities ({names}) VALUES ({values})")
        return id

    return put


@pytest.fixture
def claim(backend: PostgresBackend, bridge: ResidentBridge) -> Claim:
    """Claims all that is ready in the default queue."""

    def claim() -> dict[UUID, Attempt]:
        request = ClaimRequest(
            worker=new_id(), queues=("default",), types=None, limit=100, lease=30.0
        )
        return {attempt.id: attempt for attempt in bridge.call_sync(backend.claim, request)}

    return claim


NONSENSE: Sequence[dict[str, str]] = [
    {"ready_at": "'20000-01-01'"},
    {"ready_at": "'infinity'"},
    {"ready_at": "'-infinity'"},
    {"ready_at": "'4000-01-01 BC'"},
    {"ready_at": "NULL"},
    {"created_at": "'20000-01-01'"},
    {"created_at": "'infinity'"},
    {"created_at": "NULL"},
    {"started_at": "'infinity'"},
    {"deadline_at": "'20000-01-01'"},
    {"expires_at": "'infinity'"},
    {"finished_at": "'-infinity'"},
    {"cancel_requested_at": "'20000-01-01'"},
    {"payload": "NULL"},
    {"type": "NULL"},
    {"type": "''"},
    {"priority": "9"},
    {"priority": "-1"},
    {"priority": "NULL"},
    {"max_retries": "-1"},
    {"max_crashes": "NULL"},
    {"retry_count": "NULL"},
    {"crash_count": "-1"},
    {"depth": "NULL"},
    {"timeout_ms": "9223372036854775807"},
    {"timeout_ms": "-5"},
    {"metadata": "'{\"x\":' || repeat('[', 100000)"},
    {"policy": "'{\"retry\": 7}'"},
    {"error": "'oops'"},
]


@pytest.mark.parametrize(
    "columns",
    NONSENSE,
    ids=lambda columns: "-".join(f"{name}={value[:16]}" for name, value in columns.items()),
)
def test_what_was_stored_against_the_rules_is_read_all_the_same(
    put: Put,
    claim: Claim,
    sql: Sql,
    backend: PostgresBackend,
    bridge: ResidentBridge,
    columns: dict[str, str],
) -> None:
    """fault:H7: one such row stopped every claim of its queue, every list, and the reaper."""
    odd, good = put(**columns), put()

    infos = bridge.call_sync(backend.list, Filter(), Page()).items
    stats = bridge.call_sync(backend.stats)
    attempts = claim()

    assert {info.id for info in infos} == {odd, good}
    assert stats.by_status[Status.PENDING] == 2
    assert attempts.keys() == {odd, good}

    sql("UPDATE taskq_activities SET lease_until = now() - interval '1 minute'")
    expired = bridge.call_sync(backend.expired, 10)
    transitions = [
        decide(attempts[odd], Failed(error=error(), retryable=False)),
        decide(attempts[good], Succeeded("1")),
    ]
    settlements = bridge.call_sync(backend.settle, transitions)

    assert {attempt.id for attempt in expired} == {odd, good}
    assert [each.verdict for each in settlements] == [Verdict.APPLIED, Verdict.APPLIED]
    assert bridge.call_sync(backend.outcomes, [odd, good]).keys() == {odd, good}


def test_a_state_that_there_is_not_stops_nobody(
    put: Put, claim: Claim, sql: Sql, backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """fault:H7: it is neither claimed nor ended, and what else is asked in one breath goes on."""
    odd, good = put(status="'done'"), put()
    assert claim().keys() == {good}
    taken = put()

    assert bridge.call_sync(backend.outcomes, [odd, good]) == {}
    assert bridge.call_sync(backend.cancel, [odd, taken]) == {taken: Cancellation(Status.PENDING)}


def test_a_state_that_there_is_not_under_a_worker_loses_only_its_own_outcome(
    put: Put, claim: Claim, sql: Sql, backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """fault:H7"""
    odd, good = put(), put()
    attempts = claim()
    sql(f"UPDATE taskq_activities SET status = 'done' WHERE id = '{odd}'")

    transitions = [decide(attempts[id], Succeeded("1")) for id in (odd, good)]
    settlements = bridge.call_sync(backend.settle, transitions)

    assert settlements == [
        Settlement(odd, Verdict.LOST, None),
        Settlement(good, Verdict.APPLIED, Status.COMPLETED),
    ]
    worker = attempts[odd].worker
    bridge.call_sync(backend.hand_back, worker, [Lease(id, 1) for id in (odd, good)])


def test_what_nothing_could_be_settled_for_is_passed_over(
    put: Put, backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """fault:H7: the reaper goes on with the others."""
    lost = {"status": "'processing'", "claim": "1", "lease_until": "'2000-01-01'"}
    odd, good = put(worker="NULL", **lost), put(worker=f"'{new_id()}'", **lost)

    [attempt] = bridge.call_sync(backend.expired, 10)

    assert attempt.id == good
    assert bridge.call_sync(backend.get, [odd, good]).keys() == {odd, good}


@pytest.mark.parametrize("never", ["'infinity'", "'200000-01-01'"])
def test_a_time_that_never_comes_stops_no_promoter(
    put: Put, backend: PostgresBackend, bridge: ResidentBridge, never: str
) -> None:
    """fault:H7"""
    put(status="'scheduled'", ready_at=never)
    put(status="'scheduled'", ready_at="now() - interval '1 second'")

    promotion = bridge.call_sync(backend.promote, 10)

    assert (promotion.moved, promotion.next_due) == (1, None)


def test_a_rule_that_is_made_anew_over_what_breaks_it_stops_no_claim(
    put: Put, claim: Claim, sql: Sql, backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """fault:H7: NOT VALID, it refuses to let such a row be written, whatever is changed in it. It
    stays where it is, and can be seen."""
    odd = [put(priority="3", depth="-1"), put(depth="-1", status="'scheduled'")]
    good = [put(), put(status="'scheduled'", ready_at="now() - interval '1 second'")]
    sql(f"ALTER TABLE taskq_activities ADD CONSTRAINT {RULE} CHECK (depth >= 0) NOT VALID")

    assert claim().keys() == {good[0]}
    assert bridge.call_sync(backend.promote, 10).moved == 1
    assert claim().keys() == {good[1]}
    assert {info.id for info in bridge.call_sync(backend.list, Filter(), Page()).items} == {
        *odd,
        *good,
    }
    bridge.call_sync(backend.submit, [call()])
    assert len(claim()) == 1


@pytest.mark.parametrize("types", [("work",), (*MANY, "work")], ids=["few", "many"])
def test_so_it_is_for_a_worker_of_few_types_and_of_many(
    put: Put,
    sql: Sql,
    backend: PostgresBackend,
    bridge: ResidentBridge,
    types: tuple[str, ...],
) -> None:
    """fault:H7"""
    put(depth="-1", priority="3")
    good = put()
    sql(f"ALTER TABLE taskq_activities ADD CONSTRAINT {RULE} CHECK (depth >= 0) NOT VALID")
    request = ClaimRequest(worker=new_id(), queues=("default",), types=types, limit=10, lease=30)

    assert [attempt.id for attempt in bridge.call_sync(backend.claim, request)] == [good]
    assert bridge.call_sync(backend.claim, request) == []
