"""What a search asks, statement by statement: pure functions, as in ``queries``.

It walks over a part of one index in windows. What the index does not serve is asked of the window's
rows, outside of its LIMIT: whatever a filter says, a statement reads no more than its window.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    Subquery,
    UnaryExpression,
    func,
    literal,
    literal_column,
    select,
    tuple_,
    union_all,
)

from taskq.backends.sql.conditions import Columns
from taskq.backends.sql.queries import Start, others_of, starts
from taskq.backends.sql.tables import activities, spelled
from taskq.filtering.terms import IdIn
from taskq.model import Status
from taskq.search import Cursor, Order
from taskq.snapshot import Filter

_activity = activities.c
_LOWEST: Final = UUID(int=0)
_LOOKED_AT: Final = (
    "id",
    "created_at",
    "ready_at",
    "started_at",
    "queue",
    "type",
    "status",
    "priority",
    "payload",
    "error",
    "fingerprint",
    "tags",
    "source",
    "correlation_id",
    "user_id",
    "idempotency_key",
    "parent_id",
    "root_id",
    "step",
)
"""The columns that orders and filters ask for; a database reads those only that are asked for."""


class Ground(Struct, frozen=True):
    """What a search walks over, and what it looks for there.

    ``ranges`` of one index are merged. ``served`` are the fields of the filter that they serve;
    ``now`` is what ages count from. ``limited``: each range is ordered and limited by itself, as in
    ``queries.listed``.
    """

    filter: Filter
    order: Order
    ranges: tuple[Start, ...]
    served: frozenset[str]
    now: datetime
    limited: bool

    @property
    def windowed(self) -> bool:
        """Whether anything must be asked of each row; else what the index gives is the answer.
        Of what is processing all is read, in no order: there is no more of it than runs at once."""
        return self.order is not Order.STARTED and bool(self.asked(_activity))

    def asked(self, columns: Columns) -> list[ColumnElement[bool]]:
        """What must hold besides."""
        return others_of(self.filter, self.served, self.now, columns)


def ground(
    filter: Filter, order: Order, queues: Sequence[str], now: datetime, *, limited: bool
) -> Ground:
    """Where to look for what a filter asks for; ``queues`` as in ``queries.listed``."""
    ranges: list[Start]
    served: frozenset[str]
    match order:
        case Order.DUE:
            due = _activity.status.in_([spelled(Status.SCHEDULED), spelled(Status.RETRYING)])
            ranges, served = [(due,)], frozenset()
            if frozenset(filter.statuses) == order.statuses:
                served = frozenset({"statuses"})
        case Order.STARTED:
            running = (_activity.status == spelled(Status.PROCESSING),)
            ranges, served = [running], frozenset({"statuses"})
        case _:
            ranges, served = starts(filter, queues)
            ranges = [(*each, *_spans(filter)) for each in ranges]
    return Ground(filter, order, tuple(ranges), served, now, limited)


def matches(ground: Ground, after: Cursor | None, *, window: int, most: int) -> Select[Any, Any]:
    """Id and instant of up to ``most`` of the next ``window`` rows that may match, in order."""
    if not ground.windowed:
        others = ground.asked(_activity)
        rows = _rows(ground, after, limit=most, others=others)
        columns: Columns = rows.c
        found = select(columns.id, _instant(ground.order, columns)).select_from(rows)
        return found.order_by(*_keys(ground.order, columns))
    rows = _rows(ground, after, limit=window)
    found = select(rows.c.id, _instant(ground.order, rows.c)).where(*ground.asked(rows.c))
    return found.order_by(*_keys(ground.order, rows.c)).limit(most)


def counted(ground: Ground, after: Cursor | None, *, window: int, most: int) -> Executable:
    """How many these are."""
    found = matches(ground, after, window=window, most=most).subquery("found")
    return select(func.count()).select_from(found)


def edge(ground: Ground, after: Cursor | None, *, window: int) -> Executable:
    """Id and instant of the window's last row, and how many rows it has."""
    rows = _rows(ground, after, limit=window, only=("id", *_sorted_by(ground.order)))
    number = select(func.count()).select_from(rows).scalar_subquery()
    last = select(rows.c.id).order_by(*_keys(ground.order, rows.c, back=True)).limit(1)
    return select(_activity.id, _instant(ground.order, _activity), number).where(
        _activity.id == last.scalar_subquery()
    )


def _rows(
    ground: Ground,
    after: Cursor | None,
    *,
    limit: int,
    others: Sequence[ColumnElement[bool]] = (),
    only: Sequence[str] = _LOOKED_AT,
) -> Subquery:
    """The next rows of the ground, in order; those only of which the others hold."""
    columns = [_activity[name] for name in only]
    behind = _behind(ground.order, after)
    parts = [select(*columns).where(*each, *behind, *others) for each in ground.ranges]
    keys = _keys(ground.order, _activity)
    if len(parts) == 1:
        return parts[0].order_by(*keys).limit(limit).subquery("looked")
    if ground.limited:
        parts = [each.order_by(*keys).limit(limit) for each in parts]
    backwards = ground.order is Order.NEWEST
    merged: ColumnElement[Any] = literal_column("id")
    both = union_all(*parts).order_by(merged.desc() if backwards else merged).limit(limit)
    return both.subquery("looked")


def _behind(order: Order, after: Cursor | None) -> Start:
    """What comes after the cursor. Ids that another program has stored as text, which no cursor can
    name, come last this way in each order."""
    if after is None:
        return (_activity.id >= _LOWEST,) if order is Order.OLDEST else ()
    match order:
        case Order.NEWEST:
            return (_activity.id < after.id,)
        case Order.OLDEST:
            return (_activity.id > after.id,)
        case Order.DUE | Order.STARTED:
            at = _sorts(order, _activity)
            place = tuple_(
                literal(after.at, _activity.ready_at.type), literal(after.id, _activity.id.type)
            )
            return (tuple_(at, _activity.id) > place,)


def _keys(order: Order, columns: Columns, *, back: bool = False) -> list[UnaryExpression[Any]]:
    """What it is ordered by."""
    if order in (Order.DUE, Order.STARTED):
        both = (_sorts(order, columns), columns.id)
        return [each.desc() if back else each.asc() for each in both]
    falling = (order is Order.NEWEST) != back
    return [columns.id.desc() if falling else columns.id.asc()]


def _sorts(order: Order, columns: Columns) -> ColumnElement[datetime]:
    """The instant by which DUE and STARTED are ordered."""
    if order is Order.DUE:
        due: ColumnElement[datetime] = columns.ready_at
        return due
    return func.coalesce(columns.started_at, columns.created_at)


def _instant(order: Order, columns: Columns) -> ColumnElement[datetime]:
    """What a slice says that it has searched to."""
    timed = order in (Order.DUE, Order.STARTED)
    return (_sorts(order, columns) if timed else columns.created_at).label("at")


def _sorted_by(order: Order) -> tuple[str, ...]:
    return ("ready_at",) if order is Order.DUE else ()


def _spans(filter: Filter) -> Start:
    """Between which ids they lie, where the filter says so: part of the range, not of what is asked
    of each row."""
    asked = [term.spans for term in filter.where if isinstance(term, IdIn) and term.field == "id"]
    return tuple(
        _activity.id.between(min(each.first for each in spans), max(each.last for each in spans))
        for spans in asked
    )
