"""``taskq enqueue``: a call from the command line."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import click

from taskq import calling
from taskq.app import TaskQ
from taskq.calling import BadCall, call_of
from taskq.cli.command import Command
from taskq.cli.failure import NotDone, Refused
from taskq.cli.loading import chosen, hosted, load_app
from taskq.cli.output import emit, say
from taskq.cli.text import ascii_json, printable
from taskq.cli.values import DURATION, moment, priority
from taskq.errors import ResultTimeout
from taskq.logs import configure
from taskq.model import OnDuplicate, Status
from taskq.settings import NAME
from taskq.task import Task


def _tags(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """``name=value`` texts as a mapping."""
    tags: dict[str, str] = {}
    for value in values:
        name, equals, content = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not name=value")
        tags[name] = content
    return tags


@click.command("enqueue", cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="[APP] NAME [JSON]")
@click.option("-A", "--app", metavar="APP", help="The app, instead of the first argument.")
@click.option("-q", "--queue", help="Put it on this queue.")
@click.option("-p", "--priority", callback=priority, help="LOW, NORMAL, HIGH, CRITICAL or 1-4.")
@click.option("--delay", type=DURATION, help="Run it this much later: 90, 90s, 1h30m.")
@click.option("--at", "run_at", callback=moment, help="Run it at this time, with its time zone.")
@click.option("--key", "idempotency_key", help="The idempotency key.")
@click.option(
    "--on-duplicate",
    type=click.Choice([choice.value for choice in OnDuplicate]),
    help="What a key that is taken gives.  [default: return_existing]",
)
@click.option("--unique-for", type=DURATION, help="How long the key counts.")
@click.option("--max-retries", type=int, help="Retries after the first run.")
@click.option("--timeout", type=DURATION, help="Running time of one attempt.")
@click.option(
    "--tag", "tags", callback=_tags, multiple=True, metavar="NAME=VALUE", help="Repeatable."
)
@click.option("--source", help="Where the call comes from.")
@click.option("--correlation-id", help="Joins the activities of one workflow.")
@click.option("--user-id", help="The user on whose behalf it runs.")
@click.option(
    "--wait",
    type=DURATION,
    is_flag=False,
    flag_value="inf",
    metavar="[DURATION]",
    help="Wait for the result and print it as JSON; without DURATION there is no limit.",
)
def enqueue_command(
    words: tuple[str, ...],
    app: str | None,
    wait: float | None,
    tags: dict[str, str],
    **options: Any,
) -> None:
    """Store a call of the task NAME of the app, and print its id.

    JSON is one object of named arguments, checked against the task's signature; "-" reads it from
    stdin. With --wait the result is printed instead; exit code 1 when there is none.
    """
    if wait is not None and not wait >= 0:
        raise Refused(f"--wait takes seconds of at least 0, not {wait}")
    place, name, payload = arguments(words, named=bool(chosen(None, app) or hosted()))
    found = load_app(chosen(place, app))
    if not found.client.store.capabilities.shared:
        raise Refused(
            f"{found.client.store.location} lives inside one process: the call would be gone when"
            " this command ends"
        )
    configure("warning", "text")
    try:
        given = {key: value for key, value in options.items() if value is not None}
        if tags:
            given["tags"] = tags
        id = _enqueued(found, name, _read(payload), given)
        if wait is None:
            emit(str(id))
            return
        say(str(id))
        _emit_result(found, id, None if math.isinf(wait) else wait)
    finally:
        found.close()


def arguments(words: Sequence[str], *, named: bool) -> tuple[str | None, str, str]:
    """App, task and payload out of ``[APP] NAME [JSON]``. ``named``: the app is known already.

    What cannot be a task name is the payload. Refused when too much or too little is given.
    """
    rest = list(words)
    payload = rest.pop() if len(rest) == 3 or (len(rest) > 1 and not NAME.match(rest[-1])) else "{}"
    if len(rest) > 2:
        raise Refused(f"too many arguments: [APP] NAME [JSON], not {' '.join(words)!r}")
    if len(rest) == 2:
        return rest[0], rest[1], payload
    if not named:
        raise Refused(
            "an app and a task are needed: taskq enqueue app:taskq NAME [JSON]; the app may also"
            " be named by -A/--app or TASKQ_APP"
        )
    return None, rest[0], payload


def _enqueued(found: TaskQ, name: str, payload: str, options: Mapping[str, Any]) -> UUID:
    try:
        activity = call_of(task_named(found, name), payload, options)
    except BadCall as error:
        raise Refused(str(error)) from error
    return found.enqueue([activity])[0].id


def task_named(found: TaskQ, name: str) -> Task[..., Any]:
    """A task of the app. Refused for a name that it has not."""
    try:
        return calling.task_named(found.tasks, name)
    except calling.NoSuchTask as error:
        raise Refused(str(error)) from error


def _read(payload: str) -> str:
    """The payload itself, or stdin for ``-``."""
    return sys.stdin.read() if payload == "-" else payload


def _emit_result(found: TaskQ, id: UUID, timeout: float | None) -> None:
    try:
        ended = found.client.wait_sync(id, timeout)
    except ResultTimeout as error:
        raise NotDone(str(error)) from error
    if ended is None:
        raise NotDone(f"there is no activity {id}: it was deleted meanwhile")
    if ended.status is not Status.COMPLETED:
        known = ended.error
        said = "" if known is None else f": {known.type}: {known.message}"
        raise NotDone(printable(f"activity {id} ended {ended.status}{said}"))
    emit(ascii_json(ended.result or "null"))
