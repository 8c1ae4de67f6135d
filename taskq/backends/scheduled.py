"""How a stored schedule changes: pure, the same for every store."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import to_builtins
from msgspec.structs import replace

from taskq.backends.scheduling import Fired
from taskq.errors import ConfigurationError
from taskq.model import Activity, Status
from taskq.redaction import Redaction
from taskq.schedule import Schedule, ScheduleInfo, moved, plan

FIRST_REVISION = 1
DUE_AT_ONCE = 1000
"""Names of due schedules that are given at once."""


def created(schedule: Schedule, now: datetime) -> ScheduleInfo:
    """A new one. Raises ConfigurationError where its times cannot be read."""
    return ScheduleInfo(
        schedule=schedule,
        revision=FIRST_REVISION,
        created_at=now,
        updated_at=now,
        next_at=schedule.timing.after(now),
    )


def edited(info: ScheduleInfo, schedule: Schedule, now: datetime) -> ScheduleInfo:
    """The same with another definition. Raises ConfigurationError as ``created``."""
    return replace(
        info,
        schedule=schedule,
        revision=info.revision + 1,
        updated_at=now,
        next_at=moved(info, schedule, now),
        broken=None,
    )


def declared(info: ScheduleInfo | None, schedule: Schedule, now: datetime) -> ScheduleInfo | None:
    """What code's definition makes of a stored one (None: there is none); None: nothing."""
    digest = schedule.digest
    if info is None:
        return replace(created(schedule, now), digest=digest)
    if stands(info, digest):
        return None
    return replace(edited(info, schedule, now), digest=digest)


def stands(info: ScheduleInfo, digest: str) -> bool:
    """Whether a stored one is left as it is when code declares this. One that cannot be read is
    replaced."""
    return info.digest == digest and info.broken is None


def triggered(info: ScheduleInfo, id: UUID) -> Activity[object]:
    """An activity besides. Raises ConfigurationError for one that cannot be read."""
    return _whole(info).triggered(id)


def change(
    before: Schedule | None, after: Schedule, shown: Schedule | None = None
) -> dict[str, object]:
    """What is recorded of a change: each part that is new or other, as it is then, as ``shown`` has
    it where that is given, and without values that their names tell to be secret."""
    parts = [name for name in Schedule.__struct_fields__ if name != "name"]
    changed: dict[str, object] = Redaction().value(
        {
            name: to_builtins(getattr(shown or after, name))
            for name in parts
            if before is None or getattr(before, name) != getattr(after, name)
        }
    )
    return changed


def paused(info: ScheduleInfo, now: datetime, *, paused: bool) -> ScheduleInfo:
    """Paused, or going on with what comes after now."""
    if paused == (info.paused_at is not None):
        return info
    if paused:
        return replace(info, paused_at=now, updated_at=now)
    following = info.schedule.timing.after(now)
    return replace(info, paused_at=None, updated_at=now, next_at=following)


def is_due(info: ScheduleInfo, now: datetime) -> bool:
    """Whether it is to be fired at ``now``."""
    return info.paused_at is None and info.next_at is not None and info.next_at <= now


def fired(
    info: ScheduleInfo,
    now: datetime,
    *,
    last: tuple[Status, datetime | None] | None,
) -> tuple[ScheduleInfo, Fired]:
    """Fire one that is due. ``last`` is the state of the activity that it made last and when that
    ended; None where there is none. Raises ConfigurationError for one that cannot be read."""
    assert info.next_at is not None
    schedule = _whole(info)
    status, ended = last or (None, None)
    busy = status is not None and not status.terminal
    planned = plan(schedule, info.next_at, now, busy=busy, free_since=ended)
    activities = tuple(schedule.occurrence(at, now) for at in planned.fire)
    after = replace(info, next_at=planned.next_at, skipped=info.skipped + planned.skipped)
    if activities:
        after = replace(
            after,
            last_at=planned.fire[-1],
            last_id=activities[-1].id,
            fired=info.fired + len(activities),
        )
    return after, Fired(activities=activities, skipped=planned.skipped, held=planned.held)


def _whole(info: ScheduleInfo) -> Schedule:
    if info.broken is not None:
        raise ConfigurationError(f"schedule {info.name!r} cannot be read: {info.broken}")
    return info.schedule
