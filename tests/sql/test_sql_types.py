"""Instants and ids come back exactly as they went in, and sort as they should."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql, sqlite

from taskq.backends import ClaimRequest
from taskq.backends.instants import FIRST, LAST, later
from taskq.backends.sql import SQLiteBackend
from taskq.backends.sql.types import (
    EPOCH,
    Id,
    Instant,
    from_microseconds,
    to_microseconds,
)
from taskq.bridge import ResidentBridge
from taskq.errors import BackendError
from taskq.identifiers import new_id
from taskq.lifecycle import Snoozed, decide
from taskq.model import Status
from taskq.testing.conformance.samples import call

instants = st.datetimes(
    min_value=FIRST.replace(tzinfo=None), max_value=LAST.replace(tzinfo=None)
).map(lambda at: at.replace(tzinfo=UTC))


@given(instants)
def test_an_instant_comes_back_to_the_microsecond(at: datetime) -> None:
    assert from_microseconds(to_microseconds(at)) == at


@given(instants, instants)
def test_instants_sort_as_their_numbers(one: datetime, other: datetime) -> None:
    assert (one < other) == (to_microseconds(one) < to_microseconds(other))


def test_an_instant_of_another_zone_is_the_same_instant() -> None:
    at = datetime(2030, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))

    assert from_microseconds(to_microseconds(at)) == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        to_microseconds(datetime(2030, 1, 1))


@pytest.mark.parametrize("seconds", [1e9 * 365, 1e300, float("inf")])
def test_what_would_be_too_late_is_the_last_instant(seconds: float) -> None:
    assert later(EPOCH, seconds) == LAST


def test_ids_sort_as_their_bytes() -> None:
    ids = [new_id() for _ in range(1000)]

    assert sorted(ids, key=lambda id: id.bytes) == ids


@pytest.mark.parametrize(
    ("type", "on_sqlite", "on_postgresql"),
    [(Instant(), "INTEGER", "TIMESTAMP WITH TIME ZONE"), (Id(), "BLOB", "UUID")],
    ids=["Instant", "Id"],
)
def test_each_dialect_has_its_own_column_type(
    type: Instant | Id, on_sqlite: str, on_postgresql: str
) -> None:
    assert type.compile(dialect=sqlite.dialect()) == on_sqlite
    assert type.compile(dialect=postgresql.dialect()) == on_postgresql


def test_a_snooze_beyond_all_years_breaks_no_batch(
    backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    activity = call()
    bridge.call_sync(backend.submit, [activity])
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=1, lease=30.0)
    [attempt] = bridge.call_sync(backend.claim, request)

    bridge.call_sync(backend.settle, [decide(attempt, Snoozed(1e30))])

    info = bridge.call_sync(backend.get, [activity.id])[activity.id]
    assert (info.status, info.ready_at) == (Status.SCHEDULED, LAST)


def test_an_impossible_run_time_stores_nothing(
    backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    good = call()
    for run_at in (datetime(9999, 6, 1, tzinfo=UTC), datetime(1969, 6, 1, tzinfo=UTC)):
        with pytest.raises(BackendError, match="1970 to 9998"):
            bridge.call_sync(backend.submit, [good, call(run_at=run_at)])

    assert bridge.call_sync(backend.get, [good.id]) == {}
