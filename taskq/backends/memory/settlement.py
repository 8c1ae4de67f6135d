"""Applying one transition to its row, by compare-and-set."""

from __future__ import annotations

from datetime import datetime, timedelta

from taskq.backends.memory.row import Row, new_row
from taskq.backends.memory.storable import check_storable
from taskq.backends.memory.tables import Tables
from taskq.backends.memory.watches import Changes
from taskq.backends.timeline import transition_detail
from taskq.lifecycle import Settlement, Transition, Verdict, cancelled_error
from taskq.model import Status


def check_transition(transition: Transition) -> None:
    """Raise BackendError where the transition or a hook of it cannot be stored."""
    error = transition.error
    texts = () if error is None else (error.type, error.message, error.traceback)
    check_storable(transition.id, transition.result, *texts)
    for hook in transition.hooks:
        check_storable(hook.id, hook.payload, hook.metadata, hook.tags)


def settle(tables: Tables, transition: Transition, now: datetime, changes: Changes) -> Settlement:
    """Apply the transition if its lease still holds; say what became of it."""
    row = tables.rows.get(transition.id)
    if row is None:
        return Settlement(transition.id, Verdict.LOST, None)
    if not row.holds(transition.worker, transition.claim):
        same = row.worker == transition.worker and row.claim == transition.claim
        mine = same and row.status is not Status.PROCESSING
        return Settlement(row.id, Verdict.ALREADY_MINE if mine else Verdict.LOST, row.status)
    if transition.only_if_expired and not lease_ended(row, now):
        return Settlement(row.id, Verdict.LOST, row.status)
    _apply(tables, row, transition, now)
    _insert_hooks(tables, transition, now, changes)
    changes.moved(row)
    return Settlement(row.id, Verdict.APPLIED, row.status)


def lease_ended(row: Row, now: datetime) -> bool:
    """Whether a processing row's lease has ended."""
    return row.lease_until is not None and row.lease_until < now


def _apply(tables: Tables, row: Row, transition: Transition, now: datetime) -> None:
    if transition.note is not None:
        row.note(transition.note, now, transition_detail(transition), transition.attempt)
    row.retry_count = transition.retry_count
    row.crash_count = transition.crash_count
    row.isolate = transition.isolate
    if transition.only_if_expired:
        row.worker = None
    instead = transition.if_cancel_requested if row.cancel_requested_at is not None else None
    if instead is not None:
        row.result, row.error = None, cancelled_error(transition.attempt)
        tables.move(row, instead, now)
        return
    row.result, row.error = transition.result, transition.error
    if transition.delay is not None:
        row.ready_at = now + timedelta(seconds=transition.delay)
    tables.move(row, transition.status, now)


def _insert_hooks(tables: Tables, transition: Transition, now: datetime, changes: Changes) -> None:
    for hook in transition.hooks:
        if hook.id not in tables.rows:
            tables.insert(new_row(hook, now))
            changes.ready = True
