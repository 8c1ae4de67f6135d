"""Bounded queues in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from taskq.backends.bounding import Demand
from taskq.backends.changes import Changes
from taskq.backends.memory.cancelling import cancel_below
from taskq.backends.memory.row import Row
from taskq.backends.memory.tables import Tables
from taskq.lifecycle import evicted_error
from taskq.model import Overflow, Status


def making_room(tables: Tables, demand: Demand) -> Sequence[Row]:
    """What must go before these calls are stored. Raises QueueFull."""
    waiting = tables.waiting.get(demand.queue, {})
    shown = min(len(waiting), demand.bound.most + 1) + len(demand.ids)
    shortage = demand.shortage(len(waiting) + len(demand.ids))
    if not shortage:
        return ()
    roots = sorted(
        (row for row in waiting.values() if row.activity.parent_id is None), key=lambda row: row.id
    )
    if demand.bound.overflow is not Overflow.DROP_OLDEST or len(roots) < shortage:
        raise demand.refused(shown)
    return roots[:shortage]


def evict(tables: Tables, victims: Sequence[Row], now: datetime, changes: Changes) -> None:
    """End them, and cancel what is below them."""
    for row in victims:
        row.error = evicted_error(row.activity.queue, row.number)
        tables.move(row, Status.CANCELLED, now)
        changes.moved(row.id, row.status)
        cancel_below(tables, row.id, now, changes)
