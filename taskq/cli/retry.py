"""``taskq retry``: ended activities go round again, with other arguments where these are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar, cast
from uuid import UUID

import click

from taskq.app import TaskQ
from taskq.bulk.order import CHUNK
from taskq.cli.actor import actor
from taskq.cli.failure import Refused
from taskq.cli.filters import FilterCommand
from taskq.cli.output import say
from taskq.cli.selection import Deed, act, asked_terms, reason_option, yes_option
from taskq.cli.target import opened, target_options
from taskq.codec import from_json
from taskq.editing import Edit, edited
from taskq.errors import SerializationError
from taskq.lifecycle import RETRYABLE_BY_OPERATOR
from taskq.model import Status

F = TypeVar("F", bound=Callable[..., Any])

RETRYABLE: Final = tuple(sorted(RETRYABLE_BY_OPERATOR))


def retry_options(function: F) -> F:
    """Adds ``--set``, ``--arguments``, ``--rate``, ``--reason`` and ``--yes``."""
    options = (
        click.option(
            "--set",
            "changes",
            multiple=True,
            metavar="NAME=JSON",
            help="With this argument instead of the stored one; repeatable.",
        ),
        click.option("--arguments", metavar="JSON", help="With these named arguments instead."),
        click.option(
            "--rate",
            type=click.FloatRange(min=0, min_open=True),
            metavar="N",
            help="With a filter: not more than N a second.",
        ),
        reason_option,
        yes_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command("retry", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="ID...|FILTER...")
@target_options
@retry_options
def retry_command(
    words: tuple[str, ...],
    database: str | None,
    app: str | None,
    changes: tuple[str, ...],
    arguments: str | None,
    rate: float | None,
    reason: str,
    yes: bool,
) -> None:
    """Send ended activities round again, with fresh budgets.

    Those with these ids, or all that a filter finds which have ended other than completed, oldest
    first: for example "taskq retry status:dead_letter type:send_*", which says how many there are
    and asks. With --set to='"ada@example.com"' or --arguments they run with other arguments, which
    are checked first against the tasks of the app (-A/--app); nothing is retried where one does
    not fit.
    """
    edit = edit_of(changes, arguments)
    asked = asked_terms(words)
    with opened(database, app) as found:
        deed = retrying(found, edit, rate=rate, reason=reason)
        act(found, words, asked, RETRYABLE, deed, yes=yes)


def retrying(found: TaskQ, edit: Edit, *, rate: float | None, reason: str) -> Deed[Status]:
    """Retrying, with these edits."""
    return Deed(
        verb="retry",
        done="retried",
        change=partial(found.operator.retry, edit=edit, actor=actor(), reason=reason),
        judged=_retried,
        check=partial(_check, found, edit) if edit else None,
        rate=rate,
    )


def edit_of(changes: Sequence[str], arguments: str | None) -> Edit:
    """The edit that ``--set`` and ``--arguments`` say. Refused for what is no JSON."""
    if changes and arguments is not None:
        raise Refused("--set changes single arguments, --arguments all of them: give one")
    whole = None if arguments is None else _json("--arguments", arguments)
    if whole is not None and not isinstance(whole, dict):
        raise Refused("--arguments takes one JSON object of named arguments")
    single: dict[str, object] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or not name:
            raise Refused(f"--set takes NAME=JSON, not {change!r}")
        single[name] = _json(f"--set {name}", text)
    return Edit(arguments=cast("dict[str, object] | None", whole), changes=single)


def _json(option: str, text: str) -> object:
    try:
        return from_json(text, label=f"{option}: {text!r}")
    except SerializationError as error:
        hint = "; a text needs its quotes: 'NAME=\"text\"'" if option.startswith("--set") else ""
        raise Refused(f"{error}{hint}") from error


def _check(found: TaskQ, edit: Edit, ids: Sequence[UUID]) -> None:
    """Refused where the edited arguments of any of these do not fit. Those of tasks that are not
    known here are not checked; that is said."""
    strange: set[str] = set()
    for start in range(0, len(ids), CHUNK):
        client = found.client
        infos = client.call_sync(client.store.get, ids[start : start + CHUNK])
        strange |= {each.type for each in infos.values() if found.registry.task(each.type) is None}
        try:
            edited(infos.values(), edit, found.registry.task, found.showing)
        except (TypeError, SerializationError) as error:
            raise Refused(f"nothing was retried: {error}") from error
    if strange:
        names = ", ".join(sorted(strange))
        say(f"not checked against a signature, as no app here (-A/--app) has it: {names}")


def _retried(status: Status) -> tuple[bool, str]:
    if status in RETRYABLE_BY_OPERATOR:
        return True, f"pending (was {status})"
    ended = ", ".join(sorted(RETRYABLE_BY_OPERATOR))
    return False, f"left as it is: {status}, and only these are retried: {ended}"
