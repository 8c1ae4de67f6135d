"""Bounded queues in SQL: calls are inserted, then the queue is counted with them among the rest.

Nobody else counts it meanwhile: producers of a queue wait for each other at its row of kind
``bound``, which each of them writes; it keeps for how many more calls the last count vouches. Under
REPEATABLE READ that write fails where another producer has committed since, so that no count is an
old one. What waits longer at that row is what the transaction around it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Executable,
    bindparam,
    case,
    func,
    literal_column,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from taskq.backends.bounding import TRIES, VOUCHED, Demand, demands
from taskq.backends.changes import Changes
from taskq.backends.sql import rows, statements
from taskq.backends.sql.cancelling import cancel_below
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.postgres.parts import MOMENT, telling
from taskq.backends.sql.settling import Holding, holdings
from taskq.backends.sql.tables import activities as table
from taskq.backends.sql.tables import queues, spelled
from taskq.backends.sql.types import Instant
from taskq.lifecycle import evicted_error
from taskq.model import Activity, Bound, Overflow, Receipt, Status
from taskq.pausing import WAITING

_activity = table.c
_TURN = "bound"
_ZERO: ColumnElement[int] = literal_column("0", BigInteger())


class Turn(Struct, frozen=True):
    """A producer's turn ``at`` an instant: for which bound the queue was ``counted`` last and when,
    and how many of the calls that this vouches for are left after those of this turn."""

    at: datetime
    counted: int | None
    counted_at: datetime | None
    left: int

    def vouches(self, bound: Bound) -> bool:
        """Whether these calls have room for sure. A clock that was set back makes it unsure."""
        if self.counted != bound.most or self.counted_at is None or self.left < 0:
            return False
        return 0 <= (self.at - self.counted_at).total_seconds() < VOUCHED


class Room:
    """The room that one submit needs. Made before the calls are inserted, it learns which of them
    are there already; no statement where none is bounded. ``changes`` has what ended to make room.
    """

    def __init__(
        self, connection: Connection, now: datetime, activities: Sequence[Activity[object]]
    ) -> None:
        self.changes = Changes()
        self._connection = connection
        self._now = now
        self._activities = activities
        ids = [activity.id for activity in activities if activity.needs_room]
        found = chunked(connection, statements.existing(), "ids", ids)
        self._before = {row.id for row in found}
        self._bounded = bool(ids)

    def keep(self, receipts: Sequence[Receipt]) -> None:
        """See that the calls, which were inserted, have room, or make some. Raises QueueFull."""
        if not self._bounded:
            return
        for demand in demands(self._activities, receipts, self._before):
            turn = self._take_turn(demand)
            if turn.vouches(demand.bound):
                continue
            vouched = demand.vouched(self._make(demand))
            if vouched:
                values = {"queue": demand.queue, "new_counted": demand.bound.most}
                self._connection.execute(
                    keep_count(), {**values, "new_vouched": vouched, "at": turn.at}
                )

    def _take_turn(self, demand: Demand) -> Turn:
        values: dict[str, object] = {"queue": demand.queue, "wanted": len(demand.ids)}
        if self._connection.dialect.name == "postgresql":
            found = self._connection.execute(turn_on_postgres(), values)
        else:
            found = self._connection.execute(turn_on_sqlite(), {**values, "now": self._now})
        return Turn(*found.one())

    def _make(self, demand: Demand) -> int:
        """See that there is room; how many wait then."""
        waiting, evicted = 0, 0
        for _ in range(TRIES):
            values = {"queue": demand.queue, "cap": demand.counted_to}
            waiting = sum(self._connection.execute(count(), values).one())
            shortage = min(demand.shortage(waiting), len(demand.ids) - evicted)
            if not shortage:
                return waiting
            if demand.bound.overflow is not Overflow.DROP_OLDEST:
                break
            most = shortage + len(demand.ids)
            found = self._connection.scalars(oldest_roots(), {"queue": demand.queue, "limit": most})
            victims = [id for id in found if id not in demand.ids][:shortage]
            if len(victims) < shortage:
                break
            gone = self._evict(demand.queue, victims)
            if gone == shortage:
                return waiting - gone
            evicted += gone
        raise demand.refused(waiting)

    def _evict(self, queue: str, victims: Sequence[UUID]) -> int:
        """End those of them that still wait, and cancel what is below these; how many."""
        found = holdings(self._connection, sorted(victims))
        gone = [row for row in found.values() if row.status in WAITING]
        if gone:
            ends = [_evicted(row, queue, self._now) for row in gone]
            self._connection.execute(statements.cancel(), ends)
            self.changes.done.update(row.id for row in gone)
            cancel_below(self._connection, self._now, [row.id for row in gone], self.changes)
        return len(gone)


def _evicted(row: Holding, queue: str, now: datetime) -> dict[str, object]:
    error = evicted_error(queue, row.attempt)
    return {
        "of_id": row.id,
        "was": row.status.value,
        "now": now,
        "new_error": rows.error_text(error),
        "new_error_kind": error.kind.value,
    }


# -- statements --


@cache
def turn_on_postgres() -> Executable:
    """Wait until no other producer of ``queue`` is in a transaction; take ``wanted`` of the calls
    that the last count vouches for. Answers a Turn."""
    return _turn(postgresql.insert(queues), MOMENT)


@cache
def turn_on_sqlite() -> Executable:
    """The same at ``now``: there is one writer at a time."""
    return _turn(sqlite.insert(queues), bindparam("now", type_=Instant()))


def _turn(insert: Any, now: ColumnElement[Any]) -> Executable:
    row = queues.c
    left = case((row.vouched > _ZERO, row.vouched), else_=_ZERO)
    first: dict[str, Any] = {"kind": _TURN, "name": bindparam("queue"), "vouched": _ZERO}
    wanted = bindparam("wanted", type_=BigInteger())
    again = {"vouched": left - wanted, "updated_at": now}
    taken: Executable = (
        insert.values(**first, updated_at=now)
        .on_conflict_do_update(index_elements=["kind", "name"], set_=again)
        .returning(row.updated_at, row.counted, row.counted_at, row.vouched)
    )
    return taken


@cache
def keep_count() -> Executable:
    """Let the count of ``queue``, made ``at`` an instant, vouch for so many calls."""
    of_queue = (queues.c.kind == literal_column(f"'{_TURN}'"), queues.c.name == bindparam("queue"))
    return (
        update(queues)
        .where(*of_queue)
        .values(
            counted=bindparam("new_counted"),
            counted_at=bindparam("at"),
            vouched=bindparam("new_vouched"),
        )
    )


@cache
def count() -> Executable:
    """How many of ``queue`` are pending, and how many not yet, each counted up to ``cap``."""
    of_queue = _activity.queue == bindparam("queue")
    later = [spelled(each) for each in WAITING if each is not Status.PENDING]
    one: ColumnElement[int] = literal_column("1")
    # The orders are those of the indexes by queue. Without them the table, or the index by time,
    # would be read on and on for the few rows of one queue.
    pending = select(one).where(of_queue, _activity.status == spelled(Status.PENDING))
    due = select(one).where(of_queue, _activity.status.in_(later))
    order = (_activity.isolate, _activity.priority.desc(), _activity.ready_at, _activity.id)
    ordered = (pending.order_by(*order), due.order_by(_activity.type))
    capped = (each.limit(bindparam("cap")).subquery() for each in ordered)
    return select(*(select(func.count()).select_from(each).scalar_subquery() for each in capped))


@cache
def oldest_roots() -> Executable:
    """The ids of the ``limit`` oldest of ``queue`` that wait and have no parent."""
    terms = (
        select(_activity.id)
        .where(
            _activity.queue == bindparam("queue"),
            _activity.status == spelled(status),
            _activity.parent_id.is_(None),
        )
        .order_by(_activity.id)
        .limit(bindparam("limit"))
        .subquery()
        for status in WAITING
    )
    every = union_all(*(select(term.c.id) for term in terms))
    return every.order_by("id").limit(bindparam("limit"))


@cache
def tell() -> Executable:
    """Send hints with the commit, whose durability is not touched."""
    return select(telling())


@cache
def moment() -> Executable:
    """The database's instant."""
    return select(MOMENT.label("now"))
