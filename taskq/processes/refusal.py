"""Errors of the worker's, as a handler in a process meets them: by name, from a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from taskq.errors import (
    ActivityNotFound,
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    DepthExceeded,
    EnqueueTimeout,
    IdempotencyConflict,
    InvalidState,
    QueryTimeout,
    QueueFull,
    ResultTimeout,
    SchemaError,
    SerializationError,
    TaskQError,
    Unstorable,
)
from taskq.processes import wire

_PLAIN: Final[Mapping[str, type[TaskQError]]] = {
    kind.__name__: kind
    for kind in (
        BackendError,
        BackendUnavailable,
        ConfigurationError,
        DepthExceeded,
        EnqueueTimeout,
        InvalidState,
        QueryTimeout,
        ResultTimeout,
        SchemaError,
        SerializationError,
        Unstorable,
    )
}


def refusal(request: int, error: Exception) -> wire.Refused:
    """The answer to a request that failed. A class that is not in the list is told as the nearest
    one above it that is; what has none there becomes a BackendError."""
    message = str(error)
    match error:
        case QueueFull():
            full = wire.Full(queue=error.queue, bound=error.bound, waiting=error.waiting)
            return wire.Refused(request, QueueFull.__name__, message, full=full)
        case IdempotencyConflict():
            return wire.Refused(request, IdempotencyConflict.__name__, message, error.existing)
        case ActivityNotFound():
            return wire.Refused(request, ActivityNotFound.__name__, message, error.id)
        case _:
            for kind in type(error).__mro__:
                if _PLAIN.get(kind.__name__) is kind:
                    return wire.Refused(request, kind.__name__, message)
            name = type(error).__name__
            return wire.Refused(request, BackendError.__name__, f"{name}: {message}")


def raised(refused: wire.Refused) -> TaskQError:
    """The error to raise where the request was made."""
    if refused.full is not None:
        full = refused.full
        return QueueFull(refused.message, queue=full.queue, bound=full.bound, waiting=full.waiting)
    if refused.error == IdempotencyConflict.__name__:
        return IdempotencyConflict(refused.message, existing=refused.id)
    if refused.error == ActivityNotFound.__name__ and refused.id is not None:
        return ActivityNotFound(refused.message, id=refused.id)
    return _PLAIN[refused.error](refused.message)
