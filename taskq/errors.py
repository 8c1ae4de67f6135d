"""The one exception tree.

    TaskQError
    ├── ConfigurationError          something was set up wrongly; nothing was started
    ├── FilterError                 a filter's text means nothing (a ValueError)
    ├── SerializationError          a value cannot be stored and read back exactly (a ValueError)
    ├── BackendError
    │   ├── BackendUnavailable      the store cannot be reached or is busy; trying again may help
    │   │   └── QueryTimeout        a question took too long and was stopped
    │   ├── SchemaError             the store's tables are missing, too old or too new
    │   ├── Unstorable              the store refuses a value; trying again will not help
    │   └── EnqueueTimeout          a call was not stored within its deadline (also a TimeoutError)
    ├── QueueFull                   as many wait in the queue as its ``max_pending`` allows
    ├── IdempotencyConflict         the key is taken, or taken with other arguments
    ├── DepthExceeded               too many generations of children
    ├── InvalidState                the activity's state does not allow this
    ├── ActivityError               how an awaited activity ended, when not by a result
    │   ├── ActivityFailed
    │   │   ├── ActivityDeadLettered
    │   │   └── ActivityTimedOut
    │   ├── ActivityCancelled
    │   └── ActivityNotFound
    ├── AttemptStopped              a handler's thread that waits was told to stop
    ├── ResultTimeout               result(timeout=...) waited in vain (also a TimeoutError)
    └── RetryError, NonRetryError, Snooze   raised by handlers to end an attempt

Every class has a boolean ``retryable``: when it leaves a handler uncaught, it decides whether the
attempt is retried (seed:X2, seed:X4, seed:R5–R7). ``docs/seeds.md`` maps seed:X1–X7 onto this tree.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

if TYPE_CHECKING:
    from taskq.model import ErrorInfo


class TaskQError(Exception):
    """Base of every error that taskq raises."""

    retryable: ClassVar[bool] = False


class ConfigurationError(TaskQError):
    """A definition or a setting is wrong. Raised before anything starts; the message says where."""


class FilterError(TaskQError, ValueError):
    """The text of a filter means nothing. ``text`` is all of it, ``column`` where, from 0."""

    def __init__(self, message: str, *, text: str, column: int) -> None:
        super().__init__(message)
        self.text = text
        self.column = column


class SerializationError(TaskQError, ValueError):
    """A value cannot be stored exactly, or stored text does not fit the type it is read as.

    ``path`` names the place inside the value, for example ``items[3].price``; it is empty when the
    value as a whole is meant.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class BackendError(TaskQError):
    """The store answered with an error. Messages never contain a password."""

    retryable = True


class BackendUnavailable(BackendError):
    """The store cannot be reached, is locked, full or shutting down. Trying again may help."""


class QueryTimeout(BackendUnavailable):
    """The store stopped a statement that took longer than it may. Ask for less at a time, or again
    when it has less to do."""


class SchemaError(BackendError):
    """The store's tables are missing, older or newer than this version of taskq needs."""

    retryable = False


class Unstorable(BackendError):
    """The store cannot keep a value that it was given, and never will; nothing was stored."""

    retryable = False


class EnqueueTimeout(BackendError, TimeoutError):
    """A call was not stored within ``enqueue_timeout``. It may or may not have been stored."""


class QueueFull(TaskQError):
    """A queue has no room for a call (seed:E25); nothing was stored. ``bound`` is its
    ``max_pending``, ``waiting`` how many wait there, counted a little beyond the bound."""

    retryable = True

    def __init__(self, message: str, *, queue: str, bound: int, waiting: int) -> None:
        super().__init__(message)
        self.queue = queue
        self.bound = bound
        self.waiting = waiting


class IdempotencyConflict(TaskQError):
    """The idempotency key belongs to another activity and the caller asked not to share it.

    ``existing`` is the id of the activity that holds the key, when it is known.
    """

    def __init__(self, message: str, *, existing: UUID | None = None) -> None:
        super().__init__(message)
        self.existing = existing


class DepthExceeded(TaskQError):
    """A child would be deeper than ``max_depth`` below its root (seed:S5), or a new root later than
    ``max_generations`` after the first (D24). The message names the chain of callers."""


class InvalidState(TaskQError):
    """The activity or the object is in a state that does not allow this; the message names it."""


class AttemptStopped(TaskQError):
    """``result()`` in a thread of a handler that was told to stop meanwhile: clean up and return.

    What ends an async handler's wait is the event loop's own cancellation.
    """


class ActivityError(TaskQError):
    """An awaited activity ended without a result. ``id`` is the activity's id."""

    def __init__(self, message: str, *, id: UUID) -> None:
        super().__init__(message)
        self.id = id


class ActivityFailed(ActivityError):
    """The activity ended ``failed`` (or ``dead_letter``, see the subclass).

    ``error`` is what was recorded: type name, message, traceback text, kind and number of attempts.
    Uncaught in a parent it fails the parent without retry, unless ``on_child_failure="retry"``.
    """

    def __init__(self, message: str, *, id: UUID, error: ErrorInfo) -> None:
        super().__init__(message, id=id)
        self.error = error


class ActivityDeadLettered(ActivityFailed):
    """The activity's retries or crashes were exhausted: it is in ``dead_letter``."""


class ActivityTimedOut(ActivityFailed):
    """The activity ended by a timeout that was not to be retried."""


class ActivityCancelled(ActivityError):
    """The activity ended ``cancelled``."""


class ActivityNotFound(ActivityError):
    """No activity has this id: it never existed, or was deleted."""


class ResultTimeout(TaskQError, TimeoutError):
    """``result(timeout=...)`` waited in vain. The activity goes on; the message says more."""

    retryable = True


class RetryError(TaskQError):
    """Raise in a handler to end the attempt and retry it.

    ``delay`` (seconds or timedelta) replaces the policy's delay for this one retry.
    """

    retryable = True

    def __init__(self, message: str = "", delay: float | timedelta | None = None) -> None:
        super().__init__(message)
        self.delay = delay


class NonRetryError(TaskQError):
    """Raise in a handler to end the activity as ``failed``, without a retry."""


class Snooze(TaskQError):
    """Raise in a handler to run the activity again after ``delay``; no retry is consumed."""

    def __init__(self, delay: float | timedelta) -> None:
        super().__init__(f"snoozed for {delay}")
        self.delay = delay
