"""Schedules in SQL. A schedule's row is locked before it is changed, so that one of many does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Connection

from taskq.audit import Command
from taskq.backends import scheduled
from taskq.backends.changes import Changes
from taskq.backends.scheduling import Due, Fired, Place
from taskq.backends.sql import auditing, rows
from taskq.backends.sql import schedule_rows as stored
from taskq.backends.sql.auditing import Written
from taskq.backends.sql.doors import Doors
from taskq.backends.sql.inspecting import SqlInspector
from taskq.backends.sql.schedule_rows import Refused
from taskq.model import Activity, Status
from taskq.schedule import Schedule, ScheduleInfo

T = TypeVar("T")


class SqlSchedules(SqlInspector, Doors):
    """``taskq.backends.Schedules`` over the doors that each SQL store has."""

    async def declare_schedules(self, schedules: Sequence[Schedule]) -> None:
        """See ``Schedules.declare_schedules``. What is there as it should be takes no lock."""
        names = [each.name for each in schedules]
        known = {info.name: info for info in await self.schedules(names)}
        changed = [
            each
            for each in schedules
            if each.name not in known or not scheduled.stands(known[each.name], each.digest)
        ]
        if changed:
            await self._write(lambda connection, now: declare(connection, now, changed))

    async def put_schedule(
        self,
        schedule: Schedule,
        *,
        revision: int | None,
        command: Command,
        shown: Schedule | None = None,
    ) -> ScheduleInfo | None:
        """See ``Schedules.put_schedule``."""
        return await self._unless_refused(
            lambda connection, now: put(connection, now, schedule, revision, command, shown)
        )

    async def pause_schedule(
        self, name: str, *, paused: bool, command: Command
    ) -> ScheduleInfo | None:
        """See ``Schedules.pause_schedule``."""
        return await self._unless_refused(
            lambda connection, now: pause(connection, now, name, command, paused=paused)
        )

    async def trigger_schedule(self, name: str, *, id: UUID, command: Command) -> bool:
        """See ``Schedules.trigger_schedule``."""
        found = await self._unless_refused(
            lambda connection, now: trigger(connection, now, name, id, command)
        )
        return found is not None

    async def delete_schedule(self, name: str, *, command: Command) -> bool:
        """See ``Schedules.delete_schedule``."""
        found = await self._unless_refused(
            lambda connection, now: delete(connection, now, name, command)
        )
        return found is not None

    async def due_schedules(self, after: Place | None = None) -> Due:
        """See ``Schedules.due_schedules``."""
        return await self._ask(lambda connection, now: due(connection, now, after))

    async def fire_schedule(self, name: str) -> Fired | None:
        """See ``Schedules.fire_schedule``."""
        return await self._write(lambda connection, now: fire(connection, now, name))

    async def _unless_refused(
        self, function: Callable[[Connection, datetime], tuple[T, Changes]]
    ) -> T | None:
        """What it answers; None where it found that nothing is to be changed, and rolled back."""
        try:
            return await self._write(function)
        except Refused:
            return None


def declare(
    connection: Connection, now: datetime, schedules: Sequence[Schedule]
) -> tuple[None, Changes]:
    """See ``Schedules.declare_schedules``."""
    for schedule in sorted(schedules, key=lambda each: each.name):
        before = stored.locked(connection, schedule.name)
        after = scheduled.declared(before, schedule, now)
        if after is not None:
            stored.write(connection, after, new=before is None)
    return None, Changes(ready=True)


def put(
    connection: Connection,
    now: datetime,
    schedule: Schedule,
    revision: int | None,
    command: Command,
    shown: Schedule | None,
) -> tuple[ScheduleInfo, Changes]:
    """See ``Schedules.put_schedule``. Raises Refused."""
    verb = "schedule.create" if revision is None else "schedule.edit"
    name = schedule.name
    seen = _alone(connection, name)
    detail = scheduled.change(None if seen is None else seen.schedule, schedule, shown)
    if not auditing.record(connection, now, command, verb, target=name, detail=detail):
        done = _alone(connection, name)
        if done is None:
            raise Refused
        return done, Changes()
    before = stored.locked(connection, name)
    if not _revision(seen) == _revision(before) == revision:
        raise Refused
    if before is None:
        after = scheduled.created(schedule, now)
    else:
        after = scheduled.edited(before, schedule, now)
    if not stored.write(connection, after, new=before is None):
        raise Refused
    return after, Changes(ready=True)


def pause(
    connection: Connection, now: datetime, name: str, command: Command, *, paused: bool
) -> tuple[ScheduleInfo, Changes]:
    """See ``Schedules.pause_schedule``. Raises Refused."""
    verb = "schedule.pause" if paused else "schedule.resume"
    before, written = _commanded(connection, now, name, command, verb)
    if written is None:
        return before, Changes()
    after = scheduled.paused(before, now, paused=paused)
    stored.write(connection, after, new=False)
    auditing.leave(connection, written, [name] if after is before else [])
    return after, Changes(ready=not paused)


def trigger(
    connection: Connection, now: datetime, name: str, id: UUID, command: Command
) -> tuple[bool, Changes]:
    """See ``Schedules.trigger_schedule``. Raises Refused."""
    about = {"ids": [str(id)]}
    info, written = _commanded(connection, now, name, command, "schedule.trigger", about)
    if written is not None:
        _store(connection, now, [scheduled.triggered(info, id)])
    return True, Changes(ready=written is not None)


def delete(
    connection: Connection, now: datetime, name: str, command: Command
) -> tuple[bool, Changes]:
    """See ``Schedules.delete_schedule``. Raises Refused."""
    recorded = auditing.record(connection, now, command, "schedule.delete", target=name)
    if recorded and not stored.delete(connection, name):
        raise Refused
    return True, Changes()


def due(connection: Connection, now: datetime, after: Place | None = None) -> Due:
    """See ``Schedules.due_schedules``."""
    limit = scheduled.DUE_AT_ONCE
    waiting = stored.waiting(connection, now, limit=limit, after=after)
    ahead = [(at - now).total_seconds() for at, _ in waiting[stored.AHEAD]]
    found = waiting[stored.DUE]
    return Due(
        names=tuple(name for _, name in found),
        next_due=min(ahead, default=None),
        held=bool(waiting[stored.HELD]),
        more=found[-1] if len(found) == limit else None,
    )


def fire(connection: Connection, now: datetime, name: str) -> tuple[Fired | None, Changes]:
    """See ``Schedules.fire_schedule``."""
    info = stored.locked(connection, name, wait=False)
    if info is None or not scheduled.is_due(info, now):
        return None, Changes()
    after, fired = scheduled.fired(info, now, last=_last(connection, info))
    if fired.held:
        return fired, Changes()
    _store(connection, now, fired.activities)
    stored.write(connection, after, new=False)
    return fired, Changes(ready=bool(fired.activities))


def _alone(connection: Connection, name: str) -> ScheduleInfo | None:
    """One schedule, not locked."""
    found = stored.named(connection, [name])
    return found[0] if found else None


def _revision(info: ScheduleInfo | None) -> int | None:
    return None if info is None else info.revision


def _last(connection: Connection, info: ScheduleInfo) -> tuple[Status, datetime | None] | None:
    if info.last_id is None or info.schedule.overlap == "allow":
        return None
    row = stored.state(connection, info.last_id)
    status = None if row is None else rows.status_of(row.status)
    return None if row is None or status is None else (status, row.finished_at)


def _store(connection: Connection, now: datetime, activities: Sequence[Activity[object]]) -> None:
    if activities:
        stored.insert(connection, [rows.activity_values(each, now) for each in activities])


def _commanded(
    connection: Connection,
    now: datetime,
    name: str,
    command: Command,
    verb: str,
    detail: Mapping[str, object] | None = None,
) -> tuple[ScheduleInfo, Written | None]:
    """The schedule, and the command's row, if it is new. Raises Refused for an unknown name."""
    written = auditing.record(connection, now, command, verb, target=name, detail=detail)
    info = stored.locked(connection, name)
    if info is None:
        raise Refused
    return info, written
