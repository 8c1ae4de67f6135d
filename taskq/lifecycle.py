"""The state machine: the only place that knows what may follow what, and why.

An attempt ends with one ``Outcome``. ``decide`` turns it into a ``Transition``: the next state and
the columns that go with it, as data. Backends apply a transition only while its lease still holds;
they decide nothing themselves. The diagram in docs/lifecycle.md is drawn from ``TRANSITIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias, assert_never
from uuid import UUID

import msgspec
from msgspec import Struct

from taskq.fingerprint import fingerprint
from taskq.model import COUNTED_TO, Activity, Attempt, ErrorInfo, ErrorKind, Hook, Status

_AGAIN: Mapping[Status, str] = {
    Status.PENDING: "retried by an operator",
    Status.SCHEDULED: "retried by an operator, later",
}

TRANSITIONS: Mapping[Status, Mapping[Status, str]] = {
    Status.SCHEDULED: {
        Status.PENDING: "due",
        Status.PROCESSING: "too late to start, claimed to be ended",
        Status.CANCELLED: "cancelled",
    },
    Status.PENDING: {
        Status.PROCESSING: "claimed",
        Status.SCHEDULED: "rescheduled by an operator",
        Status.CANCELLED: "cancelled",
    },
    Status.PROCESSING: {
        Status.COMPLETED: "returned",
        Status.RETRYING: "failed, retries left",
        Status.SCHEDULED: "snoozed",
        Status.PENDING: "handed back, interrupted or its worker lost",
        Status.FAILED: "failed for good",
        Status.DEAD_LETTER: "retries or crashes exhausted",
        Status.CANCELLED: "cancelled",
    },
    Status.RETRYING: {
        Status.PENDING: "due",
        Status.PROCESSING: "past its deadline, claimed to be ended",
        Status.CANCELLED: "cancelled",
    },
    Status.FAILED: _AGAIN,
    Status.DEAD_LETTER: _AGAIN,
    Status.CANCELLED: _AGAIN,
    Status.COMPLETED: {},
}
"""From each state, the states that may follow, each with its cause (seed:L3, seed:L4)."""

RETRYABLE_BY_OPERATOR = frozenset(
    status for status, following in TRANSITIONS.items() if status.terminal and following
)
"""The terminal states from which an operator may send an activity round again."""

RESCHEDULABLE_BY_OPERATOR = frozenset({Status.PENDING, Status.SCHEDULED, Status.RETRYING})
"""The states in which an operator may say when an activity is to run: it waits."""

STARTABLE_BY_OPERATOR = RESCHEDULABLE_BY_OPERATOR - {Status.PENDING}
"""The states in which an operator may let an activity run at once: it waits for its time."""

REORDERABLE_BY_OPERATOR = frozenset(status for status in Status if not status.terminal)
"""The states in which an operator may change a priority: it may be claimed yet."""


class Succeeded(Struct, frozen=True, gc=False):
    """The handler returned; ``result`` is the JSON text of its value."""

    result: str


class Failed(Struct, frozen=True, kw_only=True):
    """The handler raised, or could not be called, or its result could not be stored.

    ``delay`` (seconds) replaces the policy's delay when the failure is retried.
    """

    error: ErrorInfo
    retryable: bool = True
    delay: float | None = None


class TimedOut(Struct, frozen=True):
    """The attempt ran longer than its timeout and was stopped."""

    error: ErrorInfo


class Cancelled(Struct, frozen=True):
    """The attempt was stopped by an accepted cancel."""


class Interrupted(Struct, frozen=True):
    """The attempt was stopped by its worker's shutdown; it counts for nothing (promise:G14)."""


class Snoozed(Struct, frozen=True):
    """The handler asked to be run again in ``delay`` seconds; no retry is consumed."""

    delay: float


class Unstarted(Struct, frozen=True):
    """The attempt was claimed and not started; it goes back without a note, as nothing happened.

    In ``delay`` seconds it may be claimed again, or at once and at its old place if None.
    """

    delay: float | None = None


class Crashed(Struct, frozen=True):
    """The lease ended without a word from its worker."""


class Died(Struct, frozen=True):
    """The attempt's own process ended without a word, its worker lives; ``reason`` says how.

    It is a crash like any other, but known at once: the lease still holds. Nothing ran beside it in
    that process, so it need not run alone next time.
    """

    reason: str


class Expired(Struct, frozen=True):
    """It was claimed after its ``expires_at``, and never started."""


class Overdue(Struct, frozen=True):
    """Its ``deadline_at`` had passed: the attempt was stopped or, if not ``started``, never run."""

    started: bool


Outcome: TypeAlias = (
    Succeeded
    | Failed
    | TimedOut
    | Cancelled
    | Interrupted
    | Snoozed
    | Unstarted
    | Crashed
    | Died
    | Expired
    | Overdue
)


class Note(StrEnum):
    """An event row's kind: what happened to an activity that its own row cannot tell.

    LINKED: another parent's call was answered by it (seed:I8, ``backends.links``).
    """

    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    INTERRUPTED = "interrupted"
    SNOOZED = "snoozed"
    HANDED_BACK = "handed_back"
    CANCEL_REQUESTED = "cancel_requested"
    RETRIED = "retried"
    RESCHEDULED = "rescheduled"
    PRIORITY_CHANGED = "priority_changed"
    LINKED = "linked"


class Transition(Struct, frozen=True, kw_only=True, gc=False):
    """An outcome applied to an activity, as data.

    Applied only where ``(id, worker, claim)`` still holds the lease and the row is processing; with
    ``only_if_expired`` also only if the lease has ended by the store's clock. ``ready_at`` becomes
    the store's now + ``delay`` seconds, or stays as it is when ``delay`` is None. Where a cancel
    was accepted meanwhile, ``if_cancel_requested`` (never None where ``status`` is no end) is the
    state instead. With a ``note`` it has run and will run again: it expires no more, and
    ``expires_at`` is cleared. State, result, error, note and hooks are one transaction.
    ``fingerprint`` is the cause of a failure that ended it, see there; None where it has not.
    """

    id: UUID
    worker: UUID
    claim: int
    status: Status
    retry_count: int
    crash_count: int
    attempt: int
    delay: float | None = None
    isolate: bool = False
    result: str | None = None
    error: ErrorInfo | None = None
    fingerprint: str | None = None
    note: Note | None = None
    hook_names: tuple[Hook, ...] = ()
    hooks: tuple[Activity[object], ...] = ()
    only_if_expired: bool = False

    @property
    def if_cancel_requested(self) -> Status | None:
        """The state instead, where a cancel was accepted: whatever is no end gives way (G10)."""
        return None if self.status.terminal else Status.CANCELLED


class Verdict(StrEnum):
    """What became of a transition that was to be applied."""

    APPLIED = "applied"
    ALREADY_MINE = "already_mine"
    """The same lease had settled it before: an earlier call did it and its reply was lost."""
    LOST = "lost"
    """The lease no longer held; nothing was written."""


class Settlement(Struct, frozen=True, gc=False):
    """The answer for one transition: ``status`` is the row's state now, None if it is gone."""

    id: UUID
    verdict: Verdict
    status: Status | None


def decide(attempt: Attempt, outcome: Outcome, *, chance: float = 0.5) -> Transition:
    """The transition that follows from how an attempt ended. Pure: no clock, no store.

    ``chance`` in 0–1 places a retry's delay inside its jitter. Counts end at ``COUNTED_TO``, so
    that what another program has stored there is still settled.
    """
    match outcome:
        case Succeeded(result):
            return _transition(attempt, Status.COMPLETED, result=result)
        case Failed():
            return _failed(attempt, outcome, chance=chance)
        case TimedOut(error):
            if not attempt.policy.retry_on_timeout:
                return _ended(attempt, Status.FAILED, error)
            return _retried(attempt, error, Note.TIMED_OUT, delay=None, chance=chance)
        case Cancelled():
            return _transition(attempt, Status.CANCELLED, error=cancelled_error(attempt.number))
        case Interrupted():
            return _transition(
                attempt, Status.PENDING, isolate=attempt.isolate, note=Note.INTERRUPTED
            )
        case Snoozed(delay):
            return _transition(
                attempt,
                Status.SCHEDULED,
                delay=delay,
                isolate=attempt.isolate,
                note=Note.SNOOZED,
            )
        case Unstarted(delay):
            status = Status.PENDING if delay is None else Status.SCHEDULED
            return _transition(attempt, status, delay=delay, isolate=attempt.isolate)
        case Crashed() | Died():
            return _crashed(attempt, outcome)
        case Expired():
            return _transition(attempt, Status.CANCELLED, error=_expired_error(attempt))
        case Overdue(started):
            return _ended(attempt, Status.FAILED, _overdue_error(attempt, started))
        case _:
            assert_never(outcome)


def lateness(attempt: Attempt, *, after: float) -> Expired | Overdue | None:
    """What it is too late for, for an attempt to be started ``after`` seconds after its claim."""
    if attempt.expires_in is not None and attempt.expires_in <= after:
        return Expired()
    if attempt.deadline_in is not None and attempt.deadline_in <= after:
        return Overdue(started=False)
    return None


def rescheduled(status: Status, when: datetime, now: datetime) -> Status:
    """The state of what waits, once it is to run at ``when``; both aware, ``now`` the store's."""
    if when <= now:
        return Status.PENDING
    return Status.RETRYING if status is Status.RETRYING else Status.SCHEDULED


def cancelled_error(attempts: int) -> ErrorInfo:
    """What is recorded for a cancelled activity."""
    return ErrorInfo(
        type="Cancelled", message="by request", kind=ErrorKind.CANCELLED, attempts=attempts
    )


def evicted_error(queue: str, attempts: int) -> ErrorInfo:
    """What is recorded for one that a newer one took the place of."""
    return ErrorInfo(
        type="Evicted",
        message=f"queue {queue!r} was full, and a newer call took this place",
        kind=ErrorKind.EVICTED,
        attempts=attempts,
    )


def _failed(attempt: Attempt, failed: Failed, *, chance: float) -> Transition:
    if not failed.retryable:
        return _ended(attempt, Status.FAILED, failed.error)
    return _retried(attempt, failed.error, Note.FAILED, delay=failed.delay, chance=chance)


def _expired_error(attempt: Attempt) -> ErrorInfo:
    return ErrorInfo(
        type="Expired",
        message=f"it had not started by {_instant(attempt.expires_at)}",
        kind=ErrorKind.EXPIRED,
        attempts=attempt.number - 1,
    )


def _overdue_error(attempt: Attempt, started: bool) -> ErrorInfo:
    return ErrorInfo(
        type="DeadlinePassed",
        message=f"it had not ended by {_instant(attempt.deadline_at)}",
        kind=ErrorKind.DEADLINE,
        attempts=attempt.number if started else attempt.number - 1,
    )


def _instant(at: datetime | None) -> str:
    return "its time" if at is None else at.isoformat(sep=" ", timespec="milliseconds")


def _retried(
    attempt: Attempt, error: ErrorInfo, note: Note, *, delay: float | None, chance: float
) -> Transition:
    retry = attempt.retry_count + 1
    if attempt.max_retries is not None and retry > attempt.max_retries:
        return _exhausted(attempt, error)
    if delay is None:
        delay = attempt.policy.retry.delay(retry, chance=chance)
    return _transition(
        attempt,
        Status.RETRYING,
        retry_count=retry,
        delay=delay,
        isolate=attempt.isolate,
        error=error,
        note=note,
    )


def _crashed(attempt: Attempt, outcome: Crashed | Died) -> Transition:
    """A crash costs no retry. After a worker's loss, the last crash but one asks for isolation
    (design 7.5, seed:R21); what a worker has itself seen needs no lease to have ended."""
    seen = isinstance(outcome, Died)
    crashes = attempt.crash_count + 1
    what = "its worker was lost while it ran"
    if isinstance(outcome, Died):
        what = f"its process {outcome.reason}"
    error = ErrorInfo(
        type="ProcessDied" if seen else "WorkerLost",
        message=f"{what} ({crashes} of at most {attempt.max_crashes})",
        kind=ErrorKind.CRASHED,
        attempts=attempt.number,
    )
    if crashes >= attempt.max_crashes:
        return _exhausted(attempt, error, crash_count=crashes, only_if_expired=not seen)
    return _transition(
        attempt,
        Status.PENDING,
        crash_count=crashes,
        isolate=not seen and crashes + 1 >= attempt.max_crashes,
        error=error,
        note=Note.CRASHED,
        only_if_expired=not seen,
    )


def _exhausted(
    attempt: Attempt,
    error: ErrorInfo,
    *,
    crash_count: int | None = None,
    only_if_expired: bool = False,
) -> Transition:
    """Nothing is left to try: a dead letter, or just a failure where there are to be none."""
    status = Status.DEAD_LETTER
    if not attempt.policy.dead_letter:
        status = Status.FAILED
        error = msgspec.structs.replace(error, kind=ErrorKind.RETRIES_EXHAUSTED)
    return _ended(attempt, status, error, crash_count=crash_count, only_if_expired=only_if_expired)


_HOOKS: Mapping[Status, tuple[Hook, ...]] = {
    Status.DEAD_LETTER: ("on_dead_letter", "on_failure"),
    Status.FAILED: ("on_failure",),
}


def _ended(
    attempt: Attempt,
    status: Status,
    error: ErrorInfo,
    *,
    crash_count: int | None = None,
    only_if_expired: bool = False,
) -> Transition:
    return _transition(
        attempt,
        status,
        error=error,
        crash_count=crash_count,
        only_if_expired=only_if_expired,
        fingerprint=fingerprint(attempt.type, error),
        hook_names=tuple(hook for hook in _HOOKS[status] if hook in attempt.policy.hooks),
    )


def _transition(
    attempt: Attempt,
    status: Status,
    *,
    retry_count: int | None = None,
    crash_count: int | None = None,
    delay: float | None = None,
    isolate: bool = False,
    result: str | None = None,
    error: ErrorInfo | None = None,
    fingerprint: str | None = None,
    note: Note | None = None,
    hook_names: tuple[Hook, ...] = (),
    only_if_expired: bool = False,
) -> Transition:
    return Transition(
        id=attempt.id,
        worker=attempt.worker,
        claim=attempt.claim,
        status=status,
        retry_count=_counted(attempt.retry_count if retry_count is None else retry_count),
        crash_count=_counted(attempt.crash_count if crash_count is None else crash_count),
        attempt=attempt.number,
        delay=delay,
        isolate=isolate,
        result=result,
        error=error,
        fingerprint=fingerprint,
        note=note,
        hook_names=hook_names,
        only_if_expired=only_if_expired,
    )


def _counted(count: int) -> int:
    return min(count, COUNTED_TO)
