"""The protocols of schedules: what readers see, what operators do, what engines fire."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias
from uuid import UUID

from msgspec import Struct

from taskq.audit import Command
from taskq.model import Activity
from taskq.schedule import Schedule, ScheduleInfo

Place: TypeAlias = tuple[datetime, str]
"""The next time and the name of a schedule: where a look at what is due has come to."""


class Due(Struct, frozen=True, kw_only=True):
    """The names of the schedules that are due and can be fired, the longest first, and in how many
    seconds the next one of the others is (None: none). ``held``: there are some besides that wait
    for the activity that they made last. ``more``: after which place there may be others."""

    names: tuple[str, ...]
    next_due: float | None
    held: bool = False
    more: Place | None = None


class Fired(Struct, frozen=True, kw_only=True):
    """What was made of a due schedule, and how many occurrences were left out. ``held``: it waits
    for the activity that it made last."""

    activities: tuple[Activity[object], ...] = ()
    skipped: int = 0
    held: bool = False


class ScheduleReader(Protocol):
    """What readers need. Nothing here writes (bug:B118)."""

    async def schedules(self, names: Collection[str] | None = None) -> Sequence[ScheduleInfo]:
        """These schedules, or all, in order of their names; unknown names are absent."""
        ...


class Schedules(ScheduleReader, Protocol):
    """What keeps schedules. A command whose id is in the record already changes nothing."""

    async def declare_schedules(self, schedules: Sequence[Schedule]) -> None:
        """Put here what code defines. What was declared with the same digest is left as it is,
        whatever an operator has made of it since; else the definition is replaced (``revision``
        grows, ``next_at`` follows ``schedule.moved``). Whether it is paused, what it did last and
        its counts stay. Nothing is recorded."""
        ...

    async def put_schedule(
        self,
        schedule: Schedule,
        *,
        revision: int | None,
        command: Command,
        shown: Schedule | None = None,
    ) -> ScheduleInfo | None:
        """Make a schedule (``revision`` None) or replace the definition of the one with this
        ``revision``; how it is then. None where there is one already, or none, or another
        revision; then nothing is changed. Recorded as ``schedule.create`` or ``schedule.edit``,
        with what is new in it: as ``shown`` has it, where that is given because of its secrets."""
        ...

    async def pause_schedule(
        self, name: str, *, paused: bool, command: Command
    ) -> ScheduleInfo | None:
        """Stop firing, or go on; how it is then, None for an unknown name. What would have occurred
        while it was paused is left out: it goes on with the first occurrence after now. One that is
        paused (or not) already is left as it is. Recorded as ``schedule.pause`` or
        ``schedule.resume``."""
        ...

    async def trigger_schedule(self, name: str, *, id: UUID, command: Command) -> bool:
        """Make an activity of a schedule now, with this id, besides its occurrences; False for an
        unknown name. Recorded as ``schedule.trigger``, with the id. Raises ConfigurationError for
        one that is broken."""
        ...

    async def delete_schedule(self, name: str, *, command: Command) -> bool:
        """Forget a schedule; what it has made stays. False for an unknown name. Recorded as
        ``schedule.delete``."""
        ...

    async def due_schedules(self, after: Place | None = None) -> Due:
        """What is due now by the store's clock and not paused, up to 1000 names, of all or of those
        after this place."""
        ...

    async def fire_schedule(self, name: str) -> Fired | None:
        """Do what ``schedule.plan`` says at the store's now, in one transaction: store the
        activities and move ``next_at``. None where it is not due any more, or paused, gone, or
        being fired by another. Of any number that fire at the same time one does it. An occurrence
        whose activity is stored already is left as it is. Raises ConfigurationError where its cron
        text, zone or options cannot be read here, Unstorable where its activity cannot be stored.
        """
        ...
