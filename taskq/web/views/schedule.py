"""Schedules: what is periodic, and when it comes next."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from msgspec import Struct

from taskq.durations import written
from taskq.errors import ConfigurationError
from taskq.occurrences import Timing, explained
from taskq.schedule import ScheduleInfo
from taskq.snapshot import ActivityInfo
from taskq.web.views.veil import Veil

UPCOMING: Final = 5
"""Occurrences that are told ahead."""


class OccurrenceView(Struct, frozen=True, kw_only=True):
    """What was made of a schedule at the time ``at``: the activity's state, and the seconds that
    its latest attempt took, null until it has ended."""

    at: datetime
    id: UUID
    status: str
    duration: float | None

    @classmethod
    def of(cls, at: datetime, info: ActivityInfo) -> OccurrenceView:
        """Of the occurrence's activity."""
        began, ended = info.started_at, info.finished_at
        took = None if began is None or ended is None else (ended - began).total_seconds()
        return cls(at=at, id=info.id, status=info.status.value, duration=took)


class ScheduleView(Struct, frozen=True, kw_only=True):
    """A schedule. Times are UTC, durations seconds.

    ``cron`` text in ``timezone``, or ``every`` so many seconds; ``when`` says it in words.
    ``upcoming`` are its next times, none while it is paused; ``recent`` what was made of its last
    ones, oldest first, as far as it has not been deleted. ``arguments`` is JSON text, null where
    it is hidden. ``declared``: code defines it. ``broken`` says why nothing is made of it. An edit
    names the ``revision`` that it was made from.
    """

    name: str
    type: str
    queue: str
    priority: str
    arguments: str | None
    cron: str | None
    every: float | None
    timezone: str
    when: str
    upcoming: list[datetime]
    recent: list[OccurrenceView]
    catch_up: str
    overlap: str
    jitter: float
    revision: int
    declared: bool
    paused_at: datetime | None
    next_at: datetime | None
    last_at: datetime | None
    last_id: UUID | None
    fired: int
    skipped: int
    created_at: datetime
    updated_at: datetime
    broken: str | None

    @classmethod
    def of(cls, info: ScheduleInfo, recent: list[OccurrenceView], veil: Veil) -> ScheduleView:
        """With its next times."""
        schedule, template = info.schedule, info.schedule.template
        every = schedule.timing.every
        return cls(
            name=info.name,
            type=template.type,
            queue=template.queue,
            priority=template.priority.name,
            arguments=veil.arguments(template.type, template.payload),
            cron=schedule.timing.cron,
            every=None if every is None else every / 1000,
            timezone=schedule.timing.timezone,
            when=in_words(schedule.timing),
            upcoming=[] if info.paused_at else upcoming(schedule.timing, info.next_at),
            recent=recent,
            catch_up=schedule.catch_up,
            overlap=schedule.overlap,
            jitter=schedule.jitter / 1000,
            revision=info.revision,
            declared=info.declared,
            paused_at=info.paused_at,
            next_at=info.next_at,
            last_at=info.last_at,
            last_id=info.last_id,
            fired=info.fired,
            skipped=info.skipped,
            created_at=info.created_at,
            updated_at=info.updated_at,
            broken=info.broken,
        )


def in_words(timing: Timing) -> str:
    """Its times in words, as far as they can be read here."""
    if timing.cron is None:
        return f"every {written((timing.every or 0) / 1000)}"
    try:
        return explained(timing.cron)
    except ConfigurationError:
        return timing.cron


def upcoming(timing: Timing, first: datetime | None) -> list[datetime]:
    """The next times from ``first`` on, as far as they can be told here."""
    found: list[datetime] = []
    try:
        while first is not None and len(found) < UPCOMING:
            found.append(first)
            first = timing.after(first)
    except ConfigurationError:
        return found
    return found
