"""What a backend writes, and what it must read to write: pure functions returning statements.

Named like the verbs. Each keeps its shape from call to call, so that it is compiled once; the
values are bound by the caller, by the names given. Statuses that a partial index is conditional on
are spelled out, see ``tables``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Executable,
    ScalarSelect,
    Select,
    Table,
    Update,
    bindparam,
    case,
    desc,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import Insert, insert

from taskq.backends.sql.tables import (
    BIG_INTEGER,
    activities,
    events,
    keys,
    spelled,
)
from taskq.model import Attempt, Status

_activity = activities.c

_COLUMNS = {"timeout": "timeout_ms", "claimed_at": "started_at"}

ATTEMPT = tuple(_activity[_COLUMNS.get(name, name)] for name in Attempt.__struct_fields__)
"""The columns of an Attempt's fields, in their order."""

SETTLED = (
    "status",
    "worker",
    "retry_count",
    "crash_count",
    "isolate",
    "ready_at",
    "finished_at",
    "result",
    "error",
    "error_kind",
    "fingerprint",
    "expires_at",
)
"""The columns that the end of an attempt writes, bound as ``new_`` + name."""

MERGED = 64
"""So many places are merged without asking first in which of them anything waits."""

TERMS = 250
"""How many SELECTs are merged at once; SQLite takes 500."""

_pending = _activity.status == spelled(Status.PENDING)
_processing = _activity.status == spelled(Status.PROCESSING)
_waiting = _activity.status.in_([spelled(Status.SCHEDULED), spelled(Status.RETRYING)])
idle = _activity.status.in_(
    [spelled(Status.PENDING), spelled(Status.SCHEDULED), spelled(Status.RETRYING)]
)
"""What neither runs nor has ended."""


# -- submit --


@cache
def insert_activities() -> Insert:
    """Insert rows, one per set of values; an id that is there already is left as it is."""
    return insert(activities).on_conflict_do_nothing(index_elements=["id"])


@cache
def existing() -> Executable:
    """Which of ``ids`` are there."""
    return select(_activity.id).where(_activity.id.in_(bindparam("ids", expanding=True)))


@cache
def key_holders() -> Executable:
    """The keys among ``hashes`` that are held at ``now``: not expired, their activity still there.

    ``payload`` is given only where there is no digest to compare by.
    """
    payload = case((keys.c.digest.is_(None), _activity.payload)).label("payload")
    return (
        select(
            keys.c.hash,
            keys.c.digest,
            _activity.id,
            _activity.status,
            _activity.created_at,
            payload,
            _activity.parent_id,
            _activity.claim,
        )
        .join_from(keys, activities, keys.c.activity_id == _activity.id)
        .where(keys.c.hash.in_(bindparam("hashes", expanding=True)))
        .where(or_(keys.c.expires_at.is_(None), keys.c.expires_at > bindparam("now")))
    )


@cache
def point_keys() -> Insert:
    """Insert keys, or point them at another activity."""
    return upsert(keys, "hash")


# -- claim --


class Place(Struct, frozen=True):
    """Where a claim looks: a queue, or one type in it."""

    queue: str
    type: str | None = None


class ClaimShape(Struct, frozen=True):
    """What the text of a claim depends on: how many whole queues, then how many single types."""

    queues: int
    types: int


def claim_shape(places: Sequence[Place]) -> ClaimShape:
    """The shape for these places."""
    whole = sum(place.type is None for place in places)
    return ClaimShape(whole, len(places) - whole)


def place_values(places: Sequence[Place]) -> dict[str, object]:
    """The values that bind places to a statement of their shape: whole queues come first."""
    values: dict[str, object] = {}
    for number, place in enumerate(sorted(places, key=lambda place: place.type is not None)):
        values[f"queue_{number}"] = place.queue
        if place.type is not None:
            values[f"type_{number}"] = place.type
    return values


@cache
def waiting_types() -> Executable:
    """The types of which ``queue`` has pending activities: a step in an index for each."""

    def first(*conditions: ColumnElement[bool]) -> ScalarSelect[Any]:
        waiting = (_pending, _activity.queue == bindparam("queue"))
        return select(func.min(_activity.type)).where(*waiting, *conditions).scalar_subquery()

    steps = select(first().label("type")).cte("steps", recursive=True)
    following = first(_activity.type > steps.c.type)
    steps = steps.union_all(select(following).where(steps.c.type.is_not(None)))
    return select(steps.c.type).where(steps.c.type.is_not(None))


@cache
def candidates(shape: ClaimShape) -> Select[Any, Any, Any] | CompoundSelect[Any, Any, Any]:
    """Up to ``limit`` ids in claim order, isolated ones or the others as ``alone`` says.

    Every place gives its rows in order from an index, and the database merges them as far as the
    limit goes: it never sorts a backlog.
    """
    count = shape.queues + shape.types
    return merged([_ready(each, each >= shape.queues) for each in range(count)], desc("priority"))


def _ready(number: int, typed: bool) -> Select[Any, Any, Any]:
    ready = select(_activity.id, _activity.priority, _activity.ready_at).where(
        _pending,
        _activity.queue == bindparam(f"queue_{number}"),
        _activity.isolate == bindparam("alone"),
    )
    return ready.where(_activity.type == bindparam(f"type_{number}")) if typed else ready


def merged(
    terms: Sequence[Select[*tuple[Any, ...]]], *first: ColumnElement[Any]
) -> Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]]:
    """The first ``limit`` rows of these, in the order of ``first``, then of ready time and id."""

    while len(terms) > TERMS:
        groups = (terms[start : start + TERMS] for start in range(0, len(terms), TERMS))
        terms = [select(*merged(group, *first).subquery().c) for group in groups]
    every = terms[0] if len(terms) == 1 else union_all(*terms)
    return every.order_by(*first, "ready_at", "id").limit(bindparam("limit"))


def unindexed(column: ColumnElement[str]) -> ColumnElement[str]:
    """A text column such that no index on it is used, where another one gives the wanted order."""
    return column.concat(literal_column("''"))


def following(claim: ColumnElement[int]) -> ColumnElement[int]:
    """The claim number after ``claim``; after the highest that can be stored it is 1 again.

    Only another program can have stored that one, and no claim of its queue may fail for it. A
    lease is fenced by its worker besides, and no worker has held claim 1 of a row so long.
    """
    return claim % literal_column(str(BIG_INTEGER)) + literal_column("1")


@cache
def claim(shape: ClaimShape) -> Update:
    """Give the candidates to ``holder`` at ``now`` until ``until``; answers them in no order."""
    chosen = candidates(shape).subquery()
    return given(_activity.id.in_(select(chosen.c.id)), _pending)


@cache
def overdue() -> CompoundSelect[Any]:
    """Up to ``limit`` ids of those that wait and whose limits have passed by ``now``."""
    terms = (
        select(_activity.id)
        .where(idle, limit <= bindparam("now"))
        .order_by(limit)
        .limit(bindparam("limit"))
        .subquery()
        for limit in (_activity.expires_at, _activity.deadline_at)
    )
    return union_all(*(select(term.c.id) for term in terms)).limit(bindparam("limit"))


@cache
def claim_overdue() -> Update:
    """As ``claim``, of those that are ``overdue``."""
    return given(_activity.id.in_(select(overdue().subquery().c.id)))


def given(*conditions: ColumnElement[bool]) -> Update:
    """Give the rows of which these hold to ``holder``."""
    return (
        update(activities)
        .where(*conditions)
        .values(
            status=Status.PROCESSING.value,
            claim=following(_activity.claim),
            worker=bindparam("holder"),
            started_at=bindparam("now"),
            lease_until=bindparam("until"),
        )
        .returning(*ATTEMPT)
    )


# -- settle, hand back --


@cache
def holdings() -> Executable:
    """Of ``ids``, what decides whether a write in a worker's name may still happen, kept still."""
    found = select(
        _activity.id,
        _activity.status,
        _activity.worker,
        _activity.claim,
        _activity.lease_until,
        _activity.cancel_requested_at,
        _activity.ready_at,
        _activity.retry_count,
        _activity.crash_count,
        _activity.isolate,
        _activity.cancel_tree,
        _activity.started_at,
        _activity.expires_at,
    ).where(_activity.id.in_(bindparam("ids", expanding=True)))
    return found.order_by(_activity.id).with_for_update()


@cache
def settle() -> Update:
    """Write one change each, only where (``of_id``, ``of_worker``, ``of_claim``) still holds."""
    return (
        update(activities)
        .where(
            _activity.id == bindparam("of_id"),
            _activity.worker == bindparam("of_worker"),
            _activity.claim == bindparam("of_claim"),
            _processing,
        )
        .values(lease_until=None, cancel_requested_at=None)
        .values({name: bindparam(f"new_{name}") for name in SETTLED})
    )


@cache
def insert_events() -> Insert:
    """Insert event rows, one per set of values."""
    return insert(events)


# -- leases --


@cache
def held() -> Executable:
    """What is processing in the name of ``worker``."""
    return select(_activity.id, _activity.claim, _activity.cancel_requested_at).where(
        _processing, _activity.worker == bindparam("worker")
    )


@cache
def renew() -> Update:
    """Let leases last until ``until``, where (``of_id``, ``of_worker``, ``of_claim``) holds."""
    return (
        update(activities)
        .where(
            _activity.id == bindparam("of_id"),
            _activity.worker == bindparam("of_worker"),
            _activity.claim == bindparam("of_claim"),
            _processing,
        )
        .values(lease_until=bindparam("until"))
    )


@cache
def expired() -> Executable:
    """Up to ``limit`` processing rows whose lease ended before ``now``, longest ago first."""
    return (
        select(*ATTEMPT)
        .where(_processing, _activity.lease_until < bindparam("now"))
        .order_by(_activity.lease_until, _activity.id)
        .limit(bindparam("limit"))
    )


# -- promote --


@cache
def next_due() -> Executable:
    """When the first scheduled or retrying row is due."""
    return select(_activity.ready_at).where(_waiting).order_by(_activity.ready_at).limit(1)


@cache
def promote() -> Update:
    """Move up to ``limit`` rows due at ``now`` to pending, in order of their due time."""
    due = (
        select(_activity.id)
        .where(_waiting, _activity.ready_at <= bindparam("now"))
        .order_by(_activity.ready_at, _activity.id)
        .limit(bindparam("limit"))
    )
    return (
        update(activities)
        .where(_activity.id.in_(due.scalar_subquery()))
        .values(status=Status.PENDING.value)
    )


# -- cancel --


@cache
def cancel() -> Update:
    """End ``of_id`` at ``now`` with ``new_error``, where it still is what it ``was``."""
    return (
        update(activities)
        .where(_activity.id == bindparam("of_id"), _activity.status == bindparam("was"))
        .values(
            status=Status.CANCELLED.value,
            error=bindparam("new_error"),
            error_kind=bindparam("new_error_kind"),
            finished_at=bindparam("now"),
        )
    )


@cache
def request_cancel() -> Update:
    """Flag ``of_id``, which is processing."""
    return (
        update(activities)
        .where(_activity.id == bindparam("of_id"), _processing)
        .values(cancel_requested_at=bindparam("now"))
    )


@cache
def request_cancel_of_tree() -> Update:
    """Mark ``of_id``, which is processing and flagged: what it makes is to follow it."""
    return (
        update(activities)
        .where(_activity.id == bindparam("of_id"), _processing)
        .values(cancel_tree=true())
    )


@cache
def descendants() -> Executable:
    """What is below ``tops``, and these: each with the one of them that it belongs to.

    Found by parent_id, level by level; the same one twice only below several of them.
    """
    own = (_activity.id, _activity.parent_id, _activity.status, _activity.claim)
    row = (_activity.id.label("top"), *own)
    tops = select(*row).where(_activity.id.in_(bindparam("tops", expanding=True)))
    found = tops.cte("found", recursive=True)
    child = activities.alias("child").c
    children = select(found.c.top, child.id, child.parent_id, child.status, child.claim)
    below = children.where(child.parent_id == found.c.id, child.parent_id.is_not(None))
    return select(found.union(below))


@cache
def report_progress() -> Update:
    """Keep ``new_progress``, where (``of_id``, ``of_worker``, ``of_claim``) still holds."""
    return (
        update(activities)
        .where(
            _activity.id == bindparam("of_id"),
            _activity.worker == bindparam("of_worker"),
            _activity.claim == bindparam("of_claim"),
            _processing,
        )
        .values(progress=bindparam("new_progress"))
    )


def upsert(table: Table, *primary: str) -> Insert:
    """Insert a row, or replace the one with the same primary columns."""
    statement = insert(table)
    changes = {
        column.name: statement.excluded[column.name]
        for column in table.columns
        if column.name not in primary
    }
    return statement.on_conflict_do_update(index_elements=list(primary), set_=changes)
