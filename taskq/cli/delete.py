"""``taskq delete``: activities go, each with all that is below it."""

from __future__ import annotations

from functools import partial
from typing import Final

import click

from taskq.app import TaskQ
from taskq.backends import Deletion
from taskq.cli.actor import actor
from taskq.cli.filters import FilterCommand
from taskq.cli.selection import Deed, act, asked_terms, final_yes_option, reason_option
from taskq.cli.target import opened, target_options
from taskq.model import Status

ENDED: Final = tuple(status for status in Status if status.terminal)


@click.command("delete", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="ID...|FILTER...")
@target_options
@reason_option
@final_yes_option
def delete_command(
    words: tuple[str, ...], database: str | None, app: str | None, reason: str, yes: bool
) -> None:
    """Delete ended activities for good, each with all that is below it.

    Those with these ids, or all that a filter finds which have ended, oldest first; it says how
    many there are and asks. One below which something has not ended is left. Their events and
    idempotency keys go too.
    """
    asked = asked_terms(words)
    with opened(database, app) as found:
        act(found, words, asked, ENDED, deleting(found, reason=reason), yes=yes)


def deleting(found: TaskQ, *, reason: str) -> Deed[Deletion]:
    """Deleting."""
    return Deed(
        verb="delete",
        done="deleted",
        change=partial(found.operator.delete, actor=actor(), reason=reason),
        judged=_deleted,
        gone="gone already, with what was above it",
        final=True,
    )


def _deleted(met: Deletion) -> tuple[bool, str]:
    if met.deleted > 1:
        return True, f"deleted (was {met.status}), and {met.deleted - 1} below it"
    if met.deleted:
        return True, f"deleted (was {met.status})"
    if not met.status.terminal:
        return False, f"left as it is: {met.status}, and only what has ended is deleted"
    if met.alive:
        return False, f"left as it is: {met.alive} below it have not ended"
    return True, f"gone already (was {met.status})"
