"""Claims of what others wait for: activities with a parent, the deepest first (design 7.10).

Only a worker at its ``max_suspended`` asks for them. Types that it does not serve are walked over.
The queues, ``queue_0`` and so on, each give their deepest from an index, and these are merged.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Executable,
    Integer,
    Select,
    Subquery,
    Text,
    Update,
    any_,
    bindparam,
    desc,
    func,
    literal_column,
    select,
    union_all,
)

from taskq.backends.sql.postgres.parts import lawful as is_lawful
from taskq.backends.sql.postgres.statements import claimed, free_of, locked
from taskq.backends.sql.statements import given, merged
from taskq.backends.sql.tables import activities, spelled
from taskq.model import Status

_activity = activities.c
_pending = _activity.status == spelled(Status.PENDING)
_of_types: ColumnElement[bool] = _activity.type == any_(bindparam("types", type_=ARRAY(Text())))


@cache
def on_postgres(queues: int, *, typed: bool, lawful: bool = False) -> Executable:
    """Give up to ``limit`` children in so many queues to ``holder``; typed: of ``types``.

    As ``postgres.statements.claim``, ``lawful`` too: one queue is walked over what others hold; of
    several, the first ``window`` are looked at, and of these those taken that nobody holds.
    """
    if queues == 1:
        return claimed(locked(_on_postgres(0, typed, lawful)))
    return claimed(free_of(select(_first(queues, typed, lawful).c.id), _activity.depth.desc()))


@cache
def any_on_postgres(queues: int, *, typed: bool) -> Executable:
    """Whether there is one to claim, locked or not."""
    return select(_first(queues, typed).c.id).limit(literal_column("1"))


@cache
def on_sqlite(queues: int, *, typed: bool) -> Update:
    """The same at ``now`` until ``until``; ``types`` is the JSON text of a list."""
    wanted = func.json_each(bindparam("types")).table_valued("value").c.value
    of_types = (_activity.type.in_(select(wanted)),) if typed else ()
    terms = [_ready(number).where(*of_types) for number in range(queues)]
    chosen = merged(terms, desc("depth"), desc("priority")).subquery()
    return given(_activity.id.in_(select(chosen.c.id)), _pending)


def _ready(number: int) -> Select[Any, Any, Any, Any]:
    """The children that wait in one queue."""
    columns = (_activity.id, _activity.depth, _activity.priority, _activity.ready_at)
    return select(*columns).where(
        _pending,
        _activity.parent_id.is_not(None),
        _activity.queue == bindparam(f"queue_{number}"),
        _activity.isolate == bindparam("alone"),
    )


def _on_postgres(number: int, typed: bool, lawful: bool) -> Select[Any, Any, Any, Any]:
    """The same, of the types, the deepest first."""
    ready = _ready(number).where(_of_types) if typed else _ready(number)
    if lawful:
        ready = ready.where(is_lawful(activities))
    return ready.order_by(
        _activity.depth.desc(), _activity.priority.desc(), _activity.ready_at, _activity.id
    )


def _first(queues: int, typed: bool, lawful: bool = False) -> Subquery:
    """The first ``window`` of all queues. Each is limited by itself: only then is it merged."""
    window: ColumnElement[int] = bindparam("window", type_=Integer())
    terms = [_on_postgres(number, typed, lawful).limit(window) for number in range(queues)]
    every = union_all(*terms).order_by(desc("depth"), desc("priority"), "ready_at", "id")
    return every.limit(window).subquery("chosen")
