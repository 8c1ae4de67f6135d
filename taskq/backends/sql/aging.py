"""Claims in which waiting counts (D6), on SQLite: one text for however many places.

As on PostgreSQL, see ``postgres.aging``: the first of every priority of every place are compared,
and only where one of them is among the first of all are its followers read.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Text,
    Update,
    bindparam,
    case,
    desc,
    func,
    literal_column,
    select,
    true,
)

from taskq.aging import LEVELS
from taskq.backends.sql.statements import given
from taskq.backends.sql.tables import activities, spelled
from taskq.backends.sql.types import Instant
from taskq.model import Priority, Status

_pending = activities.c.status == spelled(Status.PENDING)
_ONE: ColumnElement[int] = literal_column("1")


@cache
def claim(*, typed: bool) -> Update:
    """Give up to ``limit`` rows to ``holder`` at ``now`` until ``until``. Answers them in no order.

    ``places`` is the JSON text of a list of [queue, type] where it is ``typed``, of [queue] else;
    ``risen_1`` and so on: since when an activity is ready that has risen so far.
    """
    limit: ColumnElement[int] = bindparam("limit", type_=Integer())
    lines = _lines(typed)
    head = activities.alias("head")
    first = head.c.id == _waiting(lines, typed, _ONE).scalar_subquery()
    heads = select(*lines.c).select_from(lines.join(head, first)).order_by(*_order(lines, head))
    best = heads.limit(limit).subquery("best")
    each = activities.alias("each")
    followers = best.join(each, each.c.id.in_(_waiting(best, typed, limit)))
    chosen = select(each.c.id).select_from(followers).order_by(*_order(best, each)).limit(limit)
    return given(activities.c.id.in_(chosen.scalar_subquery()), _pending)


def _lines(typed: bool) -> FromClause:
    """Each priority of each place."""
    all_levels = literal_column(f"'{[priority.value for priority in Priority]}'", Text())
    places = func.json_each(bindparam("places", type_=Text())).table_valued("value", name="places")
    levels = func.json_each(all_levels).table_valued("value", name="levels")
    level: ColumnElement[int] = levels.c.value.label("level")
    named = [_named(places.c.value, 0).label("queue"), level]
    if typed:
        named.append(_named(places.c.value, 1).label("type"))
    return select(*named).select_from(places.join(levels, true())).subquery("lines")


def _named(place: ColumnElement[Any], number: int) -> ColumnElement[Any]:
    return func.json_extract(place, literal_column(f"'$[{number}]'"), type_=Text())


def _waiting(line: FromClause, typed: bool, limit: ColumnElement[int]) -> Any:
    """The ids of what waits in a line, as the index of a claim has them."""
    waiting = activities.alias("waiting")
    found = select(waiting.c.id).where(
        waiting.c.status == spelled(Status.PENDING),
        waiting.c.queue == line.c.queue,
        waiting.c.isolate == bindparam("alone"),
        waiting.c.priority == line.c.level,
    )
    if typed:
        found = found.where(waiting.c.type == line.c.type)
    return found.order_by(waiting.c.ready_at, waiting.c.id).limit(limit).correlate(line)


def _order(line: FromClause, found: FromClause) -> tuple[ColumnElement[Any], ...]:
    return desc(_risen(line.c.level, found.c.ready_at)), found.c.ready_at, found.c.id


def _risen(level: ColumnElement[int], ready_at: ColumnElement[Any]) -> ColumnElement[int]:
    """The priority that counts, of a row of this one."""
    most: ColumnElement[int] = literal_column(str(max(Priority).value))
    steps = [
        (ready_at <= bindparam(f"risen_{rise}", type_=Instant()), level + literal_column(str(rise)))
        for rise in range(LEVELS, 0, -1)
    ]
    return func.min(case(*steps, else_=level), most)
