"""taskq: a durable task queue. Decorate a function, call ``.delay()``, await the result."""

from __future__ import annotations

from taskq.app import TaskQ
from taskq.context import Context, current, current_or_none
from taskq.errors import (
    ActivityCancelled,
    ActivityDeadLettered,
    ActivityError,
    ActivityFailed,
    ActivityNotFound,
    ActivityTimedOut,
    AttemptStopped,
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    DepthExceeded,
    EnqueueTimeout,
    FilterError,
    IdempotencyConflict,
    InvalidState,
    NonRetryError,
    QueryTimeout,
    QueueFull,
    ResultTimeout,
    RetryError,
    SchemaError,
    SerializationError,
    Snooze,
    TaskQError,
    Unstorable,
)
from taskq.events import Listener
from taskq.future import ActivityFuture
from taskq.gathering import as_completed, gather
from taskq.middleware import Middleware
from taskq.model import (
    Activity,
    DeadLetter,
    ErrorInfo,
    ErrorKind,
    OnDuplicate,
    Priority,
    Status,
)
from taskq.progress import Progress
from taskq.retry import RetryPolicy
from taskq.schedule import ScheduleInfo
from taskq.secret import Secret
from taskq.settings import Settings
from taskq.snapshot import ActivityInfo
from taskq.task import AsyncTask, SyncTask, Task
from taskq.version import VERSION

__version__ = VERSION

__all__ = (
    # the app and its tasks
    "TaskQ",
    "Task",
    "AsyncTask",
    "SyncTask",
    "Settings",
    # one call
    "Activity",
    "ActivityFuture",
    "gather",
    "as_completed",
    "ActivityInfo",
    "ScheduleInfo",
    "Progress",
    "ErrorInfo",
    "ErrorKind",
    "DeadLetter",
    "Priority",
    "Status",
    "OnDuplicate",
    "RetryPolicy",
    "Secret",
    # in a handler
    "current",
    "current_or_none",
    "Context",
    "RetryError",
    "NonRetryError",
    "Snooze",
    # extension points
    "Middleware",
    "Listener",
    # errors
    "TaskQError",
    "ConfigurationError",
    "FilterError",
    "SerializationError",
    "BackendError",
    "BackendUnavailable",
    "SchemaError",
    "Unstorable",
    "EnqueueTimeout",
    "IdempotencyConflict",
    "QueryTimeout",
    "QueueFull",
    "DepthExceeded",
    "AttemptStopped",
    "InvalidState",
    "ActivityError",
    "ActivityFailed",
    "ActivityDeadLettered",
    "ActivityTimedOut",
    "ActivityCancelled",
    "ActivityNotFound",
    "ResultTimeout",
)
