"""Applying transitions to their rows, by compare-and-set."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from taskq.backends.arrival import after_a_run
from taskq.backends.changes import Changes
from taskq.backends.fence import verdict
from taskq.backends.instants import later
from taskq.backends.memory.row import Row, new_row
from taskq.backends.memory.tables import Tables
from taskq.backends.storable import check_activity, check_storable
from taskq.backends.timeline import transition_detail
from taskq.lifecycle import Settlement, Transition, Verdict, cancelled_error


class Staged(Struct, frozen=True):
    """A transition with all that it would write, worked out: applying it cannot fail half way."""

    transition: Transition
    ready_at: datetime | None
    detail: dict[str, object]
    hooks: tuple[Row, ...]


def stage(transition: Transition, now: datetime) -> Staged:
    """Work it out. Raises Unstorable where the transition or a hook of it cannot be stored."""
    error = transition.error
    texts = () if error is None else (error.type, error.message, error.traceback)
    check_storable(transition.id, transition.result, *texts)
    for hook in transition.hooks:
        check_activity(hook)
    return Staged(
        transition,
        None if transition.delay is None else later(now, transition.delay),
        transition_detail(transition),
        tuple(new_row(hook, now) for hook in transition.hooks),
    )


def settle(tables: Tables, staged: Staged, now: datetime, changes: Changes) -> Settlement:
    """Apply the transition if its lease still holds; say what became of it."""
    transition = staged.transition
    row = tables.rows.get(transition.id)
    if row is None:
        return Settlement(transition.id, Verdict.LOST, None)
    answer = verdict(row, transition, now)
    if answer is Verdict.APPLIED:
        _apply(tables, row, staged, now)
        _insert_hooks(tables, staged, changes)
        changes.moved(row.id, row.status)
    return Settlement(row.id, answer, row.status)


def _apply(tables: Tables, row: Row, staged: Staged, now: datetime) -> None:
    transition = staged.transition
    if transition.note is not None:
        row.note(transition.note, now, staged.detail, transition.attempt)
        row.expires_at = after_a_run(row.expires_at, row.started_at)
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
    row.fingerprint = transition.fingerprint
    if staged.ready_at is not None:
        row.ready_at = staged.ready_at
    tables.move(row, transition.status, now)


def _insert_hooks(tables: Tables, staged: Staged, changes: Changes) -> None:
    for hook in staged.hooks:
        if hook.id not in tables.rows:
            tables.insert(hook)
            changes.ready = True
