"""Claims of what others wait for: activities with a parent, the deepest first (design 7.10).

Only a worker at its ``max_suspended`` asks for them. Types that it does not serve are walked over.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import ARRAY, Executable, Select, Text, any_, bindparam, select, update

from taskq.backends.sql.postgres_statements import claimed
from taskq.backends.sql.statements import ATTEMPT, following
from taskq.backends.sql.tables import activities, spelled
from taskq.model import Status

_activity = activities.c


@cache
def on_postgres(*, typed: bool) -> Executable:
    """Give up to ``limit`` children in ``place``, a queue, to ``holder``; typed: of ``types``."""
    of_type = _activity.type == any_(bindparam("types", type_=ARRAY(Text())))
    found = _deepest().where(of_type) if typed else _deepest()
    return claimed(found.with_for_update(skip_locked=True))


@cache
def on_sqlite(*, typed: bool) -> Executable:
    """The same at ``now`` until ``until``."""
    of_type = _activity.type.in_(bindparam("types", expanding=True))
    found = _deepest().where(of_type) if typed else _deepest()
    return (
        update(activities)
        .where(_activity.id.in_(found))
        .values(
            status=Status.PROCESSING.value,
            claim=following(_activity.claim),
            worker=bindparam("holder"),
            started_at=bindparam("now"),
            lease_until=bindparam("until"),
        )
        .returning(*ATTEMPT)
    )


def _deepest() -> Select[Any]:
    return (
        select(_activity.id)
        .where(
            _activity.status == spelled(Status.PENDING),
            _activity.parent_id.is_not(None),
            _activity.queue == bindparam("place"),
            _activity.isolate == bindparam("alone"),
        )
        .order_by(
            _activity.depth.desc(), _activity.priority.desc(), _activity.ready_at, _activity.id
        )
        .limit(bindparam("limit"))
    )
