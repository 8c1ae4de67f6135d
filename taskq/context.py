"""The running attempt, as its handler sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from contextvars import ContextVar, Token
from datetime import datetime
from functools import cached_property
from threading import Lock
from typing import Protocol
from uuid import UUID

import msgspec

from taskq.model import Attempt

Report = Callable[[Attempt, float, float | None, str | None], None]
"""Takes what an attempt says of its progress: done, total, note. Never blocks."""


class Bell(Protocol):
    """What wakes a thread."""

    def ring(self) -> None:
        """Wake it."""
        ...


class Place(Protocol):
    """Where a handler waits for other activities without keeping its slot (design 7.10)."""

    @property
    def awaited(self) -> frozenset[UUID]:
        """What it waits for; empty while it runs."""
        ...

    def waiting(self, ids: Collection[UUID]) -> AbstractAsyncContextManager[None]:
        """Around one wait, on any event loop."""
        ...

    def waiting_sync(self, ids: Collection[UUID]) -> AbstractContextManager[None]:
        """Around one wait of a thread."""
        ...


_making = Lock()
_current: ContextVar[Context | None] = ContextVar("taskq_context", default=None)


class Context:
    """What ``current()`` gives inside a handler, its middleware and its threads.

    ``owner`` is the TaskQ whose worker runs the attempt. ``worker`` is that worker's id. ``report``
    takes what ``progress`` is told.
    """

    def __init__(self, attempt: Attempt, *, owner: object, report: Report | None = None) -> None:
        self._attempt = attempt
        self._report = report
        self._cancelled = False
        self.owner = owner
        self._place: Place | None = None
        self._new_place: Callable[[], Place] | None = None
        self._stop_bells: tuple[Bell, ...] = ()
        self.ancestors: dict[object, frozenset[UUID | None]] = {}
        """For ``ancestry``: what was found out, by where it was asked."""

    @property
    def id(self) -> UUID:
        """The activity's id."""
        return self._attempt.id

    @property
    def type(self) -> str:
        """The activity's type: its task's name."""
        return self._attempt.type

    @property
    def queue(self) -> str:
        """The queue it was claimed from."""
        return self._attempt.queue

    @property
    def attempt(self) -> int:
        """The attempt's number, from 1: retry_count + crash_count + 1."""
        return self._attempt.number

    @property
    def retry_count(self) -> int:
        """Failed attempts before this one (seed:R16)."""
        return self._attempt.retry_count

    @property
    def crash_count(self) -> int:
        """Attempts before this one that were lost with their worker."""
        return self._attempt.crash_count

    @property
    def max_retries(self) -> int | None:
        """Retries after the first run; None is unlimited."""
        return self._attempt.max_retries

    @property
    def source(self) -> str | None:
        """Where the call came from, as the call-site said (seed:Q17)."""
        return self._attempt.source

    @property
    def correlation_id(self) -> str | None:
        """Joins the activities of one workflow; children inherit it (seed:Q17)."""
        return self._attempt.correlation_id

    @property
    def user_id(self) -> str | None:
        """The user on whose behalf it runs; children inherit it (seed:Q17)."""
        return self._attempt.user_id

    @property
    def parent_id(self) -> UUID | None:
        """The activity whose handler enqueued it; None for a root (seed:S4)."""
        return self._attempt.parent_id

    @property
    def root_id(self) -> UUID:
        """The root of its tree; its own id for a root (seed:S4)."""
        return self._attempt.root_id

    @property
    def origin_id(self) -> UUID:
        """The first root: unlike ``root_id`` it stays the same across ``as_root`` (D24)."""
        return self._attempt.origin_id

    @property
    def depth(self) -> int:
        """Generations below its root, 0 for a root (seed:S4)."""
        return self._attempt.depth

    @property
    def generation(self) -> int:
        """How many roots lie between the first one and this tree's: ``as_root`` adds one (D24)."""
        return self._attempt.generation

    @property
    def step(self) -> str | None:
        """Its name among its parent's children, as the parent said (``step=``)."""
        return self._attempt.step

    @property
    def expires(self) -> datetime | None:
        """By when it had to start, aware UTC; None in every run after the first."""
        return self._attempt.expires_at

    @property
    def ready_at(self) -> datetime:
        """Since when it was ready for this run, aware UTC, by the store's clock. A retry, a snooze
        and an operator's retry move it; a crash and a hand-back do not."""
        return self._attempt.ready_at

    @property
    def deadline(self) -> datetime | None:
        """When its whole tree must have ended, aware UTC."""
        return self._attempt.deadline_at

    @property
    def worker(self) -> UUID:
        """The id of the worker that runs it."""
        return self._attempt.worker

    @property
    def claim(self) -> int:
        """The claim number that fences this attempt's writes; it grows with every claim."""
        return self._attempt.claim

    @cached_property
    def metadata(self) -> Mapping[str, object]:
        """The call's free metadata."""
        text = self._attempt.metadata
        return msgspec.json.decode(text, type=dict[str, object]) if text else {}

    @cached_property
    def tags(self) -> Mapping[str, str]:
        """The call's tags."""
        text = self._attempt.tags
        return msgspec.json.decode(text, type=dict[str, str]) if text else {}

    @property
    def awaited(self) -> frozenset[UUID]:
        """The activities that its handler waits for; empty while it runs."""
        return self._place.awaited if self._place is not None else frozenset()

    @property
    def place(self) -> Place | None:
        """For the engine: where the handler waits, once it has waited."""
        return self._place

    def seat(self, place: Callable[[], Place]) -> None:
        """For the engine: how to make that place. Most handlers never wait."""
        self._new_place = place

    def waiting_place(self) -> Place | None:
        """For those who wait: the place, made at the first wait; None outside a worker."""
        if self._place is None and self._new_place is not None:
            with _making:
                self._place = self._place or self._new_place()
        return self._place

    @property
    def cancelled(self) -> bool:
        """Whether this attempt has been told to stop: cancelled, timed out, shut down or lost.

        An async handler is cancelled by itself; a sync handler's thread can only look here.
        """
        return self._cancelled

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        """Say how far this attempt has come, for ``info()``, ``taskq show`` and ``taskq tail``.

        Returns at once, in async handlers and threads alike, and never fails for the store's sake.
        At most one write a second is made for an activity, of the latest; the last one is written
        before the attempt's outcome. It stays through retries, until another one is said. ``done``
        is a number from 0; ``total`` one above 0, None where it is not known; ``note`` at most 1000
        characters. Raises TypeError or ValueError for anything else.
        """
        if self._report is not None:
            self._report(self._attempt, done, total, note)

    def mark_cancelled(self) -> None:
        """For the engine: the attempt has been told to stop."""
        self._cancelled = True
        for bell in self._stop_bells:
            bell.ring()

    @contextmanager
    def heeding(self, bell: Bell) -> Generator[Callable[[], bool]]:
        """See ``heeding``."""
        self._stop_bells += (bell,)
        if self._cancelled:
            bell.ring()
        try:
            yield lambda: self._cancelled
        finally:
            self._stop_bells = tuple(other for other in self._stop_bells if other is not bell)


def current() -> Context:
    """The running attempt. Raises LookupError outside a handler."""
    context = _current.get()
    if context is None:
        raise LookupError("current() is for handlers: no activity is running here")
    return context


def current_or_none() -> Context | None:
    """The running attempt, or None outside a handler."""
    return _current.get()


def waiting(ids: Collection[UUID]) -> AbstractAsyncContextManager[None]:
    """Around a wait for these activities: the handler that waits, if one does, gives its slot up
    and has it again at the end."""
    context = _current.get()
    place = None if context is None else context.waiting_place()
    return nullcontext() if place is None else place.waiting(ids)


def waiting_sync(ids: Collection[UUID]) -> AbstractContextManager[None]:
    """The same for a thread."""
    context = _current.get()
    place = None if context is None else context.waiting_place()
    return nullcontext() if place is None else place.waiting_sync(ids)


def heeding(bell: Bell) -> AbstractContextManager[Callable[[], bool]]:
    """As long as the block lasts, ring ``bell`` when the running attempt, if there is one, is told
    to stop; gives a function that says whether it was."""
    context = _current.get()
    return nullcontext(_never) if context is None else context.heeding(bell)


def _never() -> bool:
    return False


def enter(context: Context) -> Token[Context | None]:
    """For the engine: make ``context`` the current one until ``leave``."""
    return _current.set(context)


def leave(token: Token[Context | None]) -> None:
    """For the engine: undo ``enter``."""
    _current.reset(token)
