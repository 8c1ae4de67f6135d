"""The caller's handle on one activity."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, Protocol, TypeVar, assert_never
from uuid import UUID

from taskq.context import current_or_none
from taskq.errors import (
    ActivityCancelled,
    ActivityDeadLettered,
    ActivityFailed,
    ActivityNotFound,
    ActivityTimedOut,
    InvalidState,
)
from taskq.model import Ended, ErrorInfo, ErrorKind, Status
from taskq.snapshot import ActivityInfo

R_co = TypeVar("R_co", covariant=True)


class Tracker(Protocol):
    """What a future needs of the app: to wait for, look at and cancel an activity."""

    async def wait(self, id: UUID) -> Ended | None:
        """How it ended; None if there is no such activity."""
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
        """Request a cancel; False where it is cancelled already. Raises ActivityNotFound, and
        InvalidState for what has ended otherwise."""
        ...

    def cancel(self, id: UUID, *, tree: bool) -> bool:
        """The same for sync code."""
        ...


class ActivityFuture(Generic[R_co]):
    """Awaitable on asyncio and trio, or ``result(timeout)`` in a thread.

    Either gives the decoded result or raises: ActivityFailed (ActivityDeadLettered,
    ActivityTimedOut), ActivityCancelled, ActivityNotFound, SerializationError when the stored
    result does not fit the task's return annotation. It may be awaited any number of times.
    """

    def __init__(self, id: UUID, tracker: Tracker, decode: Callable[[str], R_co]) -> None:
        self.id = id
        self._tracker = tracker
        self._decode = decode

    def __await__(self) -> Generator[Any, Any, R_co]:
        return self._wait().__await__()

    def result(self, timeout: float | None = None) -> R_co:
        """The result, blocking at most ``timeout`` seconds (None: without limit).

        Also raises ResultTimeout; RuntimeError on a thread that runs an event loop ("await it").
        """
        self._refuse_own()
        return self._value(self._tracker.wait_sync(self.id, timeout))

    def info(self) -> ActivityInfo:
        """A snapshot, blocking for one query. Raises ActivityNotFound."""
        return self._tracker.info(self.id)

    async def ainfo(self) -> ActivityInfo:
        """A snapshot. Raises ActivityNotFound."""
        return await self._tracker.ainfo(self.id)

    def cancel(self, *, tree: bool = False) -> bool:
        """Request a cancel, blocking for one transaction; False when it is cancelled already.

        What is not running is cancelled at once; a running async handler is cancelled where it
        runs, a running sync handler sees ``current().cancelled``. With ``tree`` the same happens to
        all that it has made, and what those made, also where it has itself ended; what a running
        one still makes follows at its end. Raises ActivityNotFound, and InvalidState when it has
        ended otherwise (and nothing below it is alive).
        """
        return self._tracker.cancel(self.id, tree=tree)

    async def acancel(self, *, tree: bool = False) -> bool:
        """The same as ``cancel`` without blocking the event loop."""
        return await self._tracker.acancel(self.id, tree=tree)

    async def _wait(self) -> R_co:
        self._refuse_own()
        return self._value(await self._tracker.wait(self.id))

    def _refuse_own(self) -> None:
        context = current_or_none()
        if context is not None and self.id in (context.id, context.parent_id, context.root_id):
            whom = "itself" if self.id == context.id else f"its ancestor {self.id}"
            raise InvalidState(
                f"activity {context.id} ({context.type}) waits for {whom}: neither could ever end"
            )

    def _value(self, ended: Ended | None) -> R_co:
        if ended is None:
            raise ActivityNotFound(f"there is no activity {self.id}", id=self.id)
        if ended.status is Status.COMPLETED:
            return self._decode(ended.result if ended.result is not None else "null")
        raise _error(self.id, ended)

    def __repr__(self) -> str:
        return f"<ActivityFuture {self.id}>"


_UNKNOWN = ErrorInfo(type="Unknown", message="nothing was recorded")


def _error(id: UUID, ended: Ended) -> ActivityFailed | ActivityCancelled:
    """The exception for an activity that ended without a result."""
    error = ended.error or _UNKNOWN
    message = f"activity {id} ended {ended.status}: {error.type}: {error.message}"
    match ended.status:
        case Status.CANCELLED:
            return ActivityCancelled(f"activity {id} was cancelled", id=id)
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
