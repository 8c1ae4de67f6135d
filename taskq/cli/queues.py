"""``taskq queues``: how queues and types fare, and pausing them."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec

from taskq.app import TaskQ
from taskq.cli.acquaintance import stranger
from taskq.cli.actor import actor
from taskq.cli.command import Command, Commands, refuse_before_command
from taskq.cli.failure import Refused
from taskq.cli.output import emit, emit_json, emit_table, say
from taskq.cli.selection import reason_option
from taskq.cli.target import opened, target_options
from taskq.cli.text import duration, instant
from taskq.model import Status
from taskq.pausing import Kind, Load
from taskq.settings import NAME, bad_name

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_TYPE = click.option("--type", "type_name", metavar="NAME", help="A type, wherever it is.")
_TYPES = click.option("--types", is_flag=True, help="Show the types with work instead.")
_ENDED = (Status.COMPLETED, Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED)


@click.group("queues", cls=Commands, invoke_without_command=True)
@target_options
@_TYPES
@_JSON
@click.pass_context
def queues_command(
    context: click.Context, database: str | None, app: str | None, types: bool, as_json: bool
) -> None:
    """Show queues, pause and resume them; alone it is "queues list"."""
    if context.invoked_subcommand is None:
        _list(database, app, types=types, as_json=as_json)
    else:
        refuse_before_command(context, database, app, types, as_json)


@click.command("list", cls=Command)
@target_options
@_TYPES
@_JSON
def list_command(database: str | None, app: str | None, types: bool, as_json: bool) -> None:
    """Show every queue: what is in it, who serves it, and whether it is paused.

    With --json: an array of objects with name, paused (null or since, by, reason), by_status,
    oldest_pending in seconds, workers and cap. Counts stop at the cap.
    """
    _list(database, app, types=types, as_json=as_json)


@click.command("pause", cls=Command)
@click.argument("queue", required=False)
@target_options
@_TYPE
@reason_option
@_JSON
def pause_command(
    queue: str | None,
    database: str | None,
    app: str | None,
    type_name: str | None,
    reason: str,
    as_json: bool,
) -> None:
    """Begin nothing more of QUEUE, or of --type NAME, on any worker, within a second.

    What runs goes on; what is stored waits. It holds until "taskq queues resume", whatever is
    deployed or started meanwhile. A name that nothing has yet is paused too, and that is said.
    """
    kind, name = _one(queue, type_name)
    with opened(database, app) as found:
        done = found.queues.pause(queue=queue, type=type_name, reason=reason, actor=actor())
        doubt = stranger(found, kind, name)
    _answer(kind, name, "paused" if done else "paused already", done, as_json=as_json)
    _doubt(doubt)


@click.command("resume", cls=Command)
@click.argument("queue", required=False)
@target_options
@_TYPE
@reason_option
@_JSON
def resume_command(
    queue: str | None,
    database: str | None,
    app: str | None,
    type_name: str | None,
    reason: str,
    as_json: bool,
) -> None:
    """Let QUEUE, or --type NAME, go on."""
    kind, name = _one(queue, type_name)
    with opened(database, app) as found:
        done = found.queues.resume(queue=queue, type=type_name, reason=reason, actor=actor())
        doubt = None if done else stranger(found, kind, name)
    _answer(kind, name, "goes on" if done else "was not paused", done, as_json=as_json)
    _doubt(doubt)


for _command in (list_command, pause_command, resume_command):
    queues_command.add_command(_command)


def _one(queue: str | None, type_name: str | None) -> tuple[Kind, str]:
    match queue, type_name:
        case str(), None:
            kind, name = Kind.QUEUE, queue
        case None, str():
            kind, name = Kind.TYPE, type_name
        case _:
            raise Refused("name one of them: a QUEUE, or --type NAME")
    if not NAME.match(name):
        raise Refused(bad_name(kind, name))
    return kind, name


def _doubt(sentence: str | None) -> None:
    if sentence is not None:
        say(sentence)


def _answer(kind: Kind, name: str, said: str, changed: bool, *, as_json: bool) -> None:
    if as_json:
        emit_json({"kind": kind, "name": name, "changed": changed})
        return
    emit(f"{kind} {name} {said}")


def _list(database: str | None, app: str | None, *, types: bool, as_json: bool) -> None:
    with opened(database, app) as found:
        loads = found.queues.types() if types else found.queues.list()
    if as_json:
        emit_json([load_fields(load) for load in loads])
        return
    _emit(loads, Kind.TYPE if types else Kind.QUEUE)


def held_up(found: TaskQ) -> list[Load]:
    """What is paused and has work waiting."""
    kinds = {pause.kind for pause in found.client.call_sync(found.client.store.pauses)}
    return [
        load
        for kind in Kind
        if kind in kinds
        for load in found.client.call_sync(found.client.store.loads, kind)
        if load.paused is not None and load.waiting
    ]


def held_up_text(load: Load) -> str:
    """What waits there since when, in one sentence."""
    return f"{load.kind} {load.name!r} is paused {paused_text(load)}; {load.waiting} waiting"


def resuming(load: Load) -> str:
    """The command that lets it go on."""
    option = "--type " if load.kind is Kind.TYPE else ""
    return f"taskq queues resume {option}{load.name}"


def load_fields(load: Load) -> dict[str, object]:
    """A queue's or a type's fields for JSON."""
    fields = msgspec.structs.asdict(load)
    if load.paused is not None:
        fields["paused"] = {name: getattr(load.paused, name) for name in ("since", "by", "reason")}
    return fields


def _emit(loads: Sequence[Load], kind: Kind) -> None:
    shown = [Status.PENDING, Status.SCHEDULED, Status.RETRYING, Status.PROCESSING]
    ended = _ENDED if kind is Kind.QUEUE else ()
    columns = [kind.value, *shown, *ended, "oldest", "workers", "paused"]
    rows = [
        [
            load.name,
            *(_count(load, status) for status in (*shown, *ended)),
            "-" if load.oldest_pending is None else duration(load.oldest_pending),
            str(load.workers),
            paused_text(load),
        ]
        for load in loads
    ]
    emit_table(columns, rows, spare=["cancelled", "completed", "failed", "dead_letter", "oldest"])


def _count(load: Load, status: Status) -> str:
    count = load.by_status.get(status, 0)
    return f"{count}+" if count >= load.cap else str(count)


def paused_text(load: Load) -> str:
    """Since when, by whom and why; ``-`` where it goes on."""
    pause = load.paused
    if pause is None:
        return "-"
    why = f": {pause.reason}" if pause.reason else ""
    return f"since {instant(pause.since)} by {pause.by}{why}"
