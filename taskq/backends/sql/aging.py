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
    literal_column,
    select,
)

from taskq.aging import LEVELS
from taskq.backends.sql.postgres_parts import NOW, SECOND, SECONDS, array_of
from taskq.backends.sql.postgres_statements import claimed, locked
from taskq.backends.sql.statements import ClaimShape, given, merged, unindexed
from taskq.backends.sql.tables import activities, spelled
from taskq.backends.sql.types import Instant
from taskq.model import Priority, Status

_activity = activities.c
_pending = _activity.status == spelled(Status.PENDING)


@cache
def on_postgres(shape: ClaimShape) -> Executable:
    """Give up to ``limit`` rows to ``holder`` for ``lease`` seconds, of the first ``window`` that
    nobody holds; an activity rises each ``aging`` seconds. Answers them in no order."""
    aging: ColumnElement[Any] = bindparam("aging", type_=SECONDS)
    thresholds = [NOW - aging * literal_column(str(level)) * SECOND for level in _levels()]
    window: ColumnElement[int] = bindparam("window", type_=Integer())
    chosen = _first(shape, thresholds, window).order_by(desc("risen"), "ready_at", "id")
    ids = select(chosen.limit(window).subquery("chosen").c.id)
    pending = unindexed(_activity.status) == spelled(Status.PENDING)
    free = select(_activity.id).where(_activity.id == any_(array_of(ids)), pending)
    whens = [
        (_activity.priority == priority.value, _risen(priority, thresholds))
        for priority in Priority
    ]
    order = (case(*whens, else_=_activity.priority).desc(), _activity.ready_at, _activity.id)
    return claimed(locked(free.order_by(*order)))


@cache
def on_sqlite(shape: ClaimShape) -> Update:
    """The same at ``now`` until ``until``. ``risen_1`` and so on: since when an activity is ready
    that has risen so far."""
    thresholds = [bindparam(f"risen_{level}", type_=Instant()) for level in _levels()]
    terms = _terms(shape, thresholds, bindparam("limit"))
    chosen = merged(terms, desc("risen")).subquery()
    return given(_activity.id.in_(select(chosen.c.id)), _pending)


def _first(
    shape: ClaimShape, thresholds: Sequence[ColumnElement[Any]], limit: ColumnElement[int]
) -> Any:
    first, *others = _terms(shape, thresholds, limit)
    return first.union_all(*others)


def _terms(
    shape: ClaimShape, thresholds: Sequence[ColumnElement[Any]], limit: ColumnElement[int]
) -> list[Select[Any, Any, Any]]:
    """The first rows of each priority of each place, with the priority that counts."""
    terms: list[Select[Any, Any, Any]] = []
    for place in range(shape.queues + shape.types):
        for priority in reversed(Priority):
            ready = select(
                _activity.id, _risen(priority, thresholds).label("risen"), _activity.ready_at
            ).where(
                _pending,
                _activity.queue == bindparam(f"queue_{place}"),
                _activity.isolate == bindparam("alone"),
                _activity.priority == literal_column(str(priority.value)),
            )
            if place >= shape.queues:
                ready = ready.where(_activity.type == bindparam(f"type_{place}"))
            first = ready.order_by(_activity.ready_at, _activity.id).limit(limit).subquery()
            terms.append(select(first.c.id, first.c.risen, first.c.ready_at))
    return terms


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
