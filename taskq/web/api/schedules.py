"""``/api/schedules``: what is periodic, when it comes, and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final
from uuid import UUID

from litestar import get
from litestar.di import NamedDependency
from litestar.params import PathParameter, QueryParameter
from msgspec import Struct

from taskq.backends import Inspector
from taskq.defining import timing
from taskq.errors import ConfigurationError
from taskq.schedule import ScheduleInfo, occurrence_id
from taskq.web.api.asking import veil_of
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.schedule import OccurrenceView, ScheduleView, in_words, upcoming
from taskq.web.views.veil import Veil

RECENT: Final = 20
RECENT_OF_MANY: Final = 10
"""Last times that are told of one schedule, and of each of several."""
RECENT_READ: Final = 1000
"""Activities that are read for one answer at the most."""
HISTORY: Final = timedelta(days=400)
"""How far back is looked: ``0 0 29 2 *`` is not walked through for years."""


class SchedulePreview(Struct, frozen=True, kw_only=True):
    """``when`` says it in words; ``upcoming`` are the next five times, in UTC."""

    when: str
    timezone: str
    upcoming: list[datetime]


class ScheduleList(Struct, frozen=True, kw_only=True):
    """Schedules in order of their names."""

    items: list[ScheduleView]


class Found(Struct, frozen=True):
    """Schedules, and what was made of their last times, by name."""

    schedules: Sequence[ScheduleInfo]
    recent: Mapping[str, list[OccurrenceView]]

    def views(self, veil: Veil) -> list[ScheduleView]:
        """As one sees them."""
        return [ScheduleView.of(info, self.recent[info.name], veil) for info in self.schedules]


async def look(reader: Inspector, names: Collection[str] | None, most: int) -> Found:
    """Beside the store: schedules and what was made of their last ``most`` times."""
    found = await reader.schedules(names)
    each = max(1, min(most, RECENT_READ // max(1, len(found))))
    times = {info.name: last_times(info, each) for info in found}
    ids = [id for of_one in times.values() for id in of_one.values()]
    infos = await reader.get(ids[:RECENT_READ])
    return Found(
        found,
        {
            name: [OccurrenceView.of(at, infos[id]) for at, id in of_one.items() if id in infos]
            for name, of_one in times.items()
        },
    )


def last_times(info: ScheduleInfo, most: int) -> dict[datetime, UUID]:
    """Its last times up to that which was fired last, oldest first, and the ids that they give.

    Nothing was made of those that were left out. A definition that has changed since is taken to
    have always been so.
    """
    if info.last_at is None or info.last_id is None:
        return {}
    since = max(info.created_at, info.last_at - HISTORY)
    try:
        before = info.schedule.timing.before(info.last_at, since, limit=most)
    except ConfigurationError:
        before = []  # it cannot be read here; what it did last is known all the same
    times = {at: occurrence_id(info.name, at) for at in before} | {info.last_at: info.last_id}
    return dict(sorted(times.items())[-most:])


@get("/api/schedules")
async def schedules(
    console: NamedDependency[Console], identity: NamedDependency[Identity]
) -> ScheduleList:
    """All schedules, with their next times, and what was made of their last ten, or of fewer where
    there are more than a hundred schedules."""
    found = await console.ask(look, console.reader, None, RECENT_OF_MANY)
    return ScheduleList(items=found.views(veil_of(console, identity)))


@get("/api/schedules/{name:str}")
async def schedule(
    name: Annotated[str, PathParameter(max_length=200)],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> ScheduleView:
    """One schedule, with its next times, and what was made of its last twenty. 404 for an unknown
    name."""
    found = await console.ask(look, console.reader, [name], RECENT)
    for view in found.views(veil_of(console, identity)):
        return view
    raise Problem(404, "not_found", f"there is no schedule {name!r}")


@get("/api/schedule-preview")
async def schedule_preview(
    console: NamedDependency[Console],
    cron: Annotated[
        str | None, QueryParameter(max_length=200, description="Cron text: `0 3 * * *`.")
    ] = None,
    tz: Annotated[
        str | None, QueryParameter(max_length=100, description="Its time zone, an IANA name.")
    ] = None,
    every: Annotated[
        float | None, QueryParameter(description="So many seconds, in place of cron text.")
    ] = None,
) -> SchedulePreview:
    """When a schedule would fire that is not there yet. 400 says what is wrong with it."""
    try:
        times = timing("schedule", cron=cron, every=every, timezone=tz or None)
    except ConfigurationError as error:
        said = str(error).removeprefix("schedule: ")
        raise Problem(400, "bad_request", said) from error
    return SchedulePreview(
        when=in_words(times),
        timezone=times.timezone,
        upcoming=upcoming(times, times.after(console.app.clock.now())),
    )


SCHEDULES = (schedules, schedule, schedule_preview)
