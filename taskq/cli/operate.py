"""``taskq enqueue``, ``retry`` and ``cancel``: what changes something."""

from __future__ import annotations

import getpass
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID

import click

from taskq.app import TaskQ
from taskq.backends import Cancellation
from taskq.cli import bulk
from taskq.cli.command import Command
from taskq.cli.failure import NotDone, Refused
from taskq.cli.filters import FilterCommand, terms
from taskq.cli.loading import chosen, load_app
from taskq.cli.output import emit, say
from taskq.cli.target import identified, is_id, opened, target_options
from taskq.cli.text import ascii_json, printable
from taskq.errors import ResultTimeout, SerializationError
from taskq.filtering.reading import narrowed
from taskq.filtering.terms import StatusIn, Term
from taskq.lifecycle import RETRYABLE_BY_OPERATOR
from taskq.logs import configure
from taskq.model import OnDuplicate, Priority, Status
from taskq.options import CallArguments
from taskq.settings import NAME
from taskq.snapshot import Filter, Page
from taskq.task import Task

T = TypeVar("T")

_ALIVE = tuple(status for status in Status if not status.terminal)
_COUNTED = 100


def _priority(_: click.Context, __: click.Parameter, value: str | None) -> Priority | None:
    """A priority by name, in any case, or by number."""
    if value is None:
        return None
    for level in Priority:
        if value.upper() in (level.name, str(level.value)):
            return level
    names = ", ".join(f"{level.name} ({level.value})" for level in Priority)
    raise click.BadParameter(f"{value!r} is not one of {names}")


def _moment(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    """An ISO 8601 time; whether it has a time zone is checked where it is used."""
    try:
        return None if value is None else datetime.fromisoformat(value)
    except ValueError:
        example = "2026-12-31T18:00:00+01:00"
        raise click.BadParameter(f"{value!r} is not a time such as {example}") from None


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
@click.option("-p", "--priority", callback=_priority, help="LOW, NORMAL, HIGH, CRITICAL or 1-4.")
@click.option("--delay", type=float, metavar="SECONDS", help="Run it this much later.")
@click.option("--at", "run_at", callback=_moment, help="Run it at this time, with its time zone.")
@click.option("--key", "idempotency_key", help="The idempotency key.")
@click.option(
    "--on-duplicate",
    type=click.Choice([choice.value for choice in OnDuplicate]),
    help="What a key that is taken gives.  [default: return_existing]",
)
@click.option("--max-retries", type=int, help="Retries after the first run.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Running time of one attempt.")
@click.option(
    "--tag", "tags", callback=_tags, multiple=True, metavar="NAME=VALUE", help="Repeatable."
)
@click.option("--source", help="Where the call comes from.")
@click.option("--correlation-id", help="Joins the activities of one workflow.")
@click.option("--user-id", help="The user on whose behalf it runs.")
@click.option(
    "--wait",
    type=float,
    is_flag=False,
    flag_value="inf",
    metavar="[SECONDS]",
    help="Wait for the result and print it as JSON; without SECONDS there is no limit.",
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
    place, name, payload = arguments(words, named=bool(chosen(None, app)))
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


_YES = click.option("--yes", is_flag=True, help="With a filter: do not ask.")


@click.command("retry", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="ID...|FILTER...")
@target_options
@click.option("--reason", default="", help="Why; kept with each activity.")
@_YES
def retry_command(
    words: tuple[str, ...], database: str | None, app: str | None, reason: str, yes: bool
) -> None:
    """Send ended activities round again, with fresh budgets.

    Those with these ids, or all that a filter finds which have ended other than completed, oldest
    first: for example "taskq retry status:dead_letter type:send_*", which says how many there are
    and asks.
    """
    asked = None if any(map(is_id, words)) else _terms(words)
    with opened(database, app) as found:
        if asked is not None:
            wanted = narrowed(Filter(), [*asked, StatusIn(tuple(sorted(RETRYABLE_BY_OPERATOR)))])
            _all(found, wanted, "retry", _retry_with(found, reason), _retried, yes=yes)
            return
        ids = [identified(found, id) for id in words]
        before = _retry_with(found, reason)(ids)
    _answer(ids, before, _retried)


@click.command("cancel", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="ID...|FILTER...")
@target_options
@click.option("--tree", is_flag=True, help="And all that they have made, and what those made.")
@_YES
def cancel_command(
    words: tuple[str, ...], database: str | None, app: str | None, tree: bool, yes: bool
) -> None:
    """Cancel activities: at once what waits, by request what runs.

    Those with these ids, or all that a filter finds which have not ended (with --tree also those
    that have, for what is below them): for example "taskq cancel queue:mail age>1h", which says how
    many there are and asks. What they have made goes on without --tree; for ids it is said how much
    of it. Exit code 0 when each ID is cancelled, was so already, or is asked to stop; 1 when one
    has ended otherwise (with --tree: and nothing below it was alive) or does not exist, the others
    being cancelled all the same; 2 for what can be no ID, nothing being cancelled then.
    """
    asked = None if any(map(is_id, words)) else _terms(words)
    with opened(database, app) as found:
        cancel = _cancel_with(found, tree)
        if asked is not None:
            live = () if tree else (StatusIn(_ALIVE),)
            wanted = narrowed(Filter(), [*asked, *live])
            _all(found, wanted, "cancel", cancel, partial(_cancelled, going_on=0), yes=yes)
            return
        ids = [identified(found, id) for id in words]
        met = cancel(ids)
        going_on = {} if tree else {id: _children_going_on(found, id) for id in met}
    texts = {id: _cancelled(each, going_on.get(id, 0)) for id, each in met.items()}
    _answer(ids, texts, lambda text: text)


def _terms(words: Sequence[str]) -> Sequence[Term]:
    """What a filter asks for. Refused where it asks for nothing."""
    asked = terms(words)
    if not asked:
        raise Refused("this filter asks for nothing; type:* means every activity")
    return asked


def _all(
    found: TaskQ,
    wanted: Filter,
    verb: str,
    change: Callable[[Sequence[UUID]], Mapping[UUID, T]],
    judged: Callable[[T], tuple[bool, str]],
    *,
    yes: bool,
) -> None:
    """Change all that match, once somebody has agreed. What has ended meanwhile is left as it is,
    and is no failure: it matches no more."""
    those = bulk.chosen(found, wanted)
    if not those.ids:
        say("no activity matches")
        return
    bulk.confirm(those, verb, yes=yes)
    bulk.each_chunk(those.ids, verb, change, lambda answer: judged(answer)[1])


def _retry_with(found: TaskQ, reason: str) -> Callable[[Sequence[UUID]], Mapping[UUID, Status]]:
    retry = partial(found.client.store.retry, actor=actor(), reason=reason)
    return lambda ids: found.client.call_sync(retry, ids)


def _cancel_with(
    found: TaskQ, tree: bool
) -> Callable[[Sequence[UUID]], Mapping[UUID, Cancellation]]:
    cancel = partial(found.client.store.cancel, tree=tree)
    return lambda ids: found.client.call_sync(cancel, ids)


def actor() -> str:
    """Who did it, for the record."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):
        return "cli"


def _retried(status: Status) -> tuple[bool, str]:
    if status in RETRYABLE_BY_OPERATOR:
        return True, f"pending (was {status})"
    ended = ", ".join(sorted(RETRYABLE_BY_OPERATOR))
    return False, f"left as it is: {status}, and only these are retried: {ended}"


def _children_going_on(found: TaskQ, id: UUID) -> int:
    """How many children of it are alive and not asked to stop, counted up to ``_COUNTED``."""
    alive = Filter(parent_id=id, statuses=_ALIVE)
    page = found.client.call_sync(found.client.store.list, alive, Page(limit=_COUNTED))
    return sum(child.cancel_requested_at is None for child in page.items)


def _cancelled(met: Cancellation, going_on: int) -> tuple[bool, str]:
    done, text = _cancelled_itself(met.status)
    if going_on:
        number = f"{going_on} or more" if going_on == _COUNTED else going_on
        children, go = ("child", "goes") if going_on == 1 else ("children", "go")
        return done, f"{text}; {number} {children} of it {go} on, --tree cancels below it too"
    if not met.below:
        return done, text
    if met.status.terminal:
        return True, f"had ended {met.status}; cancelled {met.below} below it"
    return True, f"{text}, and {met.below} below it"


def _cancelled_itself(status: Status) -> tuple[bool, str]:
    if status is Status.CANCELLED:
        return True, "cancelled already"
    if status.terminal:
        return False, f"cannot be cancelled: it has ended {status}"
    if status is Status.PROCESSING:
        return True, "cancel requested (it is running)"
    return True, f"cancelled (was {status})"


def _answer(
    ids: Sequence[UUID],
    before: Mapping[UUID, T],
    judged: Callable[[T], tuple[bool, str]],
) -> None:
    """A line for each id; exit code 1 when any did not succeed."""
    succeeded = True
    for id in dict.fromkeys(ids):
        done, text = judged(before[id]) if id in before else (False, "there is no such activity")
        succeeded &= done
        emit(f"{id}  {text}")
    if not succeeded:
        raise click.exceptions.Exit(1)


def _enqueued(found: TaskQ, name: str, payload: str, options: Mapping[str, Any]) -> UUID:
    task = task_named(found, name)
    try:
        activity = task.options(**cast("CallArguments", options)).build_json(payload)
    except TypeError as error:
        raise Refused(str(error)) from error
    except (SerializationError, ValueError) as error:
        raise Refused(f"{name}: {error}" if name not in str(error) else str(error)) from error
    return found.enqueue([activity])[0].id


def task_named(found: TaskQ, name: str) -> Task[..., Any]:
    """A task of the app. Refused for a name that it has not."""
    task = found.tasks.get(name)
    if task is not None:
        return task
    if not found.tasks:
        raise Refused("this app has no activities")
    close = get_close_matches(name, found.tasks, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    raise Refused(
        f"no task of this app is named {name!r}; {guess}there are: {', '.join(sorted(found.tasks))}"
    )


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
