"""Claims in which waiting counts (D6), on PostgreSQL: one text for however many places.

Within one priority of a place whoever is ready first has risen furthest, and the index of a claim
has each of them in order already. So the first of every priority of every place are compared, and
only where one of them is among the first of all are its followers read. Nothing is written while an
activity rises.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    FromClause,
    Integer,
    SmallInteger,
    Text,
    any_,
    bindparam,
    column,
    desc,
    extract,
    func,
    literal_column,
    select,
    true,
    values,
)

from taskq.backends.sql.postgres.parts import NOW, SECONDS, array_of, spread
from taskq.backends.sql.postgres.statements import claimed, locked
from taskq.backends.sql.statements import unindexed
from taskq.backends.sql.tables import activities, spelled
from taskq.model import Priority, Status

_activity = activities.c
_pending = _activity.status == spelled(Status.PENDING)
_ZERO: ColumnElement[Any] = literal_column("0")
_ONE: ColumnElement[int] = literal_column("1")
_MOST: ColumnElement[Any] = literal_column(str(max(Priority).value))


@cache
def claim(*, typed: bool) -> Executable:
    """Give up to ``limit`` rows to ``holder`` for ``lease`` seconds, of the first ``window`` that
    nobody holds; an activity rises each ``aging`` seconds. Answers them in no order.

    The places are arrays: ``queues``, and ``types`` beside them where it is ``typed``.
    """
    window: ColumnElement[int] = bindparam("window", type_=Integer())
    lines = _lines(typed)
    head = _first(lines, typed, _ONE)
    heads = select(*lines.c).select_from(lines.join(head, true()))
    best = heads.where(_own(lines, head)).order_by(*_order(head)).limit(window).subquery("best")
    each = _first(best, typed, window)
    chosen = select(each.c.id).select_from(best.join(each, true())).where(_own(best, each))
    ids = chosen.order_by(*_order(each)).limit(window)
    pending = unindexed(_activity.status) == spelled(Status.PENDING)
    free = select(_activity.id).where(_activity.id == any_(array_of(ids)), pending)
    return claimed(locked(free.order_by(_risen().desc(), _activity.ready_at, _activity.id)))


def _lines(typed: bool) -> FromClause:
    """Each priority of each place."""
    columns = {"queues": Text(), "types": Text()} if typed else {"queues": Text()}
    places = spread("places", columns, hidden=False)
    level = column("level", SmallInteger())
    every = [(priority.value,) for priority in Priority]
    levels = values(level, name="levels", literal_binds=True).data(every)
    named = [places.c.queues.label("queue"), levels.c.level]
    if typed:
        named.append(places.c.types.label("type"))
    return select(*named).select_from(places.join(levels, true())).subquery("lines")


def _first(line: FromClause, typed: bool, limit: ColumnElement[int]) -> FromClause:
    """What waits in a line, as the index of a claim has it.

    It begins at the line's priority and goes on below it: a planner without statistics takes the
    index for that, where it would read all that has one priority and sort it.
    """
    ready = select(
        _activity.id, _activity.priority, _activity.ready_at, _risen().label("risen")
    ).where(
        _pending,
        _activity.queue == line.c.queue,
        _activity.isolate == bindparam("alone"),
        _activity.priority <= line.c.level,
    )
    if typed:
        ready = ready.where(_activity.type == line.c.type)
    order = (_activity.priority.desc(), _activity.ready_at, _activity.id)
    return ready.order_by(*order).limit(limit).lateral()


def _own(line: FromClause, found: FromClause) -> ColumnElement[bool]:
    """Not of a lower priority, which is in a line of its own."""
    return found.c.priority == line.c.level


def _order(found: FromClause) -> tuple[ColumnElement[Any], ...]:
    return desc(found.c.risen), found.c.ready_at, found.c.id


def _risen() -> ColumnElement[Any]:
    """The priority that counts."""
    aging: ColumnElement[Any] = bindparam("aging", type_=SECONDS)
    waited = func.greatest(_ZERO, extract("epoch", NOW - _activity.ready_at))
    return func.least(_MOST, _activity.priority + func.floor(waited / aging))
