"""The statements of PostgreSQL that ``statements`` has for SQLite: each is one whole transaction.

Values come as arrays and are spread by ``unnest``. An array hides behind a subselect where rows are
joined to it: then the planner guesses ten of them, walks them and finds each row by its id, while
an array that it could count makes it read a small table whole. Rows are locked in the order of
their ids. What a statement does besides (its commit must reach the disk, hints go out with it) is
in a condition of the outermost part, which is evaluated first; what nothing refers to is never run.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    Boolean,
    ColumnElement,
    CompoundSelect,
    Double,
    Executable,
    Integer,
    Select,
    Subquery,
    Text,
    Uuid,
    any_,
    bindparam,
    case,
    desc,
    func,
    literal_column,
    null,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.types import TypeEngine

from taskq.backends.instants import LAST
from taskq.backends.sql.postgres.parts import (
    INSTANT,
    MOMENT,
    NOW,
    SECOND,
    SECONDS,
    array_of,
    constant,
    lasting,
    limited,
    patient,
    spread,
    telling,
)
from taskq.backends.sql.postgres.parts import lawful as is_lawful
from taskq.backends.sql.queries import left_of
from taskq.backends.sql.statements import (
    ATTEMPT,
    ClaimShape,
    following,
    idle,
    unindexed,
)
from taskq.backends.sql.tables import activities, events, spelled
from taskq.model import Status

_activity = activities.c
_pending = _activity.status == spelled(Status.PENDING)
_processing = _activity.status == spelled(Status.PROCESSING)
_waiting = _activity.status.in_([spelled(Status.SCHEDULED), spelled(Status.RETRYING)])

_last: ColumnElement[Any] = literal_column(f"'{LAST.isoformat()}'", INSTANT)
_ids = bindparam("ids", type_=ARRAY(Uuid()))

OUTCOME: Final[dict[str, TypeEngine[Any]]] = {
    "id": Uuid(),
    "worker": Uuid(),
    "claim": BigInteger(),
    "status": Text(),
    "retry_count": Integer(),
    "crash_count": Integer(),
    "isolate": Boolean(),
    "delay": Double(),
    "result": Text(),
    "error": Text(),
    "error_kind": Text(),
    "fingerprint": Text(),
    "only_if_expired": Boolean(),
    "cancelled": Text(),
    "note": Text(),
    "attempt": Integer(),
    "detail": Text(),
}
"""A transition. ``cancelled`` is the error instead where a cancel was accepted; NULL: none is."""


@cache
def tell() -> Executable:
    """Send hints and nothing else. They may be lost, so nobody waits for the disk."""
    return select(telling()).where(lasting("off"))


@cache
def begin() -> Executable:
    """What the first statement of a longer transaction sets for it; answers its instant."""
    return select(NOW).where(lasting(), patient())


@cache
def begin_reading() -> Executable:
    """The same for one that only reads: no later statement of it takes longer than
    ``statement_timeout``, a text like ``2000ms``."""
    return select(NOW).where(limited())


# -- claim --


@cache
def claim(shape: ClaimShape, *, lawful: bool = False) -> Executable:
    """Give up to ``limit`` rows to ``holder`` for ``lease`` seconds; answers them in no order.

    ``lawful``: none that breaks a rule of the table, which nobody may write.

    One place is walked in order over what others hold locked. Several places are merged first,
    ``window`` of them, without a lock; of these up to ``limit`` that nobody holds are taken.
    """
    if shape.queues + shape.types == 1:
        return claimed(locked(_ready(0, shape.types == 1, lawful)))
    return claimed(free_of(select(_first(shape, lawful).c.id)))


@cache
def claim_served(queues: int, *, lawful: bool = False) -> Executable:
    """The same from the first ``window`` rows of whole queues, where their type is of ``types``:
    of the first ``served`` such rows."""
    first = _first(ClaimShape(queues, 0), lawful).c
    types = bindparam("types", type_=ARRAY(Text()))
    served = select(first.id).where(first.type == any_(types))
    ordered = served.order_by(first.priority.desc(), first.ready_at, first.id)
    return claimed(free_of(ordered.limit(bindparam("served", type_=Integer()))))


def _ready(number: int, typed: bool, lawful: bool) -> Select[*tuple[Any, ...]]:
    """The rows of one place, in claim order, from the index that has them so."""
    ready = select(_activity.id, _activity.priority, _activity.ready_at, _activity.type).where(
        _pending,
        _activity.queue == bindparam(f"queue_{number}"),
        _activity.isolate == bindparam("alone"),
    )
    if typed:
        ready = ready.where(_activity.type == bindparam(f"type_{number}"))
    if lawful:
        ready = ready.where(is_lawful(activities))
    return ready.order_by(_activity.priority.desc(), _activity.ready_at, _activity.id)


def _first(shape: ClaimShape, lawful: bool = False) -> Subquery:
    """The first ``window`` rows of all places.

    Each place is ordered and limited by itself: only then are they merged as they come, and not
    read to their ends and sorted.
    """
    window: ColumnElement[int] = bindparam("window", type_=Integer())
    count = shape.queues + shape.types
    terms = [_ready(each, each >= shape.queues, lawful).limit(window) for each in range(count)]
    if count == 1:
        return terms[0].subquery("chosen")
    merged = union_all(*terms).order_by(desc("priority"), "ready_at", "id")
    return merged.limit(window).subquery("chosen")


def free_of(chosen: Select[Any], *first: ColumnElement[Any]) -> Select[Any]:
    """Of the chosen ids, up to ``limit`` that are still pending and that nobody holds locked.

    In claim order, after the order of ``first``.
    """
    pending = unindexed(_activity.status) == spelled(Status.PENDING)
    free = select(_activity.id).where(_activity.id == any_(array_of(chosen)), pending)
    order = (_activity.priority.desc(), _activity.ready_at, _activity.id)
    return locked(free.order_by(*first, *order))


def locked(found: Select[*tuple[Any, ...]]) -> Select[Any]:
    """The ids of the first ``limit`` of these that nobody holds locked."""
    limited = found.limit(bindparam("limit")).with_only_columns(_activity.id)
    return limited.with_for_update(skip_locked=True)


@cache
def claim_overdue(*, lawful: bool = False) -> Executable:
    """As ``claim``, of up to ``limit`` rows that wait and whose limits have passed."""
    limit: ColumnElement[int] = bindparam("limit", type_=Integer())
    expired = _late(_activity.expires_at, lawful).limit(limit).cte("expired")
    left = limit - select(func.count()).select_from(expired).scalar_subquery()
    overdue = _late(_activity.deadline_at, lawful).limit(left).cte("overdue")
    return claimed(union_all(select(expired.c.id), select(overdue.c.id)))


def _late(limit: ColumnElement[Any], lawful: bool) -> Select[Any]:
    """What nobody holds and has waited beyond a limit, from the index on that."""
    late = select(_activity.id).where(idle, limit <= NOW)
    if lawful:
        late = late.where(is_lawful(activities))
    return late.order_by(limit).with_for_update(skip_locked=True)


def claimed(locked: Select[Any] | CompoundSelect[Any]) -> Executable:
    """Give the rows that ``locked`` finds to ``holder``."""
    return (
        update(activities)
        .where(_activity.id == any_(array_of(locked)), lasting())
        .values(
            status=spelled(Status.PROCESSING),
            claim=following(_activity.claim),
            worker=bindparam("holder"),
            started_at=MOMENT,
            lease_until=MOMENT + bindparam("lease", type_=SECONDS) * SECOND,
        )
        .returning(*ATTEMPT)
    )


@cache
def any_candidate(shape: ClaimShape) -> Executable:
    """Whether any of the places has a row to claim, locked or not."""
    return select(_first(shape).c.id).limit(literal_column("1"))


# -- settle --


@cache
def settle() -> Executable:
    """Apply transitions, the columns of ``OUTCOME``; each id once. Answers for each row that is
    there: id, whether it was applied, status, worker and claim before, whether it was cancelled
    instead, whether its whole tree is to be."""
    given = spread("given", OUTCOME)
    ended = or_(given.c.only_if_expired.is_(False), _activity.lease_until < NOW)
    holds = _processing & (_activity.worker == given.c.worker) & (_activity.claim == given.c.claim)
    held = (
        select(
            *given.c,
            func.coalesce(holds & ended, literal_column("false", Boolean())).label("applies"),
            (given.c.cancelled.is_not(None) & _activity.cancel_requested_at.is_not(None)).label(
                "instead"
            ),
            _activity.cancel_tree,
            _activity.status.label("status_before"),
            _activity.worker.label("worker_before"),
            _activity.claim.label("claim_before"),
        )
        .join_from(given, activities, _activity.id == given.c.id)
        .order_by(given.c.id)
        .with_for_update(of=activities)
        .cte("held")
    )
    before = (held.c.status_before, held.c.worker_before, held.c.claim_before)
    known = (held.c.id, held.c.applies, *before, held.c.instead, held.c.cancel_tree)
    written = (_settled(held).cte("settled"), _noted(held).cte("noted"))
    return select(*known).where(lasting(), telling()).add_cte(*written)


def _settled(held: CTE) -> Any:
    new = held.c
    status = case((new.instead, spelled(Status.CANCELLED)), else_=new.status)
    ends = or_(new.instead, new.cancelled.is_(None))
    ready_at = func.least(NOW + new.delay * SECOND, _last)
    stays = or_(new.instead, new.delay.is_(None))
    kind = case((new.instead, constant("cancelled")), else_=new.error_kind)
    unstarted = or_(new.note.is_(None), _activity.expires_at <= _activity.started_at)
    return (
        update(activities)
        .where(_activity.id == new.id, new.applies)
        .values(
            status=status,
            worker=case((new.only_if_expired, null()), else_=new.worker),
            retry_count=new.retry_count,
            crash_count=new.crash_count,
            isolate=new.isolate,
            ready_at=case((stays, _activity.ready_at), else_=ready_at),
            finished_at=case((ends, NOW)),
            result=case((new.instead, null()), else_=new.result),
            error=case((new.instead, new.cancelled), else_=new.error),
            error_kind=kind,
            fingerprint=new.fingerprint,
            lease_until=null(),
            cancel_requested_at=null(),
            expires_at=case((unstarted, _activity.expires_at)),
        )
        .returning(_activity.id)
    )


def _noted(held: CTE) -> Any:
    new = held.c
    values: dict[str, ColumnElement[Any]] = {
        "activity_id": new.id,
        "at": NOW,
        "kind": new.note,
        "attempt": new.attempt,
        "claim": new.claim,
        "worker": new.worker,
        "detail": new.detail,
    }
    noted = select(*values.values()).where(new.applies, new.note.is_not(None))
    return insert(events).from_select(list(values), noted).returning(events.c.id)


# -- leases --


@cache
def expired() -> Executable:
    """Up to ``limit`` processing rows whose lease has ended, longest ago first."""
    return (
        select(*ATTEMPT)
        .where(_processing, _activity.lease_until < NOW)
        .order_by(_activity.lease_until, _activity.id)
        .limit(bindparam("limit"))
    )


# -- promote, look --


@cache
def promote(*, lawful: bool = False) -> Executable:
    """Move up to ``limit`` due rows to pending, in order of their due time.

    ``lawful`` as for ``claim``. Answers how many, and the seconds until the next one is due; what
    is later than the last instant never is.
    """
    order = (_activity.ready_at, _activity.id)
    waiting = [_waiting, is_lawful(activities)] if lawful else [_waiting]
    due = select(_activity.id).where(*waiting, _activity.ready_at <= NOW).order_by(*order)
    locked = due.limit(bindparam("limit")).with_for_update(skip_locked=True)
    moved = (
        update(activities)
        .where(_activity.id == any_(array_of(locked)))
        .values(status=spelled(Status.PENDING))
        .returning(_activity.id)
        .cte("moved")
    )
    count = select(func.count()).select_from(moved).scalar_subquery()
    coming = select(_activity.ready_at).where(*waiting, _activity.ready_at <= _last)
    first = coming.order_by(*order).offset(count).limit(literal_column("1")).subquery("first")
    following = select(func.extract("epoch", first.c.ready_at - NOW).cast(Double))
    return select(count, following.scalar_subquery()).where(lasting())


@cache
def orphans() -> Executable:
    """What is left of the children of ``ids``, see ``queries.left_of``."""
    return left_of(lambda parent: parent == any_(_ids))


@cache
def outcomes() -> Executable:
    """The states of ``ids``, and how those that ended did."""
    ended = (_activity.result, _activity.error, _activity.error_kind)
    return select(_activity.id, _activity.status, *ended).where(_activity.id == any_(_ids))
