"""Claims in which waiting counts (D6): by the priority that an activity has risen to.

Within one priority whoever is ready first has risen furthest, so the index of a claim has each of
them in order already: of each priority of each place the first rows are taken, and these are
merged. Nothing is written while an activity rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    Select,
    Update,
    any_,
    bindparam,
    case,
    desc,
    extract,
    func,
    literal_column,
    select,
)

from taskq.aging import LEVELS
from taskq.backends.sql.postgres.parts import NOW, SECONDS, array_of
from taskq.backends.sql.postgres.statements import claimed, locked
from taskq.backends.sql.statements import ClaimShape, given, merged, unindexed
from taskq.backends.sql.tables import activities, spelled
from taskq.backends.sql.types import Instant
from taskq.model import Priority, Status

_activity = activities.c
_pending = _activity.status == spelled(Status.PENDING)
_ZERO: ColumnElement[Any] = literal_column("0")
_MOST: ColumnElement[Any] = literal_column(str(max(Priority).value))


@cache
def on_postgres(shape: ClaimShape) -> Executable:
    """Give up to ``limit`` rows to ``holder`` for ``lease`` seconds, of the first ``window`` that
    nobody holds; an activity rises each ``aging`` seconds. Answers them in no order.

    A term begins at its priority and goes on below it where that has few: a planner without
    statistics takes the index for that, where it would read all that has one priority and sort it.
    """
    aging: ColumnElement[Any] = bindparam("aging", type_=SECONDS)
    waited = func.greatest(_ZERO, extract("epoch", NOW - _activity.ready_at))
    risen = func.least(_MOST, _activity.priority + func.floor(waited / aging))
    window: ColumnElement[int] = bindparam("window", type_=Integer())
    first, *others = (
        _first(
            _ready(shape, place, risen).where(_activity.priority <= literal_column(str(priority))),
            window,
        )
        for place, priority in _starts(shape)
    )
    chosen = first.union(*others).order_by(desc("risen"), "ready_at", "id")
    ids = select(chosen.limit(window).subquery("chosen").c.id)
    pending = unindexed(_activity.status) == spelled(Status.PENDING)
    free = select(_activity.id).where(_activity.id == any_(array_of(ids)), pending)
    return claimed(locked(free.order_by(risen.desc(), _activity.ready_at, _activity.id)))


@cache
def on_sqlite(shape: ClaimShape) -> Update:
    """The same at ``now`` until ``until``. ``risen_1`` and so on: since when an activity is ready
    that has risen so far."""
    thresholds = [bindparam(f"risen_{level}", type_=Instant()) for level in _levels()]
    terms = [
        _first(
            _ready(shape, place, _risen(priority, thresholds)).where(
                _activity.priority == literal_column(str(priority.value))
            ),
            bindparam("limit"),
        )
        for place, priority in _starts(shape)
    ]
    chosen = merged(terms, desc("risen")).subquery()
    return given(_activity.id.in_(select(chosen.c.id)), _pending)


def _starts(shape: ClaimShape) -> list[tuple[int, Priority]]:
    """Where the terms begin: at each priority of each place."""
    places = range(shape.queues + shape.types)
    return [(place, priority) for place in places for priority in reversed(Priority)]


def _ready(shape: ClaimShape, place: int, risen: ColumnElement[int]) -> Select[Any, Any, Any]:
    """What waits in one place, with the priority that counts."""
    ready = select(_activity.id, risen.label("risen"), _activity.ready_at).where(
        _pending,
        _activity.queue == bindparam(f"queue_{place}"),
        _activity.isolate == bindparam("alone"),
    )
    if place >= shape.queues:
        ready = ready.where(_activity.type == bindparam(f"type_{place}"))
    return ready


def _first(ready: Select[Any, Any, Any], limit: ColumnElement[int]) -> Select[Any, Any, Any]:
    """The first of these, as the index of a claim has them."""
    order = (_activity.priority.desc(), _activity.ready_at, _activity.id)
    first = ready.order_by(*order).limit(limit).subquery()
    return select(first.c.id, first.c.risen, first.c.ready_at)


def _risen(priority: Priority, thresholds: Sequence[ColumnElement[Any]]) -> ColumnElement[int]:
    """The priority that counts, of a row of this one."""
    most = max(Priority) - priority
    steps: list[tuple[ColumnElement[bool], ColumnElement[int]]] = [
        (_activity.ready_at <= thresholds[level - 1], literal_column(str(priority + level)))
        for level in range(most, 0, -1)
    ]
    own: ColumnElement[int] = literal_column(str(priority.value), Integer())
    return case(*steps, else_=own) if steps else own


def _levels() -> range:
    return range(1, LEVELS + 1)
