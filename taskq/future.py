"""The caller's handle on one activity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import Any, Generic, Protocol, TypeVar, assert_never
from uuid import UUID

from anyio.lowlevel import checkpoint

from taskq import ancestry
from taskq.context import waiting, waiting_sync
from taskq.endings import Endings
from taskq.errors import (
    ActivityCancelled,
    ActivityDeadLettered,
    ActivityFailed,
    ActivityNotFound,
    ActivityTimedOut,
)
from taskq.model import Ended, ErrorInfo, ErrorKind, Status
from taskq.snapshot import ActivityInfo

R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")


class Tracker(Protocol):
    """What a future needs of the app: to wait for, look at and cancel an activity."""

    async def wait(self, id: UUID) -> Ended | None:
        """How it ended; None if there is no such activity."""
        ...

    def wait_each(self, ids: Collection[UUID]) -> Endings:
        """How these activities end, as they do: one wait, however many they are."""
        ...

    def committed(self, id: UUID) -> Tracker:
        """What tracks a call once its caller's transaction is over, if it was stored in one.

        Raises InvalidState before that.
        """
        ...

    def wait_sync(self, id: UUID, timeout: float | None) -> Ended | None:
        """The same for a thread. Raises ResultTimeout, RuntimeError on an event loop's thread."""
        ...

    async def ainfo(self, id: UUID) -> ActivityInfo:
        """A snapshot. Raises ActivityNotFound."""
        ...

    def info(self, id: UUID) -> ActivityInfo:
        """The same for sync code."""
        ...

    async def acancel(self, id: UUID, *, tree: bool) -> bool:
        """Request a cancel; False where it is cancelled already. Raises ActivityNotFound and
        InvalidState, see ``ActivityFuture.cancel``."""
        ...

    def cancel(self, id: UUID, *, tree: bool) -> bool:
        """The same for sync code."""
        ...


class ActivityFuture(Generic[R_co]):
    """Awaitable on asyncio and trio, or ``result(timeout)`` in a thread.

    Either gives the decoded result or raises: ActivityFailed (ActivityDeadLettered,
    ActivityTimedOut), ActivityCancelled, ActivityNotFound, SerializationError when the stored
    result does not fit the task's return annotation. It may be awaited any number of times.
    InvalidState when a handler waits for its own activity or for an ancestor of it.

    ``made_by`` is the activity whose handler stored the call, where that is known.
    """

    def __init__(
        self,
        id: UUID,
        tracker: Tracker,
        decode: Callable[[str], R_co],
        *,
        made_by: UUID | None = None,
    ) -> None:
        self.id = id
        self.tracker = tracker
        self.made_by = made_by
        self._decode = decode
        self._settled = False
        self._ended: Ended | None = None

    def __await__(self) -> Generator[Any, Any, R_co]:
        return self._wait().__await__()

    def result(self, timeout: float | None = None) -> R_co:
        """The result, blocking at most ``timeout`` seconds (None: without limit).

        Also raises ResultTimeout; RuntimeError on a thread that runs an event loop ("await it").
        """
        if self._settled:
            return self.value(self._ended)
        ancestry.refuse_sync([self])
        with waiting_sync((self.id,)):
            ended = self.tracker.wait_sync(self.id, timeout)
        return self.value(ended)

    @property
    def settled(self) -> bool:
        """Whether its end is known here, so that awaiting it asks nobody (see ``as_completed``)."""
        return self._settled

    @property
    def ended(self) -> Ended | None:
        """Once settled: how the activity ended; None if there is no such one."""
        return self._ended

    def settle(self, ended: Ended | None) -> None:
        """For ``as_completed``: this is how the activity ended; None if there is no such one."""
        self._ended, self._settled = ended, True

    def value(self, ended: Ended | None) -> R_co:
        """The decoded result of an activity that ended like this; raises what ``await`` does."""
        if ended is None:
            raise ActivityNotFound(f"there is no activity {self.id}", id=self.id)
        if ended.status is Status.COMPLETED:
            return self._decode(ended.result if ended.result is not None else "null")
        raise _error(self.id, ended)

    def read_as(self, decode: Callable[[str], T]) -> ActivityFuture[T]:
        """The same activity, its result's JSON text read by another function."""
        return ActivityFuture(self.id, self.tracker, decode, made_by=self.made_by)

    def info(self) -> ActivityInfo:
        """A snapshot, blocking for one query. Raises ActivityNotFound."""
        return self.tracker.info(self.id)

    async def ainfo(self) -> ActivityInfo:
        """A snapshot. Raises ActivityNotFound."""
        return await self.tracker.ainfo(self.id)

    def cancel(self, *, tree: bool = False) -> bool:
        """Request a cancel, blocking for one transaction; False when it is cancelled already.

        What is not running is cancelled at once; a running async handler is cancelled where it
        runs, a running sync handler sees ``current().cancelled``. With ``tree`` the same happens to
        all that it has made, and what those made, also where it has itself ended; what a running
        one still makes follows at its end. Raises ActivityNotFound, and InvalidState when it has
        ended otherwise (and nothing below it is alive).
        """
        return self.tracker.cancel(self.id, tree=tree)

    async def acancel(self, *, tree: bool = False) -> bool:
        """The same as ``cancel`` without blocking the event loop."""
        return await self.tracker.acancel(self.id, tree=tree)

    async def _wait(self) -> R_co:
        if self._settled:
            await checkpoint()
            return self.value(self._ended)
        await ancestry.refuse([self])
        async with waiting((self.id,)):
            ended = await self.tracker.wait(self.id)
        return self.value(ended)

    def __repr__(self) -> str:
        return f"<ActivityFuture {self.id}>"


_UNKNOWN = ErrorInfo(type="Unknown", message="nothing was recorded")


_TOLD = (ErrorKind.EXPIRED, ErrorKind.EVICTED)
"""Why something was cancelled that nobody has asked for."""


def _error(id: UUID, ended: Ended) -> ActivityFailed | ActivityCancelled:
    """The exception for an activity that ended without a result."""
    error = ended.error or _UNKNOWN
    message = f"activity {id} ended {ended.status}: {error.type}: {error.message}"
    match ended.status:
        case Status.CANCELLED:
            why = f": {error.message}" if error.kind in _TOLD else ""
            return ActivityCancelled(f"activity {id} was cancelled{why}", id=id)
        case Status.DEAD_LETTER:
            return ActivityDeadLettered(message, id=id, error=error)
        case Status.FAILED if error.kind is ErrorKind.TIMEOUT:
            return ActivityTimedOut(message, id=id, error=error)
        case Status.FAILED:
            return ActivityFailed(message, id=id, error=error)
        case (
            Status.PENDING
            | Status.SCHEDULED
            | Status.PROCESSING
            | Status.RETRYING
            | Status.COMPLETED
        ):
            raise AssertionError(f"{ended.status} is not an end without a result")
        case _:
            assert_never(ended.status)
