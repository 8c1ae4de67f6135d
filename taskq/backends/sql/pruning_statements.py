"""What deletion reads and writes: functions returning statements, as in ``statements``."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Delete,
    Executable,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    select,
    tuple_,
)

from taskq.backends.sql.tables import activities, events, keys
from taskq.backends.sql.types import Id, Instant

_activity = activities.c

LOOKED_AT: Final = 1000
"""Activities that one batch looks at, at the most, to find tops of trees."""

PRUNING: Final = 1_953_591_409
"""The first half of the advisory lock that only one program has at a time, which prunes."""

_since = func.coalesce(_activity.finished_at, _activity.created_at, type_=Instant())
_ids: BindParameter[Any] = bindparam("ids", expanding=True)


# -- trees --


@cache
def trees() -> Executable:
    """What is below ``tops``, and these: each with the one of them that it belongs to.

    As ``statements.descendants``, with what retention needs.
    """
    own = (_activity.id, _activity.status, _since.label("since"))
    tops = select(_activity.id.label("top"), *own).where(
        _activity.id.in_(bindparam("tops", expanding=True))
    )
    found = tops.cte("found", recursive=True)
    child = activities.alias("child").c
    since = func.coalesce(child.finished_at, child.created_at, type_=Instant())
    children = select(found.c.top, child.id, child.status, since)
    below = children.where(child.parent_id == found.c.id, child.parent_id.is_not(None))
    return select(found.union(below))


@cache
def kept_still(*, patient: bool) -> Executable:
    """Of ``ids``, how each has ended, in their order, kept still until the transaction ends.

    Not ``patient``: without those that others hold.
    """
    found = select(_activity.id, _activity.status, _since.label("since"))
    found = found.where(_activity.id.in_(_ids)).order_by(_activity.id)
    return found.with_for_update(skip_locked=not patient)


# -- which may go --


@cache
def next_queue() -> Executable:
    """The first queue after ``queue``: one step in an index."""
    return select(func.min(_activity.queue)).where(_activity.queue > bindparam("queue"))


@cache
def due_tops(*, postgres: bool) -> Executable:
    """Up to ``limit`` ids of those in a queue and status, after ``after``, that ended by ``cutoff``
    and stand below nothing. Looks at ``LOOKED_AT`` at the most.

    A NOT EXISTS would be carried out by reading the whole table once, to have all parents at hand.
    """
    looked = _looked_at(postgres).subquery("looked")
    mother = activities.alias("mother").c
    above = select(mother.id).where(mother.id == looked.c.parent_id).limit(literal_column("1"))
    top = above.scalar_subquery().is_(None)
    due = looked.c.since <= bindparam("cutoff", type_=Instant())
    return select(looked.c.id).where(due, top).order_by(looked.c.id).limit(_number("limit"))


@cache
def end_of_look(*, postgres: bool) -> Executable:
    """Where ``due_tops`` stops looking: the last id, NULL where there was nothing; whether it may
    go on; and whether any of these was made by ``cutoff``: what was made later cannot have ended
    by then."""
    looked = _looked_at(postgres).cte("looked")
    last = select(looked.c.id).order_by(looked.c.id.desc()).limit(literal_column("1"))
    count = select(func.count()).select_from(looked).scalar_subquery()
    earlier = exists().where(looked.c.created_at <= bindparam("cutoff", type_=Instant()))
    return select(
        last.scalar_subquery().label("last"),
        (count >= literal_column(str(LOOKED_AT))).label("more"),
        earlier.label("earlier"),
    )


def _looked_at(postgres: bool) -> Select[Any, Any, Any, Any]:
    """Those of ``queue`` and ``status`` after ``after``, in the order of ids, from the index that
    lists go by.

    PostgreSQL would rather walk the primary key, over all that is of another state: so it is asked
    for an order that only this index has.
    """
    queue, status = bindparam("queue", type_=Text()), bindparam("status", type_=Text())
    after = bindparam("after", type_=Id())
    found = select(_activity.id, _activity.parent_id, _activity.created_at, _since.label("since"))
    found = found.where(_activity.queue == queue).limit(literal_column(str(LOOKED_AT)))
    if not postgres:
        return found.where(_activity.status == status, _activity.id > after).order_by(_activity.id)
    place = (_activity.queue, _activity.status, _activity.id)
    later = tuple_(*place) > tuple_(queue, status, after)
    return found.where(_activity.status <= status, later).order_by(*place)


def _number(name: str) -> ColumnElement[int]:
    return bindparam(name, type_=Integer())


@cache
def alone() -> Executable:
    """PostgreSQL: whether nobody else prunes in ``schema``, a number of 32 bits."""
    ours = literal_column(str(PRUNING), Integer())
    return select(func.pg_try_advisory_xact_lock(ours, _number("schema")))


# -- what goes with them --


@cache
def keys_not_held() -> Executable:
    """The keys that point at ``ids`` in their order, kept still, without those that others hold."""
    found = select(keys.c.hash, keys.c.activity_id).where(keys.c.activity_id.in_(_ids))
    return found.order_by(keys.c.hash).with_for_update(skip_locked=True)


@cache
def delete_keys() -> Delete:
    """Free ``hashes``, which are kept still."""
    return delete(keys).where(keys.c.hash.in_(bindparam("hashes", expanding=True)))


@cache
def delete_events() -> Delete:
    """The events of ``ids``."""
    return delete(events).where(events.c.activity_id.in_(_ids))


@cache
def delete_activities() -> Delete:
    """``ids`` themselves, which are kept still."""
    return delete(activities).where(_activity.id.in_(_ids))


_expired = and_(keys.c.expires_at.is_not(None), keys.c.expires_at <= bindparam("now"))


@cache
def any_expired() -> Executable:
    """A key that expired by ``now``, if there is one."""
    return select(keys.c.hash).where(_expired).order_by(keys.c.expires_at).limit(1)


@cache
def expired_keys() -> Executable:
    """Up to ``limit`` keys that expired by ``now``, kept still, without those that others hold."""
    found = select(keys.c.hash).where(_expired).order_by(keys.c.expires_at)
    return found.limit(_number("limit")).with_for_update(skip_locked=True)
