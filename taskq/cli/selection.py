"""Which activities a command means, by ids or by a filter, and doing something to them."""

from __future__ import annotations

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
from taskq.filtering.reading import narrowed
from taskq.filtering.terms import Term
from taskq.snapshot import Filter

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

NOT_THERE = "there is no such activity"


class Deed(Struct, Generic[T], frozen=True, kw_only=True):
    """What is done: ``change`` answers what each found activity was, ``judged`` whether that was
    well and what to say. ``check`` raises before anything is done; ``rate`` is activities a second
    at the most, None for no limit. ``gone`` is said of what is not there any more."""

    verb: str
    change: Callable[[Sequence[UUID]], Mapping[UUID, T]]
    judged: Callable[[T], tuple[bool, str]]
    check: Callable[[Sequence[UUID]], None] | None = None
    rate: float | None = None
    gone: str = NOT_THERE


def yes_option(function: F) -> F:
    """Adds ``--yes``."""
    return click.option("--yes", is_flag=True, help="Do not ask first.")(function)


def reason_option(function: F) -> F:
    """Adds ``--reason``."""
    return click.option("--reason", default="", help="Why; kept on record.")(function)


def asked_terms(words: Sequence[str]) -> Sequence[Term] | None:
    """What a filter asks for; None for ids. Refused for a filter that asks for nothing, so that it
    must say so."""
    if any(map(is_id, words)):
        return None
    asked = terms(words)
    if not asked:
        raise Refused("this filter asks for nothing; type:* means every activity")
    return asked


def act(
    found: TaskQ,
    words: Sequence[str],
    asked: Sequence[Term] | None,
    narrowing: Sequence[Term],
    deed: Deed[T],
    *,
    yes: bool,
) -> None:
    """Do it to those with these ids, or to all that ``asked`` and ``narrowing`` find."""
    if asked is not None:
        act_on_all(found, narrowed(Filter(), [*asked, *narrowing]), deed, yes=yes)
        return
    ids = [identified(found, id) for id in words]
    if deed.check is not None:
        deed.check(ids)
    answer(ids, deed.change(ids), deed.judged)


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


def answer(
    ids: Sequence[UUID], before: Mapping[UUID, T], judged: Callable[[T], tuple[bool, str]]
) -> None:
    """A line for each id; exit code 1 when any did not succeed."""
    succeeded = True
    for id in dict.fromkeys(ids):
        done, text = judged(before[id]) if id in before else (False, NOT_THERE)
        succeeded &= done
        emit(f"{id}  {text}")
    if not succeeded:
        raise click.exceptions.Exit(1)
