"""What can be done to stored activities, one or many, and in which states."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from taskq.lifecycle import (
    REORDERABLE_BY_OPERATOR,
    RESCHEDULABLE_BY_OPERATOR,
    RETRYABLE_BY_OPERATOR,
    STARTABLE_BY_OPERATOR,
)
from taskq.model import TERMINAL, Status


class Action(StrEnum):
    """A deed of ``taskq.operator``."""

    RETRY = "retry"
    CANCEL = "cancel"
    RUN_NOW = "run_now"
    RESCHEDULE = "reschedule"
    PRIORITY = "priority"
    DELETE = "delete"

    @property
    def states(self) -> Collection[Status]:
        """The states in which there is something to do."""
        return _STATES[self]

    @property
    def done(self) -> str:
        """How the verb goes on after "cannot be"."""
        return _DONE[self]


_STATES: Final[Mapping[Action, Collection[Status]]] = {
    Action.RETRY: RETRYABLE_BY_OPERATOR,
    Action.CANCEL: frozenset(Status) - TERMINAL,
    Action.RUN_NOW: STARTABLE_BY_OPERATOR,
    Action.RESCHEDULE: RESCHEDULABLE_BY_OPERATOR,
    Action.PRIORITY: REORDERABLE_BY_OPERATOR,
    Action.DELETE: TERMINAL,
}
_DONE: Final[Mapping[Action, str]] = {
    Action.RETRY: "retried",
    Action.CANCEL: "cancelled",
    Action.RUN_NOW: "run now",
    Action.RESCHEDULE: "rescheduled",
    Action.PRIORITY: "given another priority",
    Action.DELETE: "deleted",
}
