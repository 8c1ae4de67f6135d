"""Rows of taskq_schedules, and the statements that read and write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

import msgspec
from sqlalchemy import (
    BindParameter,
    Connection,
    Executable,
    Select,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects import postgresql, sqlite

from taskq.backends.instants import FIRST
from taskq.backends.scheduling import Place
from taskq.backends.sql.rows import Record
from taskq.backends.sql.tables import activities, schedules, spelled
from taskq.backends.sql.types import Instant
from taskq.errors import ConfigurationError
from taskq.model import Status
from taskq.occurrences import Timing
from taskq.schedule import CATCH_UP, OVERLAP, Schedule, ScheduleInfo, Template

_schedule = schedules.c
_IN_COLUMNS = ("type", "queue", "payload")
_LIVE = [spelled(status) for status in Status if not status.terminal]

DUE: Final = "due"
HELD: Final = "held"
AHEAD: Final = "ahead"
BEFORE_ALL: Final = (datetime.min.replace(tzinfo=UTC), "")
"""The place before every one whose next time can be read."""


class Refused(Exception):
    """Nothing is to be changed: the transaction is rolled back."""


def every(connection: Connection) -> list[ScheduleInfo]:
    """All of them, by name."""
    return [_info(row) for row in connection.execute(all_schedules())]


def named(connection: Connection, names: Collection[str]) -> list[ScheduleInfo]:
    """Those with these names, by name."""
    found = connection.execute(named_schedules(), {"names": list(names)})
    return [_info(row) for row in found]


def locked(connection: Connection, name: str, *, wait: bool = True) -> ScheduleInfo | None:
    """One, which nobody else changes until this transaction has ended. ``wait`` False: None also
    where another transaction has it."""
    statement = lock_schedule() if wait else lock_free_schedule()
    row = connection.execute(statement, {"of_name": name}).first()
    return None if row is None else _info(row)


def write(connection: Connection, info: ScheduleInfo, *, new: bool) -> bool:
    """Insert one, or update it; False where it should be new and is there."""
    values = _values(info)
    if info.broken is not None:
        del values["options"]
    if not new:
        connection.execute(update_schedule(), {**values, "of_name": info.name})
        return True
    postgres = connection.dialect.name == "postgresql"
    statement = add_on_postgres() if postgres else add_on_sqlite()
    return connection.execute(statement, values).rowcount > 0


def delete(connection: Connection, name: str) -> bool:
    """Delete one; whether it was there."""
    return connection.execute(delete_schedule(), {"of_name": name}).rowcount > 0


def waiting(
    connection: Connection, now: datetime, *, limit: int, after: Place | None = None
) -> dict[str, list[Place]]:
    """The places of what is DUE and can be fired, after this place, up to ``limit``, the longest
    first; of one that is HELD; of the first one that is AHEAD."""
    at, name = after or BEFORE_ALL
    values = {"now": now, "limit": limit, "after_at": at, "after_name": name}
    found: dict[str, list[Place]] = {DUE: [], HELD: [], AHEAD: []}
    for row in connection.execute(waiting_schedules(), values):
        if row.next_at is not None:
            found[row.kind].append((row.next_at, row.name))
    return found


def state(connection: Connection, id: UUID) -> Record | None:
    """The status and the end of an activity."""
    return connection.execute(last_state(), {"of_id": id}).first()


def insert(connection: Connection, values: Sequence[Mapping[str, object]]) -> None:
    """Insert activities; what is there is left as it is."""
    postgres = connection.dialect.name == "postgresql"
    connection.execute(fire_on_postgres() if postgres else fire_on_sqlite(), values)


@cache
def all_schedules() -> Executable:
    """Every row, by name."""
    return select(schedules).order_by(_schedule.name)


@cache
def named_schedules() -> Executable:
    """Some rows, by name."""
    names = _schedule.name.in_(bindparam("names", expanding=True))
    return select(schedules).where(names).order_by(_schedule.name)


@cache
def lock_schedule() -> Executable:
    """One row, locked."""
    return select(schedules).where(_schedule.name == bindparam("of_name")).with_for_update()


@cache
def lock_free_schedule() -> Executable:
    """The same, passed over where another has it."""
    named = select(schedules).where(_schedule.name == bindparam("of_name"))
    return named.with_for_update(skip_locked=True)


@cache
def waiting_schedules() -> Executable:
    """Those that are due after a place, one that is held, and the first of the others."""
    now: BindParameter[datetime] = bindparam("now", type_=Instant())
    queues = _schedule.overlap == literal_column("'queue'", Text())
    status = select(activities.c.status).where(activities.c.id == _schedule.last_activity_id)
    last = func.coalesce(status.scalar_subquery(), literal_column("''", Text()))
    place = tuple_(_schedule.next_at, _schedule.name)
    after = tuple_(bindparam("after_at", type_=Instant()), bindparam("after_name", type_=Text()))
    free = or_(~queues, last.not_in(_LIVE))
    due = _waiting(DUE).where(_schedule.next_at <= now, place > after, free)
    held = _waiting(HELD).where(_schedule.next_at <= now, and_(queues, last.in_(_LIVE)))
    ahead = _waiting(AHEAD).where(_schedule.next_at > now)
    parts = (due.limit(bindparam("limit")), held.limit(1), ahead.limit(1))
    return union_all(*(select(part.subquery()) for part in parts)).order_by("next_at", "name")


def _waiting(kind: str) -> Select[Any, Any, str]:
    named = literal_column(f"'{kind}'", Text()).label("kind")
    return (
        select(_schedule.name, _schedule.next_at, named)
        .where(_schedule.paused_at.is_(None), _schedule.next_at.is_not(None))
        .order_by(_schedule.next_at, _schedule.name)
    )


@cache
def update_schedule() -> Executable:
    """Write every column of a row."""
    return update(schedules).where(_schedule.name == bindparam("of_name"))


@cache
def delete_schedule() -> Executable:
    """Delete a row."""
    return delete_from(schedules).where(_schedule.name == bindparam("of_name"))


@cache
def last_state() -> Executable:
    """How the activity made last is."""
    columns = select(activities.c.status, activities.c.finished_at)
    return columns.where(activities.c.id == bindparam("of_id"))


@cache
def add_on_sqlite() -> Executable:
    """Insert a row, unless its name is there."""
    return sqlite.insert(schedules).on_conflict_do_nothing(index_elements=["name"])


@cache
def add_on_postgres() -> Executable:
    """The same."""
    return postgresql.insert(schedules).on_conflict_do_nothing(index_elements=["name"])


@cache
def fire_on_sqlite() -> Executable:
    """Insert activities, except those that are there."""
    return sqlite.insert(activities).on_conflict_do_nothing(index_elements=["id"])


@cache
def fire_on_postgres() -> Executable:
    """The same."""
    return postgresql.insert(activities).on_conflict_do_nothing(index_elements=["id"])


def _values(info: ScheduleInfo) -> dict[str, object]:
    schedule, template = info.schedule, info.schedule.template
    options: dict[str, object] = msgspec.json.decode(msgspec.json.encode(template))
    for name in _IN_COLUMNS:
        del options[name]
    return {
        "name": info.name,
        "cron": schedule.timing.cron,
        "every_ms": schedule.timing.every,
        "timezone": schedule.timing.timezone,
        "jitter_ms": schedule.jitter,
        "catch_up": schedule.catch_up,
        "overlap": schedule.overlap,
        "queue": template.queue,
        "type": template.type,
        "payload": template.payload,
        "options": msgspec.json.encode(options).decode() if options else None,
        "digest": info.digest,
        "revision": info.revision,
        "next_at": info.next_at,
        "last_at": info.last_at,
        "last_activity_id": info.last_id,
        "fired": info.fired,
        "skipped": info.skipped,
        "paused_at": info.paused_at,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
    }


def _info(row: Record) -> ScheduleInfo:
    template, broken = _template(row)
    schedule = Schedule(
        name=row.name,
        timing=Timing(cron=row.cron, every=row.every_ms, timezone=row.timezone),
        template=template,
        jitter=row.jitter_ms,
        catch_up=row.catch_up if row.catch_up in CATCH_UP else CATCH_UP[0],
        overlap=row.overlap if row.overlap in OVERLAP else OVERLAP[0],
    )
    return ScheduleInfo(
        schedule=schedule,
        digest=row.digest,
        revision=row.revision,
        next_at=row.next_at,
        last_at=row.last_at,
        last_id=row.last_activity_id,
        fired=row.fired,
        skipped=row.skipped,
        paused_at=row.paused_at,
        created_at=row.created_at or FIRST,
        updated_at=row.updated_at or FIRST,
        broken=broken,
    )


def _template(row: Record) -> tuple[Template, str | None]:
    """The call, and why what another program wrote as its options is none: then it has none."""
    plain: dict[str, Any] = {name: getattr(row, name) for name in _IN_COLUMNS}
    try:
        options = msgspec.json.decode(row.options or "{}", type=dict[str, object])
        whole = msgspec.json.encode({**options, **plain})
        return msgspec.json.decode(whole, type=Template), None
    except (msgspec.MsgspecError, ConfigurationError, RecursionError, ValueError) as error:
        return Template(**plain), f"its options are not what they should be: {error}"
