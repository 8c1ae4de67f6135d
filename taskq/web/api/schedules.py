"""``/api/schedules``: what is periodic."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import PathParameter
from msgspec import Struct

from taskq.web.api.asking import veil_of
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.schedule import ScheduleView


class ScheduleList(Struct, frozen=True, kw_only=True):
    """Schedules in order of their names."""

    items: list[ScheduleView]


@get("/api/schedules")
async def schedules(
    console: NamedDependency[Console], identity: NamedDependency[Identity]
) -> ScheduleList:
    """All schedules, with their next times."""
    found = await console.ask(console.reader.schedules)
    veil = veil_of(console, identity)
    return ScheduleList(items=[ScheduleView.of(info, veil) for info in found])


@get("/api/schedules/{name:str}")
async def schedule(
    name: Annotated[str, PathParameter(max_length=200)],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> ScheduleView:
    """One schedule, with its next times. 404 for an unknown name."""
    for info in await console.ask(console.reader.schedules, [name]):
        return ScheduleView.of(info, veil_of(console, identity))
    raise Problem(404, "not_found", f"there is no schedule {name!r}")


SCHEDULES = (schedules, schedule)
