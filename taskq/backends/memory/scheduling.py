"""Schedules in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from taskq.audit import Command
from taskq.backends import scheduled
from taskq.backends.changes import Changes
from taskq.backends.memory.recording import MemoryRecorder
from taskq.backends.memory.submission import Submission
from taskq.backends.scheduling import Due, Fired, Place
from taskq.model import Activity, Status
from taskq.schedule import Schedule, ScheduleInfo


class MemorySchedules(MemoryRecorder):
    """``taskq.backends.Schedules`` over tables in memory."""

    async def schedules(self, names: Collection[str] | None = None) -> Sequence[ScheduleInfo]:
        """See ``ScheduleReader.schedules``."""
        with self._lock:
            found = self._tables.schedules
            return [found[name] for name in sorted(found) if names is None or name in names]

    async def declare_schedules(self, schedules: Sequence[Schedule]) -> None:
        """See ``Schedules.declare_schedules``."""
        with self._lock:
            now = self._clock.now()
            known = self._tables.schedules
            found = [scheduled.declared(known.get(each.name), each, now) for each in schedules]
            changed = [info for info in found if info is not None]
            known.update({info.name: info for info in changed})
        self._tell(Changes(ready=bool(changed)))

    async def put_schedule(
        self,
        schedule: Schedule,
        *,
        revision: int | None,
        command: Command,
        shown: Schedule | None = None,
    ) -> ScheduleInfo | None:
        """See ``Schedules.put_schedule``."""
        with self._lock:
            now = self._clock.now()
            before = self._tables.schedules.get(schedule.name)
            if self._is_known(command):
                return before
            if (None if before is None else before.revision) != revision:
                return None
            if before is None:
                after = scheduled.created(schedule, now)
            else:
                after = scheduled.edited(before, schedule, now)
            verb = "schedule.create" if before is None else "schedule.edit"
            old = None if before is None else before.schedule
            detail = scheduled.change(old, schedule, shown)
            self._recorded(now, command, verb, target=schedule.name, detail=detail)
            self._tables.schedules[schedule.name] = after
        self._tell(Changes(ready=True))
        return after

    async def pause_schedule(
        self, name: str, *, paused: bool, command: Command
    ) -> ScheduleInfo | None:
        """See ``Schedules.pause_schedule``."""
        verb = "schedule.pause" if paused else "schedule.resume"
        with self._lock:
            now = self._clock.now()
            before = self._tables.schedules.get(name)
            if before is None or not self._recorded(now, command, verb, target=name):
                return before
            after = scheduled.paused(before, now, paused=paused)
            self._tables.schedules[name] = after
            self._leave([name] if after is before else [])
        self._tell(Changes(ready=not paused))
        return after

    async def trigger_schedule(self, name: str, *, id: UUID, command: Command) -> bool:
        """See ``Schedules.trigger_schedule``."""
        with self._lock:
            now = self._clock.now()
            info = self._tables.schedules.get(name)
            if info is None:
                return False
            about = {"ids": [str(id)]}
            if not self._recorded(now, command, "schedule.trigger", target=name, detail=about):
                return True
            stored = self._store([scheduled.triggered(info, id)], now)
        self._tell(Changes(ready=stored))
        return True

    async def delete_schedule(self, name: str, *, command: Command) -> bool:
        """See ``Schedules.delete_schedule``."""
        with self._lock:
            if name not in self._tables.schedules:
                return self._is_known(command)
            if self._recorded(self._clock.now(), command, "schedule.delete", target=name):
                del self._tables.schedules[name]
        return True

    async def due_schedules(self, after: Place | None = None) -> Due:
        """See ``Schedules.due_schedules``."""
        with self._lock:
            now = self._clock.now()
            waiting = {
                (info.next_at, info.name): self._holds(info)
                for info in self._tables.schedules.values()
                if info.next_at is not None and info.paused_at is None
            }
        due = sorted(
            place
            for place, holds in waiting.items()
            if place[0] <= now and not holds and (after is None or place > after)
        )[: scheduled.DUE_AT_ONCE]
        ahead = [(at - now).total_seconds() for at, _ in waiting if at > now]
        return Due(
            names=tuple(name for _, name in due),
            next_due=min(ahead, default=None),
            held=any(holds and at <= now for (at, _), holds in waiting.items()),
            more=due[-1] if len(due) == scheduled.DUE_AT_ONCE else None,
        )

    async def fire_schedule(self, name: str) -> Fired | None:
        """See ``Schedules.fire_schedule``."""
        with self._lock:
            now = self._clock.now()
            info = self._tables.schedules.get(name)
            if info is None or not scheduled.is_due(info, now):
                return None
            after, fired = scheduled.fired(info, now, last=self._last(info))
            stored = self._store(fired.activities, now)
            self._tables.schedules[name] = after
        self._tell(Changes(ready=stored))
        return fired

    def _holds(self, info: ScheduleInfo) -> bool:
        last = self._last(info)
        return info.schedule.overlap == "queue" and last is not None and not last[0].terminal

    def _last(self, info: ScheduleInfo) -> tuple[Status, datetime | None] | None:
        row = None if info.last_id is None else self._tables.rows.get(info.last_id)
        return None if row is None else (row.status, row.finished_at)

    def _store(self, activities: Sequence[Activity[object]], now: datetime) -> bool:
        submission = Submission(self._tables, now)
        for activity in activities:
            submission.add(activity)
        return bool(submission.store())
