"""``taskq run-now``, ``reschedule`` and ``priority``: when something runs, and before what."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial

import click

from taskq.cli.actor import actor
from taskq.cli.command import Command
from taskq.cli.failure import Refused
from taskq.cli.filters import FilterCommand
from taskq.cli.selection import Deed, act, asked_terms, reason_option, yes_option
from taskq.cli.target import opened, target_options
from taskq.cli.values import EXAMPLE, instant, seconds
from taskq.cli.values import priority as to_priority
from taskq.lifecycle import (
    REORDERABLE_BY_OPERATOR,
    RESCHEDULABLE_BY_OPERATOR,
    STARTABLE_BY_OPERATOR,
)
from taskq.model import Priority, Status
from taskq.options import instant as storable


@click.command("run-now", cls=FilterCommand)
@click.argument("words", nargs=-1, required=True, metavar="ID...|FILTER...")
@target_options
@reason_option
@yes_option
def run_now_command(
    words: tuple[str, ...], database: str | None, app: str | None, reason: str, yes: bool
) -> None:
    """Let what waits for its time (scheduled, retrying) run now.

    Those with these ids, or all that a filter finds, oldest first.
    """
    asked = asked_terms(words)
    with opened(database, app) as found:
        change = partial(found.operator.run_now, actor=actor(), reason=reason)
        judged = _judge(STARTABLE_BY_OPERATOR, "pending")
        deed = Deed(verb="run", done="run now", change=change, judged=judged)
        act(found, words, asked, tuple(STARTABLE_BY_OPERATOR), deed, yes=yes)


@click.command("reschedule", cls=Command)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.argument("when")
@target_options
@reason_option
def reschedule_command(
    ids: tuple[str, ...], when: str, database: str | None, app: str | None, reason: str
) -> None:
    """Let what waits (pending, scheduled, retrying) run at another time.

    WHEN is an ISO 8601 time with its time zone (2026-12-31T18:00:00+01:00), or so much from now:
    +90s, +1h30m, +2d. A time that has passed is now.
    """
    with opened(database, app) as found:
        at = _instant(when, found.clock.now())
        change = partial(found.operator.reschedule, when=at, actor=actor(), reason=reason)
        judged = _judge(RESCHEDULABLE_BY_OPERATOR, f"runs at {at.isoformat(timespec='seconds')}")
        deed = Deed(verb="reschedule", done="rescheduled", change=change, judged=judged)
        act(found, ids, None, (), deed, yes=True)


@click.command("priority", cls=Command)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.argument("level", callback=to_priority)
@target_options
@reason_option
def priority_command(
    ids: tuple[str, ...], level: Priority, database: str | None, app: str | None, reason: str
) -> None:
    """Change the priority of what has not ended.

    LEVEL is LOW, NORMAL, HIGH, CRITICAL or 1-4. What runs has it from its next attempt on.
    """
    with opened(database, app) as found:
        change = partial(found.operator.set_priority, priority=level, actor=actor(), reason=reason)
        judged = _judge(REORDERABLE_BY_OPERATOR, f"priority {level.name}")
        deed = Deed(verb="change", done="changed", change=change, judged=judged)
        act(found, ids, None, (), deed, yes=True)


def _judge(states: Collection[Status], done: str) -> Callable[[Status], tuple[bool, str]]:
    """What is said of one that was in some state."""
    allowed = ", ".join(status for status in Status if status in states)

    def judged(status: Status) -> tuple[bool, str]:
        if status in states:
            return True, f"{done} (was {status})"
        return False, f"left as it is: {status}, and this is for {allowed}"

    return judged


def _instant(text: str, now: datetime) -> datetime:
    after = seconds(text[1:]) if text.startswith("+") else None
    try:
        if after is not None:
            return storable("WHEN", now + timedelta(seconds=after))
        return storable("WHEN", instant(text, example=f"{EXAMPLE} or +1h30m"))
    except ValueError as error:
        raise Refused(str(error)) from None
    except OverflowError:
        raise Refused(f"{text!r} ends after the year 9998") from None
