"""``/api/schedules``, posted to: schedules made, changed and steered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast
from uuid import UUID

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from taskq.calling import call_of, task_named
from taskq.codec import to_json
from taskq.errors import InvalidState
from taskq.model import Activity
from taskq.schedule import CatchUp, Overlap, ScheduleInfo
from taskq.schedules import ScheduleOptions
from taskq.web.commanding import (
    Asked,
    JsonObject,
    PriorityName,
    Seconds,
    exact,
    given,
    refusals,
    repeated,
    who,
)
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity


class TimesAsked(Asked, frozen=True, kw_only=True):
    """When a schedule fires: ``cron`` text in the time zone ``tz``, or ``every`` so many seconds;
    ``catch_up``, ``overlap`` and ``jitter`` (seconds) as ``taskq.periodic`` has them. ``queue`` and
    ``priority`` are those of the calls."""

    cron: str | None = None
    every: Seconds | None = None
    tz: str | None = None
    catch_up: CatchUp | None = None
    overlap: Overlap | None = None
    jitter: Seconds | None = None
    queue: str | None = None
    priority: PriorityName | None = None


class CreateAsked(TimesAsked, frozen=True, kw_only=True):
    """A schedule ``name`` that calls the task ``type`` with these arguments."""

    name: str
    type: str
    arguments: JsonObject | None = None


class EditAsked(TimesAsked, frozen=True, kw_only=True):
    """What is given is changed, the rest stays. ``revision`` is the one that was seen: where the
    schedule has changed since, nothing is done, and the answer is 409 ``stale``. ``type`` and
    ``arguments`` are given together, or the arguments alone, for the type that it has. A ``type``
    has its own queue and priority, unless they are given."""

    revision: int
    type: str | None = None
    arguments: JsonObject | None = None


class Scheduled(Struct, frozen=True, kw_only=True):
    """A schedule as it is now; ``next_at`` is null where nothing more comes of it."""

    name: str
    revision: int
    paused: bool
    next_at: datetime | None


class Triggered(Struct, frozen=True, kw_only=True):
    """The activity that a schedule has made out of its turn."""

    name: str
    id: UUID


class ScheduleDeleted(Struct, frozen=True, kw_only=True):
    """A schedule that is forgotten. ``declared``: code has it, so it comes back with the next
    worker. ``repeated``: it was gone already, by the same command."""

    name: str
    declared: bool
    repeated: bool = False


@post("/api/schedules", status_code=201)
async def create_schedule(
    data: JSONBody[CreateAsked],
    request: Request[Any, Any, Any],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Scheduled:
    """Make a schedule that calls a task of this app."""
    with refusals():
        arguments = await exact(request, "arguments")
        payload = to_json(arguments or {}, label=data.type)
        call = call_of(task_named(console.app.tasks, data.type), payload, _options(data))
        made = await console.app.schedules.acreate(
            data.name, call, **_times(data), **who(data, identity)
        )
    return _scheduled(made)


@post("/api/schedules/{name:str}/edit", status_code=200)
async def edit_schedule(
    name: FromPath[str],
    data: JSONBody[EditAsked],
    request: Request[Any, Any, Any],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Scheduled:
    """Change a schedule. One that code declares stays so until its definition there changes."""
    revision = None if await repeated(console, data) else data.revision
    info = await _there(console, name)
    with refusals():
        call = _other_call(console, info, data, await exact(request, "arguments"))
        try:
            changed = await console.app.schedules.aupdate(
                name, activity=call, revision=revision, **_times(data), **who(data, identity)
            )
        except InvalidState as error:
            if (await _there(console, name)).revision == revision:
                raise
            raise Problem(
                409, "stale", f"schedule {name!r} has changed since you saw it: look again"
            ) from error
    return _scheduled(changed)


@post("/api/schedules/{name:str}/pause", status_code=200)
async def pause_schedule(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Scheduled:
    """Fire no more until it is resumed."""
    await _there(console, name)
    return _scheduled(await console.app.schedules.apause(name, **who(data, identity)))


@post("/api/schedules/{name:str}/resume", status_code=200)
async def resume_schedule(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Scheduled:
    """Go on with the first occurrence after now."""
    await _there(console, name)
    return _scheduled(await console.app.schedules.aresume(name, **who(data, identity)))


@post("/api/schedules/{name:str}/trigger", status_code=200)
async def trigger_schedule(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Triggered:
    """Make one activity now, besides the occurrences. It has the ``command_id`` as its id."""
    await _there(console, name)
    future = await console.app.schedules.atrigger(name, **who(data, identity))
    return Triggered(name=name, id=future.id)


@post("/api/schedules/{name:str}/delete", status_code=200)
async def delete_schedule(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> ScheduleDeleted:
    """Forget a schedule; what it has made stays."""
    if await repeated(console, data):
        return ScheduleDeleted(name=name, declared=False, repeated=True)
    info = await _there(console, name)
    await console.app.schedules.adelete(name, **who(data, identity))
    return ScheduleDeleted(name=name, declared=info.declared)


def _other_call(
    console: Console, info: ScheduleInfo, asked: EditAsked, arguments: Mapping[str, object] | None
) -> Activity[Any] | None:
    """The call as it is to be; None: as it is."""
    options, before = _options(asked), info.schedule.template
    if asked.type is None and arguments is None and not options:
        return None
    type, payload = asked.type or before.type, before.payload
    if asked.type is None:
        options = {"queue": before.queue, "priority": before.priority, **options}
    if asked.type is not None or arguments is not None:
        payload = to_json(arguments or {}, label=type)
    return call_of(task_named(console.app.tasks, type), payload, options)


async def _there(console: Console, name: str) -> ScheduleInfo:
    """The schedule. Raises Problem 404."""
    try:
        return await console.app.schedules.aget(name)
    except InvalidState as error:
        raise Problem(404, "not_found", str(error)) from error


def _options(asked: TimesAsked) -> dict[str, Any]:
    return given(asked, "queue", "priority")


def _times(asked: TimesAsked) -> ScheduleOptions:
    return cast("ScheduleOptions", given(asked, *_TIMES))


_TIMES: Final = ("cron", "every", "tz", "catch_up", "overlap", "jitter")


def _scheduled(info: ScheduleInfo) -> Scheduled:
    return Scheduled(
        name=info.name,
        revision=info.revision,
        paused=info.paused_at is not None,
        next_at=info.next_at,
    )


SCHEDULING = (
    create_schedule,
    edit_schedule,
    pause_schedule,
    resume_schedule,
    trigger_schedule,
    delete_schedule,
)
