"""The call: one function on its way to the storage thread and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar, assert_never

import msgspec

from taskq.bridge.doorbell import Doorbell
from taskq.errors import BackendUnavailable

T = TypeVar("T")


class Returned(msgspec.Struct, Generic[T], frozen=True):
    """The function returned ``value``."""

    value: T


class Raised(msgspec.Struct, frozen=True):
    """The function raised ``error``."""

    error: BaseException


class Stopped(msgspec.Struct, frozen=True):
    """The function's task was cancelled and ended by that."""


class Lost(msgspec.Struct, frozen=True):
    """The storage thread ended first. ``cause`` is why, when it was an accident."""

    cause: BaseException | None


Outcome: TypeAlias = Returned[T] | Raised | Stopped | Lost


class Call(Generic[T]):
    """One function to run beside the store, and how it ended.

    ``done`` is rung once ``outcome`` is set. ``heard`` is False when nobody waits for the outcome:
    an error is then reported by the storage loop. ``task`` and ``stopping`` belong to the storage
    thread.
    """

    __slots__ = ("done", "function", "heard", "outcome", "stopping", "task")

    def __init__(self, function: Callable[[], Coroutine[Any, Any, T]], *, heard: bool) -> None:
        self.function = function
        self.heard = heard
        self.done = Doorbell()
        self.outcome: Outcome[T] | None = None
        self.task: asyncio.Task[T] | None = None
        self.stopping = False

    def result(self) -> T:
        """Return the value or raise the error of a call that ended by itself.

        Raises BackendUnavailable when the store stopped it or the storage thread ended first.
        """
        match self.outcome:
            case Returned(value=value):
                return value
            case Raised(error=error):
                raise error
            case Stopped():
                raise BackendUnavailable("the call was stopped: the store was closed meanwhile")
            case Lost(cause=cause):
                raise BackendUnavailable("the storage thread ended before the call did") from cause
            case None:
                raise RuntimeError("the call has not ended")
            case _:
                assert_never(self.outcome)

    def result_after(self, deadline: float | None) -> T:
        """Return the value of a call that was stopped for its deadline, if it got one after all.

        Raises BackendUnavailable otherwise, caused by the function's own error if there was one.
        """
        match self.outcome:
            case Returned(value=value):
                return value
            case Raised(error=error):
                _did_not_answer(deadline, error)
            case Lost():
                return self.result()
            case Stopped() | None:
                _did_not_answer(deadline, None)
            case _:
                assert_never(self.outcome)


def _did_not_answer(deadline: float | None, cause: BaseException | None) -> NoReturn:
    seconds = "its deadline" if deadline is None else f"{deadline:g} s"
    raise BackendUnavailable(f"the store did not answer within {seconds}") from cause


def outcome_of(task: asyncio.Task[T]) -> Outcome[T]:
    """How a finished task ended."""
    if task.cancelled():
        return Stopped()
    error = task.exception()
    if error is not None:
        return Raised(error)
    return Returned(task.result())
