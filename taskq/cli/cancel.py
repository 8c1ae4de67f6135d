"""``taskq cancel``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import click

from taskq.app import TaskQ
from taskq.backends import Cancellation
from taskq.cli.actor import actor
from taskq.cli.filters import FilterCommand
from taskq.cli.selection import Deed, act_on_all, answer, asked_terms, reason_option, yes_option
from taskq.cli.target import identified, opened, target_options
from taskq.filtering.reading import narrowed
from taskq.filtering.terms import StatusIn
from taskq.model import Status
from taskq.snapshot import Filter, Page

ALIVE: Final = tuple(status for status in Status if not status.terminal)
_COUNTED: Final = 100


@click.command("cancel", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="ID...|FILTER...")
@target_options
@click.option("--tree", is_flag=True, help="And all that they have made, and what those made.")
@reason_option
@yes_option
def cancel_command(
    words: tuple[str, ...],
    database: str | None,
    app: str | None,
    tree: bool,
    reason: str,
    yes: bool,
) -> None:
    """Cancel activities: at once what waits, by request what runs.

    Those with these ids, or all that a filter finds which have not ended (with --tree also those
    that have, for what is below them): for example "taskq cancel queue:mail age>1h", which says how
    many there are and asks. What they have made goes on without --tree; for ids it is said how much
    of it. Exit code 0 when each ID is cancelled, was so already, or is asked to stop; 1 when one
    has ended otherwise (with --tree: and nothing below it was alive) or does not exist, the others
    being cancelled all the same; 2 for what can be no ID, nothing being cancelled then.
    """
    asked = asked_terms(words)
    with opened(database, app) as found:
        cancel = partial(found.operator.cancel, tree=tree, actor=actor(), reason=reason)
        if asked is not None:
            live = () if tree else (StatusIn(ALIVE),)
            judged = partial(_cancelled, going_on=0)
            deed = Deed(verb="cancel", done="cancelled", change=cancel, judged=judged)
            act_on_all(found, narrowed(Filter(), [*asked, *live]), deed, yes=yes)
            return
        ids = [identified(found, id) for id in words]
        texts = _texts(found, ids, cancel, tree=tree)
    answer(ids, texts)


def _texts(
    found: TaskQ,
    ids: Sequence[UUID],
    cancel: Callable[[Sequence[UUID]], Mapping[UUID, Cancellation]],
    *,
    tree: bool,
) -> dict[UUID, tuple[bool, str]]:
    """Cancel these; what became of each."""
    met = cancel(ids)
    going_on = {} if tree else {id: _children_going_on(found, id) for id in met}
    return {id: _cancelled(each, going_on.get(id, 0)) for id, each in met.items()}


def _children_going_on(found: TaskQ, id: UUID) -> int:
    """How many children of it are alive and not asked to stop, counted up to ``_COUNTED``."""
    alive = Filter(parent_id=id, statuses=ALIVE)
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
