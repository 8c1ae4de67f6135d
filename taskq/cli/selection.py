"""Which activities a command means, by ids or by a filter, and doing something to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar
from uuid import UUID

import click
from msgspec import Struct

from taskq.app import TaskQ
from taskq.cli import bulk
from taskq.cli.failure import Refused
from taskq.cli.filters import terms
from taskq.cli.output import emit, say
from taskq.cli.target import identified, is_id
from taskq.filtering.reading import NOTHING_ASKED, narrowed
from taskq.filtering.terms import AnywhereHas, StatusIn, Term
from taskq.model import Status
from taskq.snapshot import Filter

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

NOT_THERE = "there is no such activity"


class Deed(Struct, Generic[T], frozen=True, kw_only=True):
    """What is done: ``change`` answers what each found activity was, ``judged`` whether that was
    well and what to say. ``check`` raises before anything is done; ``rate`` is activities a second
    at the most, None for no limit. ``gone`` is said of what is not there any more, ``done`` is how
    the verb goes on after "cannot be". ``final``: ids are asked about too, not a filter only."""

    verb: str
    done: str
    change: Callable[[Sequence[UUID]], Mapping[UUID, T]]
    judged: Callable[[T], tuple[bool, str]]
    check: Callable[[Sequence[UUID]], None] | None = None
    rate: float | None = None
    gone: str = NOT_THERE
    final: bool = False


def yes_option(function: F) -> F:
    """Adds ``--yes``, for commands that ask when a filter is given."""
    return click.option("--yes", is_flag=True, help="With a filter: do not ask.")(function)


def final_yes_option(function: F) -> F:
    """Adds ``--yes``, for commands that always ask."""
    return click.option("--yes", is_flag=True, help="Do not ask.")(function)


def reason_option(function: F) -> F:
    """Adds ``--reason``."""
    return click.option("--reason", default="", help="Why; kept on record.")(function)


def asked_terms(words: Sequence[str]) -> Sequence[Term] | None:
    """What a filter asks for; None for ids. Refused for a filter that asks for nothing, so that it
    must say so, and for text alone, which may be meant for an id."""
    if any(map(is_id, words)):
        return None
    asked = terms(words)
    if not asked:
        raise Refused(NOTHING_ASKED)
    if all(isinstance(term, AnywhereHas) for term in asked):
        text = " ".join(words)
        raise Refused(
            f"{text!r} is no id (8 of its digits or more), and as text alone it changes nothing:"
            " say in which field, or what else must hold, for example error:timeout or type:*"
        )
    return asked


def act(
    found: TaskQ,
    words: Sequence[str],
    asked: Sequence[Term] | None,
    states: Sequence[Status],
    deed: Deed[T],
    *,
    yes: bool,
) -> None:
    """Do it to those with these ids, or to all that ``asked`` finds, where they are in one of these
    ``states``; none: in any."""
    if asked is not None:
        only = [StatusIn(tuple(states))] if states else []
        act_on_all(found, narrowed(Filter(), [*asked, *only]), deed, yes=yes)
        return
    act_on_ids(found, [identified(found, id) for id in words], states, deed, yes=yes)


def act_on_ids(
    found: TaskQ, ids: Sequence[UUID], states: Sequence[Status], deed: Deed[T], *, yes: bool
) -> None:
    """Do it to these; what is in another state is left, named, and a failure."""
    infos = found.client.call_sync(found.client.store.get, ids)
    left = {id: each.status for id, each in infos.items() if states and each.status not in states}
    meant = [id for id in ids if id not in left]
    if deed.check is not None:
        deed.check(meant)
    there = {id: infos[id].status for id in meant if id in infos}
    if deed.final and there:
        chosen = bulk.Chosen(tuple(there), Counter(there.values()))
        bulk.confirm(chosen, deed.verb, yes=yes)
    before: Mapping[UUID, T] = deed.change(meant) if meant else {}
    allowed = ", ".join(status for status in Status if status in states)
    texts = {
        id: (False, f"cannot be {deed.done}: it is {status}, not {allowed}")
        for id, status in left.items()
    }
    texts |= {id: deed.judged(each) for id, each in before.items()}
    answer(ids, texts)


def act_on_all(found: TaskQ, wanted: Filter, deed: Deed[T], *, yes: bool) -> None:
    """Do it to all that match, once somebody has agreed. What has ended meanwhile is left as it is,
    and is no failure: it matches no more."""
    those = bulk.chosen(found, wanted)
    if not those.ids:
        say("no activity matches")
        return
    if deed.check is not None:
        deed.check(those.ids)
    bulk.confirm(those, deed.verb, yes=yes, rate=deed.rate)

    def said(met: T | None) -> str:
        return deed.gone if met is None else deed.judged(met)[1]

    bulk.each_chunk(those.ids, deed.verb, deed.change, said, rate=deed.rate)


def answer(ids: Sequence[UUID], texts: Mapping[UUID, tuple[bool, str]]) -> None:
    """A line for each id; exit code 1 when any did not succeed."""
    succeeded = True
    for id in dict.fromkeys(ids):
        done, text = texts.get(id, (False, NOT_THERE))
        succeeded &= done
        emit(f"{id}  {text}")
    if not succeeded:
        raise click.exceptions.Exit(1)
