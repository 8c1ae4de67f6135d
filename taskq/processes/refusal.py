"""Errors of the worker's, as a handler in a process meets them: by name, from a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from taskq.errors import (
    ActivityNotFound,
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    EnqueueTimeout,
    IdempotencyConflict,
    InvalidState,
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
        EnqueueTimeout,
        InvalidState,
        ResultTimeout,
        SchemaError,
        SerializationError,
        Unstorable,
    )
}


def refusal(request: int, error: Exception) -> wire.Refused:
    """The answer to a request that failed. What is no error of taskq's becomes a BackendError."""
    if not isinstance(error, TaskQError):
        return wire.Refused(request, "BackendError", f"{type(error).__name__}: {error}")
    id = getattr(error, "id", getattr(error, "existing", None))
    known = id if isinstance(id, UUID) else None
    return wire.Refused(request, type(error).__name__, str(error), known)


def raised(refused: wire.Refused) -> TaskQError:
    """The error to raise where the request was made."""
    if refused.error == IdempotencyConflict.__name__:
        return IdempotencyConflict(refused.message, existing=refused.id)
    if refused.error == ActivityNotFound.__name__ and refused.id is not None:
        return ActivityNotFound(refused.message, id=refused.id)
    kind = _PLAIN.get(refused.error)
    return (
        BackendError(f"{refused.error}: {refused.message}")
        if kind is None
        else kind(refused.message)
    )
