"""What operators' commands read and write: pure functions returning statements, as in
``statements``."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Update,
    bindparam,
    case,
    false,
    select,
    update,
)

from taskq.backends.sql.tables import activities, keys

_activity = activities.c


@cache
def chosen() -> Executable:
    """Those of ``ids`` that are there, with what decides about them and what is recorded of them;
    kept still."""
    found = select(
        _activity.id,
        _activity.status,
        _activity.error,
        _activity.claim,
        _activity.max_crashes,
        _activity.priority,
        _activity.ready_at,
    ).where(_activity.id.in_(bindparam("ids", expanding=True)))
    return found.order_by(_activity.id).with_for_update()


@cache
def calls() -> Executable:
    """What those of ``ids`` were called with, and in which states they are."""
    return select(
        _activity.id, _activity.status, _activity.type, _activity.step, _activity.payload
    ).where(_activity.id.in_(bindparam("ids", expanding=True)))


@cache
def retry() -> Update:
    """Send ``of_id`` round again, where it still is what it ``was``."""
    return _of_same_status().values(
        status=bindparam("new_status"),
        ready_at=bindparam("new_ready_at"),
        expires_at=_still(_activity.expires_at),
        deadline_at=_still(_activity.deadline_at),
        isolate=bindparam("alone"),
        retry_count=0,
        crash_count=0,
        result=None,
        error=None,
        error_kind=None,
        fingerprint=None,
        progress=None,
        cancel_tree=false(),
        finished_at=None,
    )


@cache
def edit() -> Update:
    """Let ``of_id`` have ``new_payload``."""
    return (
        update(activities)
        .where(_activity.id == bindparam("of_id"))
        .values(payload=bindparam("new_payload"))
    )


@cache
def renew_keys() -> Update:
    """Let the keys of ``of_id`` stand for ``new_digest``; those without one compare payloads."""
    return (
        update(keys)
        .where(keys.c.activity_id == bindparam("of_id"), keys.c.digest.is_not(None))
        .values(digest=bindparam("new_digest"))
    )


@cache
def reschedule() -> Update:
    """Let ``of_id`` be in ``new_status`` and ready at ``new_ready_at``, where it still is what it
    ``was``."""
    return _of_same_status().values(
        status=bindparam("new_status"), ready_at=bindparam("new_ready_at")
    )


@cache
def set_priority() -> Update:
    """Give ``of_id`` ``new_priority``, where it still is what it ``was``."""
    return _of_same_status().values(priority=bindparam("new_priority"))


def _of_same_status() -> Update:
    return update(activities).where(
        _activity.id == bindparam("of_id"), _activity.status == bindparam("was")
    )


def _still(limit: ColumnElement[Any]) -> ColumnElement[Any]:
    """See ``arrival.still``."""
    return case((limit > bindparam("now"), limit))
