"""``taskq schedules``: what is periodic, made, changed, paused and triggered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import click

from taskq.app import TaskQ
from taskq.cli import bulk
from taskq.cli.actor import actor
from taskq.cli.command import Command, Commands, refuse_before_command
from taskq.cli.enqueue import task_named
from taskq.cli.failure import NotDone, Refused
from taskq.cli.loading import needed
from taskq.cli.output import emit, emit_json, emit_pairs, emit_table, say
from taskq.cli.selection import final_yes_option, reason_option
from taskq.cli.target import opened, target_options
from taskq.cli.text import duration, moment, stored_json
from taskq.cli.values import DURATION
from taskq.errors import ConfigurationError, InvalidState, SerializationError
from taskq.occurrences import explained
from taskq.schedule import CATCH_UP, OVERLAP, Schedule, ScheduleInfo
from taskq.schedules import ScheduleOptions

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_NAME = click.argument("name")


def _definition(function: Any) -> Any:
    """The options that define a schedule."""
    for option in (
        click.option("--jitter", type=DURATION, help="Spread the starts."),
        click.option("--overlap", type=click.Choice(OVERLAP), help="While the last one goes on."),
        click.option(
            "--catch-up", type=click.Choice(CATCH_UP), help="What to do about missed ones."
        ),
        click.option("--tz", metavar="ZONE", help="The time zone of --cron.  [default: UTC]"),
        click.option("--every", type=DURATION, help="So often: 90, 90s, 1h30m."),
        click.option("--cron", metavar="TEXT", help='When: "*/5 * * * *", "@daily".'),
    ):
        function = option(function)
    return function


@click.group("schedules", cls=Commands, invoke_without_command=True)
@target_options
@_JSON
@click.pass_context
def schedules_command(
    context: click.Context, database: str | None, app: str | None, as_json: bool
) -> None:
    """What is periodic: list, show, create, edit, pause, resume, trigger, delete.

    Alone it is "schedules list".
    """
    if context.invoked_subcommand is None:
        _list(database, app, as_json=as_json)
    else:
        refuse_before_command(context, database, app, as_json)


@schedules_command.command("list", cls=Command)
@target_options
@_JSON
def list_command(database: str | None, app: str | None, as_json: bool) -> None:
    """List schedules by name.

    With --json: an array of objects with the fields that "show" has under --json.
    """
    _list(database, app, as_json=as_json)


def _list(database: str | None, app: str | None, *, as_json: bool) -> None:
    with opened(database, app) as found:
        items = [*map(found.showing.schedule, found.schedules.list())]
    if as_json:
        emit_json([fields(info) for info in items])
        return
    if not items:
        say("there are no schedules")
        return
    emit_table(("name", "type", "when", "timezone", "next", "last", "state"), _rows(items))


@schedules_command.command("show", cls=Command)
@_NAME
@target_options
@_JSON
def show_command(name: str, database: str | None, app: str | None, as_json: bool) -> None:
    """Show one schedule."""
    with opened(database, app) as found:
        info = found.showing.schedule(_looked_up(found, name))
    if as_json:
        emit_json(fields(info))
        return
    shown = {
        **fields(info),
        "when": when(info.schedule),
        "arguments": info.schedule.template.payload,
    }
    for key in ("next_at", "last_at", "paused_at", "created_at", "updated_at"):
        shown[key] = moment(cast("Any", shown[key]))
    emit_pairs([(key.replace("_", " "), _text(value)) for key, value in shown.items()])


@schedules_command.command("create", cls=Command)
@_NAME
@click.argument("task")
@click.argument("payload", default="{}", metavar="[JSON]")
@click.option("-A", "--app", metavar="APP", help="The app whose task it is.")
@_definition
@reason_option
def create_command(
    name: str, task: str, payload: str, app: str | None, reason: str, **given: Any
) -> None:
    """Make a schedule NAME that calls the task TASK of the app with the arguments JSON.

    For example: taskq schedules create nightly report '{"region": "eu"}' --cron "0 3 * * *".
    The app is named by -A/--app or TASKQ_APP.
    """
    options = _given(given)
    if not options.keys() & {"cron", "every"}:
        raise Refused("its times are not given: say --cron or --every")
    with opened(None, needed(app)) as found:
        try:
            call = task_named(found, task).build_json(payload)
            info = found.schedules.create(name, call, actor=actor(), reason=reason, **options)
        except (TypeError, SerializationError) as error:
            raise Refused(str(error)) from error
        except InvalidState as error:
            raise NotDone(str(error)) from error
    emit(f"{name}  next at {moment(info.next_at)}")


@schedules_command.command("edit", cls=Command)
@_NAME
@target_options
@_definition
@reason_option
def edit_command(
    name: str, database: str | None, app: str | None, reason: str, **given: Any
) -> None:
    """Change what is given, leave the rest. The task and its arguments stay what they are.

    To call something else, delete the schedule and create it anew. One that code defines stays as
    it is changed here until its definition in code changes.
    """
    options = _given(given)
    if not options:
        raise Refused("nothing to change: give --cron, --every, --tz or another option")
    with opened(database, app) as found:
        _looked_up(found, name)
        try:
            info = found.schedules.update(name, actor=actor(), reason=reason, **options)
        except InvalidState as error:
            raise NotDone(str(error)) from error
    emit(f"{name}  next at {moment(info.next_at)}")


@schedules_command.command("pause", cls=Command)
@_NAME
@target_options
@reason_option
def pause_command(name: str, database: str | None, app: str | None, reason: str) -> None:
    """Fire no more, until "resume"."""
    with opened(database, app) as found:
        _looked_up(found, name)
        found.schedules.pause(name, actor=actor(), reason=reason)
    emit(f"{name}  paused")


@schedules_command.command("resume", cls=Command)
@_NAME
@target_options
@reason_option
def resume_command(name: str, database: str | None, app: str | None, reason: str) -> None:
    """Go on with the first occurrence after now."""
    with opened(database, app) as found:
        _looked_up(found, name)
        info = found.schedules.resume(name, actor=actor(), reason=reason)
    emit(f"{name}  next at {moment(info.next_at)}")


@schedules_command.command("trigger", cls=Command)
@_NAME
@target_options
@reason_option
def trigger_command(name: str, database: str | None, app: str | None, reason: str) -> None:
    """Make one activity now, besides the occurrences, and print its id."""
    with opened(database, app) as found:
        _looked_up(found, name)
        future = found.schedules.trigger(name, actor=actor(), reason=reason)
    emit(str(future.id))


@schedules_command.command("delete", cls=Command)
@_NAME
@target_options
@reason_option
@final_yes_option
def delete_command(
    name: str, database: str | None, app: str | None, reason: str, yes: bool
) -> None:
    """Forget a schedule; what it has made stays."""
    with opened(database, app) as found:
        info = _looked_up(found, name)
        if info.declared:
            say("code declares it: it comes back with the next worker, unless it is removed there")
        without = "nothing was deleted: add --yes to delete it"
        bulk.ask(f"delete the schedule {name}?", yes=yes, without=without)
        found.schedules.delete(name, actor=actor(), reason=reason)
    emit(f"{name}  deleted")


def when(schedule: Schedule) -> str:
    """Its times in words, as far as they can be read here."""
    timing = schedule.timing
    if timing.cron is None:
        return f"every {duration((timing.every or 0) / 1000)}"
    try:
        return f"{timing.cron}: {explained(timing.cron)}"
    except ConfigurationError:
        return timing.cron


def fields(info: ScheduleInfo) -> dict[str, object]:
    """A schedule under ``--json``: times are ISO 8601 in UTC, durations seconds."""
    schedule, template = info.schedule, info.schedule.template
    every = schedule.timing.every
    return {
        "name": info.name,
        "type": template.type,
        "queue": template.queue,
        "arguments": stored_json(template.payload),
        "cron": schedule.timing.cron,
        "every": None if every is None else every / 1000,
        "timezone": schedule.timing.timezone,
        "catch_up": schedule.catch_up,
        "overlap": schedule.overlap,
        "jitter": schedule.jitter / 1000,
        "state": _state(info),
        "broken": info.broken,
        "declared": info.declared,
        "next_at": info.next_at,
        "last_at": info.last_at,
        "last_id": info.last_id,
        "fired": info.fired,
        "skipped": info.skipped,
        "revision": info.revision,
        "paused_at": info.paused_at,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
    }


def _rows(items: Sequence[ScheduleInfo]) -> list[tuple[str, ...]]:
    return [
        (
            info.name,
            info.schedule.template.type,
            when(info.schedule),
            info.schedule.timing.timezone if info.schedule.timing.cron else "-",
            moment(info.next_at),
            moment(info.last_at),
            _state(info),
        )
        for info in items
    ]


def _state(info: ScheduleInfo) -> str:
    if info.broken is not None:
        return "broken"
    if info.paused_at is not None:
        return "paused"
    return "active" if info.next_at is not None else "over"


def _text(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _given(options: dict[str, Any]) -> ScheduleOptions:
    """Those that were given. Refused where they give two times."""
    given = {key: each for key, each in options.items() if each is not None}
    if given.keys() >= {"cron", "every"}:
        raise Refused("--cron and --every exclude each other: give one of them")
    return cast("ScheduleOptions", given)


def _looked_up(found: TaskQ, name: str) -> ScheduleInfo:
    try:
        return found.schedules.get(name)
    except InvalidState as error:
        raise NotDone(str(error)) from error
