"""The running attempt, as its handler sees it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, Token
from datetime import datetime
from functools import cached_property
from uuid import UUID

import msgspec

from taskq.model import Attempt

_current: ContextVar[Context | None] = ContextVar("taskq_context", default=None)


class Context:
    """What ``current()`` gives inside a handler, its middleware and its threads. Read-only.

    ``owner`` is the TaskQ whose worker runs the attempt. ``worker`` is that worker's id.
    """

    def __init__(self, attempt: Attempt, *, owner: object) -> None:
        self._attempt = attempt
        self._cancelled = False
        self.owner = owner
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
    def cancelled(self) -> bool:
        """Whether this attempt has been told to stop: cancelled, timed out, shut down or lost.

        An async handler is cancelled by itself; a sync handler's thread can only look here.
        """
        return self._cancelled

    def mark_cancelled(self) -> None:
        """For the engine: the attempt has been told to stop."""
        self._cancelled = True


def current() -> Context:
    """The running attempt. Raises LookupError outside a handler."""
    context = _current.get()
    if context is None:
        raise LookupError("current() is for handlers: no activity is running here")
    return context


def current_or_none() -> Context | None:
    """The running attempt, or None outside a handler."""
    return _current.get()


def enter(context: Context) -> Token[Context | None]:
    """For the engine: make ``context`` the current one until ``leave``."""
    return _current.set(context)


def leave(token: Token[Context | None]) -> None:
    """For the engine: undo ``enter``."""
    _current.reset(token)


@asynccontextmanager
async def waiting(ids: Collection[UUID]) -> AsyncGenerator[None]:
    """The current handler, if there is one, waits for these activities."""
    yield


@contextmanager
def waiting_sync(ids: Collection[UUID]) -> Generator[None]:
    """The same for a handler's thread."""
    yield
