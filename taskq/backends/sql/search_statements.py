"""What a search asks, statement by statement: pure functions, as in ``queries``.

It goes along one index in windows of ids, and asks of the rows in a window what the index does not
know. Whatever a filter says, a statement reads no more than its window.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Executable,
    Select,
    Subquery,
    UnaryExpression,
    Uuid,
    any_,
    func,
    literal,
    literal_column,
    select,
    true,
    tuple_,
    union_all,
)

from taskq.backends.sql.queries import Start, others_of, starts
from taskq.backends.sql.tables import activities, spelled
from taskq.filtering.terms import IdIn
from taskq.model import Status
from taskq.search import Cursor, Order
from taskq.snapshot import Filter

_activity = activities.c
_HIGHEST: Final = 2**128 - 1
_PLANNER: Final = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "random_page_cost": "0",
    "seq_page_cost": "0",
    "jit": "off",
}


class Ground(Struct, frozen=True):
    """What a search goes along, and what it looks for there.

    ``ranges`` of one index are merged; ids lie ``between`` these numbers, included. ``asked`` is
    what must hold besides. ``postgres``: it must be told more than SQLite.
    """

    order: Order
    ranges: tuple[Start, ...]
    asked: tuple[ColumnElement[bool], ...]
    between: tuple[int, int]
    postgres: bool

    @property
    def windowed(self) -> bool:
        """Whether anything must be asked of each row; else what the index gives is the answer.
        Of what is processing all is read, in no order: there is no more of it than runs at once."""
        return self.order is not Order.STARTED and bool(self.asked)


def ground(
    filter: Filter, order: Order, queues: Sequence[str], now: datetime, *, postgres: bool
) -> Ground:
    """Where to look for what a filter asks for; ``queues`` as in ``queries.listed``."""
    ranges: list[Start]
    served: frozenset[str]
    match order:
        case Order.DUE:
            due = _activity.status.in_([spelled(Status.SCHEDULED), spelled(Status.RETRYING)])
            ranges, served = [Start(others=(due,))], frozenset()
            if frozenset(filter.statuses) == order.statuses:
                served = frozenset({"statuses"})
        case Order.STARTED:
            running = _activity.status == spelled(Status.PROCESSING)
            ranges, served = [Start(others=(running,))], frozenset({"statuses"})
        case _:
            ranges, served = starts(filter, queues)
    asked = tuple(others_of(filter, served, now))
    return Ground(order, tuple(ranges), asked, _between(filter), postgres)


@cache
def along_indexes() -> Executable:
    """Until the end of its transaction, have PostgreSQL take the plan that reads the fewest rows.

    Left alone, it sorts a whole range, or filters the index of all ids, where its statistics make
    that look cheaper: when they are not of now, it reads a million rows for a hundred.
    """
    return select(*(func.set_config(name, value, true()) for name, value in _PLANNER.items()))


def matches(ground: Ground, after: Cursor | None, *, window: int, most: int) -> Select[Any, Any]:
    """Id and instant of up to ``most`` of the next ``window`` rows that may match, in order."""
    found = select(_activity.id, _instant(ground.order)).where(*ground.asked)
    if ground.order is Order.STARTED:
        [running] = ground.ranges
        found = found.where(*running.conditions, *_behind(ground.order, after))
    else:
        looked = _window(ground, after, window if ground.windowed else most)
        found = found.where(_among(select(looked.c.id), postgres=ground.postgres))
    return found.order_by(*_keys(ground.order, _activity)).limit(most)


def counted(ground: Ground, after: Cursor | None, *, window: int, most: int) -> Executable:
    """How many these are."""
    if ground.windowed or ground.order is Order.STARTED:
        found = matches(ground, after, window=window, most=most).subquery("found")
        return select(func.count()).select_from(found)
    return select(func.count()).select_from(_window(ground, after, most))


def edge(ground: Ground, after: Cursor | None, *, window: int) -> Executable:
    """Id and instant of the window's last row, and how many rows it has."""
    looked = _window(ground, after, window)
    number = select(func.count()).select_from(looked).scalar_subquery()
    last = select(looked.c.id).order_by(*_keys(ground.order, looked.c, back=True)).limit(1)
    return select(_activity.id, _instant(ground.order), number).where(
        _activity.id == last.scalar_subquery()
    )


def _window(ground: Ground, after: Cursor | None, size: int) -> Subquery:
    """The ids of the next ``size`` rows of the ground, and what else they are ordered by."""
    if ground.order is Order.DUE:
        [due] = ground.ranges
        rows = select(_activity.id, _activity.ready_at)
        rows = rows.where(*due.conditions, *_behind(ground.order, after))
        return rows.order_by(*_keys(ground.order, _activity)).limit(size).subquery("looked")
    low, high = _left(ground, after)
    between = _activity.id.between(low, high)
    parts = [select(_activity.id).where(*each.conditions, between) for each in ground.ranges]
    keys = _keys(ground.order, _activity)
    if len(parts) == 1:
        return parts[0].order_by(*keys).limit(size).subquery("looked")
    if ground.postgres:
        parts = [each.order_by(*keys).limit(size) for each in parts]
    id: ColumnElement[UUID] = literal_column("id", _activity.id.type)
    merged = union_all(*parts).order_by(id.desc() if ground.order is Order.NEWEST else id.asc())
    return merged.limit(size).subquery("looked")


def _among(ids: Select[UUID], *, postgres: bool) -> ColumnElement[bool]:
    """Whether the id is one of these: they are found first, then looked up."""
    if not postgres:
        return _activity.id.in_(ids)
    found: ColumnElement[Any] = func.array(ids.scalar_subquery(), type_=ARRAY(Uuid()))
    return _activity.id == any_(found)


def _left(ground: Ground, after: Cursor | None) -> tuple[UUID, UUID]:
    """The lowest and the highest id that may follow; the wrong way round when there is none."""
    low, high = ground.between
    if after is not None and ground.order is Order.NEWEST:
        high = min(high, after.id.int - 1)
    elif after is not None:
        low = max(low, after.id.int + 1)
    return (UUID(int=low), UUID(int=high)) if low <= high else (UUID(int=1), UUID(int=0))


def _between(filter: Filter) -> tuple[int, int]:
    """Between which ids all lie that match."""
    low, high = 0, _HIGHEST
    for term in filter.where:
        if isinstance(term, IdIn) and term.field == "id":
            low = max(low, min(each.first.int for each in term.spans))
            high = min(high, max(each.last.int for each in term.spans))
    return low, high


def _behind(order: Order, after: Cursor | None) -> tuple[ColumnElement[bool], ...]:
    """What comes after the cursor, by instant."""
    if after is None:
        return ()
    place = tuple_(literal(after.at, _activity.ready_at.type), literal(after.id, _activity.id.type))
    return (tuple_(_sorts(order, _activity), _activity.id) > place,)


def _keys(order: Order, columns: Any, *, back: bool = False) -> list[UnaryExpression[Any]]:
    """What it is ordered by."""
    if order in (Order.DUE, Order.STARTED):
        both = (_sorts(order, columns), columns.id)
        return [each.desc() if back else each.asc() for each in both]
    falling = (order is Order.NEWEST) != back
    return [columns.id.desc() if falling else columns.id.asc()]


def _sorts(order: Order, columns: Any) -> ColumnElement[datetime]:
    """The instant by which DUE and STARTED are ordered."""
    if order is Order.DUE:
        due: ColumnElement[datetime] = columns.ready_at
        return due
    return func.coalesce(columns.started_at, columns.created_at)


def _instant(order: Order) -> ColumnElement[datetime]:
    """What a slice says that it has searched to."""
    timed = order in (Order.DUE, Order.STARTED)
    return (_sorts(order, _activity) if timed else _activity.created_at).label("at")
