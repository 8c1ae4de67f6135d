"""Doing something to all activities that a filter finds: counted first, then in chunks."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar
from uuid import UUID

import click
from msgspec import Struct

from taskq.app import TaskQ
from taskq.bulk.order import CHUNK, chunk_size
from taskq.cli.failure import NotDone, Refused
from taskq.cli.output import emit, say
from taskq.cli.text import duration
from taskq.model import Status
from taskq.snapshot import Filter, Page

T = TypeVar("T")

_LOOKED_AT: Final = 1000


class Chosen(Struct, frozen=True):
    """What a filter has found: the ids, oldest first, and how many had which status."""

    ids: tuple[UUID, ...]
    statuses: Mapping[Status, int]


def chosen(found: TaskQ, wanted: Filter) -> Chosen:
    """All that match now. What is stored later is not among them."""
    ids: list[UUID] = []
    statuses: Counter[Status] = Counter()
    page = Page(limit=_LOOKED_AT)
    with bar("looking", None) as advance:
        while True:
            part = found.client.call_sync(found.client.store.list, wanted, page)
            ids += (item.id for item in part.items)
            statuses.update(item.status for item in part.items)
            if part.next is None:
                break
            advance(len(part.items))
            page = Page(limit=_LOOKED_AT, before=part.next)
    return Chosen(tuple(reversed(ids)), statuses)


def confirm(chosen: Chosen, verb: str, *, yes: bool, rate: float | None = None) -> None:
    """Say how many there are, how long it takes at this ``rate``, and ask unless ``yes``.

    Refused where nobody can be asked, NotDone where the answer is no.
    """
    count = len(chosen.ids)
    counts = ", ".join(
        f"{chosen.statuses[status]} {status}" for status in Status if status in chosen.statuses
    )
    say(f"{count} {'activity matches' if count == 1 else 'activities match'}: {counts}")
    if rate is not None:
        say(f"at {rate:g} a second this takes about {duration(count / rate)}")
    done = f"{verb} {'it' if count == 1 else 'them'}"
    ask(f"{done}?", yes=yes, without=f"nothing was done: add --yes to {done}")


def ask(question: str, *, yes: bool, without: str) -> None:
    """Ask, unless ``yes``. Refused, ``without``, where nobody can be asked; NotDone for a no."""
    if yes:
        return
    if not _somebody_is_there():
        raise Refused(without)
    if not click.confirm(question, err=True):
        raise NotDone("nothing was done")


def each_chunk(
    ids: Sequence[UUID],
    verb: str,
    change: Callable[[Sequence[UUID]], Mapping[UUID, T]],
    said: Callable[[T | None], str],
    *,
    rate: float | None = None,
) -> None:
    """Change chunk after chunk, not more than ``rate`` a second, and print how many ended how. A
    chunk that was changed stays so when a later one fails, or somebody interrupts; the same filter
    then finds the rest."""
    answers: Counter[str] = Counter()
    size = chunk_size(rate, CHUNK)
    pace = _Pace(rate)
    try:
        with bar(verb, len(ids), slow=rate is not None) as advance:
            for start in range(0, len(ids), size):
                pace.wait(start)
                chunk = ids[start : start + size]
                before = change(chunk)
                answers.update(said(before.get(id)) for id in chunk)
                advance(len(chunk))
    finally:
        for answer, count in answers.most_common():
            emit(f"{count}  {answer}")


def _somebody_is_there() -> bool:
    """Whether a question would be read by a person."""
    return sys.stdin is not None and sys.stdin.isatty()


class _Pace:
    """Waits, so that not more than ``rate`` a second are done, counted from its making."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._began = time.monotonic()

    def wait(self, done: int) -> None:
        """Until one more may follow those that are done."""
        if self._rate is not None:
            due = self._began + done / self._rate
            time.sleep(max(0.0, due - time.monotonic()))  # the rate; a command has no loop


@contextmanager
def bar(label: str, total: int | None, *, slow: bool = False) -> Generator[Callable[[int], None]]:
    """A progress bar on a terminal, for what takes long; what it gives moves it on."""
    if not sys.stderr.isatty() or (total is not None and total <= CHUNK and not slow):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)
