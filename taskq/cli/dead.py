"""``taskq dead``: what has failed, by cause; retried or purged by cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import click
import msgspec

from taskq.app import TaskQ
from taskq.backends.causes import FAILED
from taskq.cli.activity import activity_fields
from taskq.cli.command import Commands
from taskq.cli.delete import deleting
from taskq.cli.failure import NotDone
from taskq.cli.filters import FilterCommand, terms
from taskq.cli.output import emit, emit_json, emit_pairs, emit_table, say
from taskq.cli.retry import edit_of, retry_options, retrying
from taskq.cli.selection import act, asked_terms, final_yes_option, reason_option
from taskq.cli.target import is_id, opened, target_options
from taskq.cli.text import moment, shortened
from taskq.filtering.reading import narrowed
from taskq.filtering.terms import StatusIn
from taskq.fingerprint import LENGTH
from taskq.snapshot import ActivityInfo, Cause, Filter, Page

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_CAUSE: Final = re.compile(f"[0-9a-f]{{4,{LENGTH}}}")
_ENDED: Final = StatusIn(FAILED)
_SHOWN: Final = 10


@click.group("dead", cls=Commands)
def dead_commands() -> None:
    """Dead letters: what has failed, by cause; retry it or purge it.

    What ended dead_letter, and what ended failed. A cause is what failures of one task have in
    common, without ids, numbers and the like; its first 4 digits or more name it.
    """


@dead_commands.command("list", cls=FilterCommand)
@click.argument("words", nargs=-1, metavar="[FILTER]...")
@target_options
@click.option("--flat", is_flag=True, help="List the activities, not their causes.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most."
)
@_JSON
def list_command(
    words: tuple[str, ...],
    database: str | None,
    app: str | None,
    flat: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List what has failed, by cause, the most frequent first; all, or what FILTER finds.

    A count with a "+" goes on. --json: [{"fingerprint", "type", "title", "queues", "count", "dead",
    "first", "last", "example", "cap"}], with --flat the activities as in "taskq list"; the
    fingerprint is the cause.
    """
    wanted = narrowed(Filter(), terms(words))
    with opened(database, app) as found:
        if flat:
            _emit_flat(_newest(found, narrowed(wanted, [_ENDED]), limit), as_json=as_json)
            return
        causes = _causes(found, wanted, limit)
    if as_json:
        emit_json(causes)
        return
    if not causes:
        say("no dead letters")
        return
    columns = ("cause", "count", "type", "queues", "first", "last", "what")
    emit_table(columns, [_row(each) for each in causes], spare=("first", "queues", "last"))


@dead_commands.command("show", cls=FilterCommand)
@click.argument("cause")
@target_options
@_JSON
def show_command(cause: str, database: str | None, app: str | None, as_json: bool) -> None:
    """Show one cause: the latest failure, and which activities failed of it.

    --json: the cause as in "taskq dead list", with its newest activities as "items".
    """
    with opened(database, app) as found:
        one = _named(found, cause)
        items = _newest(found, Filter(fingerprint=one.fingerprint), _SHOWN)
    if as_json:
        fields = [activity_fields(item) for item in items]
        emit_json({**msgspec.structs.asdict(one), "items": fields})
        return
    _emit_cause(one, items)


@dead_commands.command("retry", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="CAUSE|ID...|FILTER...")
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
    """Send what has failed round again: of a cause, by ids, or what a filter finds, oldest first.

    For example: taskq dead retry 9f2c --set to='"ada@example.com"' --rate 50. What was retried has
    failed no more, so a command that was interrupted is finished by the same one. An id of what has
    not failed is left, and named. --set and --arguments as for "taskq retry".
    """
    edit = edit_of(changes, arguments)
    with opened(database, app) as found:
        words = _spelled(found, words)
        asked = asked_terms(words)
        deed = retrying(found, edit, rate=rate, reason=reason)
        act(found, words, asked, FAILED, deed, yes=yes)


@dead_commands.command("purge", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="CAUSE|ID...|FILTER...")
@target_options
@reason_option
@final_yes_option
def purge_command(
    words: tuple[str, ...], database: str | None, app: str | None, reason: str, yes: bool
) -> None:
    """Delete what has failed for good: of a cause, by ids, or what a filter finds.

    "type:*" means all of it. It asks, and each goes with all that is below it, as for "taskq
    delete". An id of what has not failed is left, and named.
    """
    with opened(database, app) as found:
        words = _spelled(found, words)
        asked = asked_terms(words)
        act(found, words, asked, FAILED, deleting(found, reason=reason), yes=yes)


def _spelled(found: TaskQ, words: Sequence[str]) -> tuple[str, ...]:
    """The words with each cause as a filter writes it. Digits that could begin an id too are a
    cause where there is one. A whole cause need not be there: all of it may be done already."""
    return tuple(_as_filter(found, word) for word in words)


def _as_filter(found: TaskQ, word: str) -> str:
    if not _CAUSE.fullmatch(word):
        return word
    if len(word) == LENGTH:
        return f"cause:{word}"
    if is_id(word) and not _beginning(found, word):
        return word
    return f"cause:{_named(found, word).fingerprint}"


def _named(found: TaskQ, digits: str) -> Cause:
    """The cause that begins with these digits. NotDone where none or several do."""
    causes = _beginning(found, digits)
    if not causes:
        raise NotDone(f"no dead letter has a cause that begins with {digits}")
    if len(causes) > 1:
        listed = ", ".join(f"{each.fingerprint} ({each.title})" for each in causes[:5])
        raise NotDone(f"several causes begin with {digits}, give more digits: {listed}")
    return causes[0]


def _beginning(found: TaskQ, digits: str) -> Sequence[Cause]:
    return _causes(found, narrowed(Filter(), terms([f"cause:{digits}"])), 100)


def _causes(found: TaskQ, wanted: Filter, limit: int) -> list[Cause]:
    client = found.client
    return client.call_sync(lambda: client.store.dead_letters(wanted, limit=limit))


def _newest(found: TaskQ, wanted: Filter, limit: int) -> Sequence[ActivityInfo]:
    client = found.client
    page = client.call_sync(client.store.list, wanted, Page(limit=limit))
    return [*map(found.showing.activity, page.items)]


def _row(cause: Cause) -> tuple[str, ...]:
    return (
        cause.fingerprint,
        _count(cause),
        cause.type,
        ", ".join(cause.queues),
        moment(cause.first),
        moment(cause.last),
        shortened(cause.title, 100),
    )


def _count(cause: Cause) -> str:
    return f"{cause.count}{'+' if cause.capped else ''}"


def _emit_cause(cause: Cause, items: Sequence[ActivityInfo]) -> None:
    failed = cause.count - cause.dead
    pairs = [
        ("cause", cause.fingerprint),
        ("what", cause.title),
        ("type", cause.type),
        ("queues", ", ".join(cause.queues)),
        ("count", f"{_count(cause)} ({cause.dead} dead_letter, {failed} failed)"),
        ("first", moment(cause.first)),
        ("last", moment(cause.last)),
    ]
    emit_pairs(pairs)
    emit("")
    _emit_flat(items, as_json=False)


def _emit_flat(items: Sequence[ActivityInfo], *, as_json: bool) -> None:
    if as_json:
        emit_json([activity_fields(item) for item in items])
        return
    if not items:
        say("no dead letters")
        return
    columns = ("id", "status", "ended", "cause", "arguments", "error")
    emit_table(columns, [_item(item) for item in items], spare=("cause", "ended", "arguments"))


def _item(item: ActivityInfo) -> tuple[str, ...]:
    error = "" if item.error is None else f"{item.error.type}: {item.error.message}"
    return (
        str(item.id),
        item.status.value,
        moment(item.finished_at),
        item.fingerprint or "-",
        shortened(item.payload, 60),
        shortened(error, 100),
    )
