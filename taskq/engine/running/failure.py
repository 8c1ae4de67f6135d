"""What an exception means. Pure, and never defeated by one (fault:C5).

An exception's own code (``__str__``, properties) runs here and may itself raise anything at all;
no await happens here, so whatever it raises is about that exception and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import timedelta
from traceback import TracebackException
from types import TracebackType
from typing import cast

from msgspec.structs import replace

from taskq.engine.running.outside import EndedOutside
from taskq.errors import (
    ActivityCancelled,
    ActivityFailed,
    RetryError,
    Snooze,
    TaskQError,
)
from taskq.lifecycle import Died, Failed, Snoozed
from taskq.model import Attempt, ErrorInfo, ErrorKind

LONGEST_MESSAGE = 4096
LONGEST_TRACEBACK = 16384
LONGEST_TYPE = 200
"""Characters that are recorded at the most."""
LONGEST_CHAIN = 100
"""Causes, or exceptions inside groups, that are looked at."""
LONGEST_DELAY = 100 * 365.25 * 86400.0
"""Seconds: a hundred years."""

_PLUMBING = (
    "taskq.engine",
    "taskq.processes",
    "taskq.bridge",
    "anyio",
    "trio",
    "asyncio",
    "outcome",
    "threading",
)
"""Modules whose frames stand between the engine and the handler."""


Hide = Callable[[str], str]
"""Takes what is secret out of a text."""


def as_it_is(text: str) -> str:
    """Hides nothing."""
    return text


def classify(
    error: BaseException,
    attempt: Attempt,
    *,
    no_retry: tuple[type[BaseException], ...] = (),
    hide: Hide = as_it_is,
) -> Failed | Snoozed | Died:
    """The outcome of an attempt whose handler raised ``error``; its texts go through ``hide``.

    Asked in this order: taskq's own exceptions, ``no_retry``, a boolean ``retryable`` of the error
    or of its causes, the outermost first; then it is retried (design 2, seed:R5). A group that
    holds a single exception counts as that one, and a group of nothing but children's failures as
    such a failure.
    """
    cause = sole(error)
    if isinstance(cause, EndedOutside):
        return _hidden(cause.outcome, hide)
    if isinstance(cause, Snooze):
        return _snoozed(cause, attempt, hide)
    if isinstance(cause, RetryError):
        return _retried(cause, attempt, hide)
    leaves = _leaves(cause)
    if all(isinstance(leaf, (ActivityFailed, ActivityCancelled)) for leaf in leaves):
        cancelled = any(isinstance(leaf, ActivityCancelled) for leaf in leaves)
        retried = attempt.policy.on_child_failure == "retry" and not cancelled
        return failed(error, attempt, kind=ErrorKind.CHILD, retryable=retried, hide=hide)
    if not isinstance(cause, TaskQError) and isinstance(cause, no_retry):
        return failed(error, attempt, retryable=False, hide=hide)
    return failed(error, attempt, retryable=_says_retryable(cause), hide=hide)


def failed(
    error: BaseException,
    attempt: Attempt,
    *,
    kind: ErrorKind = ErrorKind.ERROR,
    retryable: bool,
    delay: float | None = None,
    hide: Hide = as_it_is,
) -> Failed:
    """A failure that records ``error``."""
    info = describe(error, attempt, kind=kind, hide=hide)
    return Failed(error=info, retryable=retryable, delay=delay)


def describe(
    error: BaseException, attempt: Attempt, *, kind: ErrorKind, hide: Hide = as_it_is
) -> ErrorInfo:
    """An exception as data: qualified type name, message, traceback text, each storable and cut.

    They go through ``hide`` before they are cut, so that no part of a secret is left at an end.
    Local variables are never recorded. Whatever the exception's own methods do, this returns. A
    group that holds a single exception goes by that one's name and message.
    """
    named = sole(error)
    return ErrorInfo(
        type=_clean(_type_name(type(named)))[:LONGEST_TYPE],
        message=_head(_clean(hide(_message(named))), LONGEST_MESSAGE),
        kind=kind,
        traceback=_head_and_tail(_clean(hide(_traceback(error))), LONGEST_TRACEBACK),
        attempts=attempt.number,
    )


def timeout_error(
    attempt: Attempt, error: BaseException | None, *, hide: Hide = as_it_is
) -> ErrorInfo:
    """What is recorded for an attempt that ran too long; ``error`` tells where it was stopped."""
    where = "" if error is None else _traceback(error)
    return ErrorInfo(
        type="TimeoutError",
        message=f"it ran longer than its timeout of {attempt.timeout or 0:g} s",
        kind=ErrorKind.TIMEOUT,
        traceback=_head_and_tail(_clean(hide(where)), LONGEST_TRACEBACK),
        attempts=attempt.number,
    )


def unstorable(attempt: Attempt, error: BaseException, *, hide: Hide = as_it_is) -> Failed:
    """The failure of an attempt whose outcome the store refused (bug:B16)."""
    info = ErrorInfo(
        type=_clean(_type_name(type(error)))[:LONGEST_TYPE],
        message=_head(f"result cannot be stored: {_clean(hide(_message(error)))}", LONGEST_MESSAGE),
        kind=ErrorKind.RESULT,
        attempts=attempt.number,
    )
    return Failed(error=info, retryable=False)


def sole(error: BaseException) -> BaseException:
    """The one exception that a group holds, however deep; else the error itself."""
    for _ in range(LONGEST_CHAIN):
        members = _members(error)
        if len(members) != 1:
            break
        error = members[0]
    return error


def _leaves(error: BaseException) -> list[BaseException]:
    """The exceptions that are no groups; groups beyond ``LONGEST_CHAIN`` count as such."""
    leaves: list[BaseException] = []
    inner = [error]
    for _ in range(LONGEST_CHAIN):
        if not inner:
            break
        one = inner.pop()
        members = _members(one)
        inner.extend(members)
        if not members:
            leaves.append(one)
    return leaves + inner


def _members(error: BaseException) -> tuple[BaseException, ...]:
    if not isinstance(error, BaseExceptionGroup):
        return ()
    group = cast("BaseExceptionGroup[BaseException]", error)
    return group.exceptions


def _snoozed(error: Snooze, attempt: Attempt, hide: Hide) -> Failed | Snoozed:
    try:
        return Snoozed(_seconds(error.delay))
    except ValueError as wrong:
        return _bad_delay(error, attempt, wrong, hide)


def _retried(error: RetryError, attempt: Attempt, hide: Hide) -> Failed:
    if error.delay is None:
        return failed(error, attempt, retryable=True, hide=hide)
    try:
        delay = _seconds(error.delay)
    except ValueError as wrong:
        return _bad_delay(error, attempt, wrong, hide)
    return failed(error, attempt, retryable=True, delay=delay, hide=hide)


def _hidden(outcome: Failed | Snoozed | Died, hide: Hide) -> Failed | Snoozed | Died:
    """What another process has classified."""
    if not isinstance(outcome, Failed):
        return outcome
    info = outcome.error
    shown = replace(info, message=hide(info.message), traceback=hide(info.traceback))
    return replace(outcome, error=shown)


def _bad_delay(
    error: Snooze | RetryError, attempt: Attempt, wrong: ValueError, hide: Hide
) -> Failed:
    """An ordinary failure that says so: a wrong delay must not decide anything."""
    outcome = failed(error, attempt, retryable=True, hide=hide)
    info = outcome.error
    message = _head(f"{wrong}: {info.message}", LONGEST_MESSAGE)
    return Failed(
        error=ErrorInfo(
            type=info.type,
            message=message,
            traceback=info.traceback,
            attempts=info.attempts,
        )
    )


def _seconds(delay: object) -> float:
    """Raises ValueError for what is no delay."""
    if isinstance(delay, timedelta):
        seconds = delay.total_seconds()
    elif isinstance(delay, (int, float)) and not isinstance(delay, bool):
        try:
            seconds = float(delay)
        except OverflowError:
            seconds = math.inf
    else:
        raise ValueError(f"a delay is seconds or a timedelta, not {type(delay).__name__}")
    if not 0 <= seconds <= LONGEST_DELAY:
        raise ValueError(f"a delay is 0 seconds to 100 years, not {seconds!r} seconds")
    return seconds


def _says_retryable(error: BaseException) -> bool:
    for cause in _causes(error):
        try:
            answer: object = getattr(cause, "retryable", None)
        except BaseException:  # a property that raises, whatever it raises, says nothing
            continue
        if isinstance(answer, bool):
            return answer
    return True


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, outermost first; cycles end."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen and len(seen) < LONGEST_CHAIN:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def _type_name(kind: type[BaseException]) -> str:
    module: object = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as problem:
        return f"<its text could not be made: {type(problem).__name__}>"


def _traceback(error: BaseException) -> str:
    try:
        lines = TracebackException(type(error), error, _user_frames(error.__traceback__))
        return "".join(lines.format())
    except BaseException as problem:
        return f"<its traceback could not be made: {type(problem).__name__}>"


def _user_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame that is not plumbing; all of it when every frame is."""
    frame = traceback
    while frame is not None:
        module: object = frame.tb_frame.f_globals.get("__name__", "")
        if not _is_plumbing(str(module)):
            return frame
        frame = frame.tb_next
    return traceback


def _is_plumbing(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _PLUMBING)


def _clean(text: str) -> str:
    """Without what no store keeps: NUL and lone surrogates become U+FFFD."""
    sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return sound.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _head(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _head_and_tail(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    mark = "\n  …\n"
    half = (longest - len(mark)) // 2
    return f"{text[:half]}{mark}{text[-half:]}"
