"""What a settled transition is called, in events and in counts."""

from __future__ import annotations

from typing import TypedDict, Unpack, assert_never

from taskq import events
from taskq.engine.recording.rollup import Count
from taskq.lifecycle import Note, Settlement, Transition, Verdict, cancelled_error
from taskq.model import Attempt, ErrorInfo, Status

UNKNOWN = ErrorInfo(type="Unknown", message="no error was recorded")


class Times(TypedDict):
    """What every event about an end says: seconds of running, seconds until it was recorded."""

    seconds: float
    recording: float


def event_of(
    attempt: Attempt,
    transition: Transition,
    settlement: Settlement,
    **times: Unpack[Times],
) -> events.Finished:
    """The event about an attempt that has ended, its end recorded or refused."""
    if settlement.verdict is Verdict.LOST:
        return events.OutcomeRefused(attempt=attempt, **times)
    error = transition.error or UNKNOWN
    delay = transition.delay or 0.0
    status = _status(transition, settlement)
    match status:
        case Status.COMPLETED:
            return events.Completed(attempt=attempt, **times)
        case Status.RETRYING:
            return events.Retrying(attempt=attempt, **times, error=error, delay=delay)
        case Status.FAILED:
            return events.Failed(attempt=attempt, **times, error=error)
        case Status.DEAD_LETTER:
            return events.DeadLettered(attempt=attempt, **times, error=error)
        case Status.CANCELLED:
            return events.Cancelled(
                attempt=attempt, **times, error=transition.error or cancelled_error(attempt.number)
            )
        case Status.SCHEDULED if transition.note is None:
            return events.Unhandled(attempt=attempt, **times, delay=delay)
        case Status.SCHEDULED:
            return events.Snoozed(attempt=attempt, **times, delay=delay)
        case Status.PENDING if transition.note is Note.CRASHED and not transition.only_if_expired:
            return events.ProcessDied(attempt=attempt, **times, error=error)
        case Status.PENDING | Status.PROCESSING:
            return events.Interrupted(attempt=attempt, **times)
        case _:
            assert_never(status)


def count_of(
    attempt: Attempt,
    transition: Transition,
    settlement: Settlement,
    *,
    waited: float | None,
    ran: float | None,
) -> Count:
    """How the same is counted. ``waited`` and ``ran`` are seconds, None when nobody knows."""
    return Count(attempt.queue, attempt.type, _name(transition, settlement), waited, ran)


def _status(transition: Transition, settlement: Settlement) -> Status:
    """The state that the transition led to. The row's own state may be a later one already, when
    the call had to be repeated; the store departs from a transition only for an accepted cancel."""
    if settlement.status is Status.CANCELLED:
        return Status.CANCELLED
    return transition.status


def _name(transition: Transition, settlement: Settlement) -> str:
    status = _status(transition, settlement)
    if status is Status.PENDING:
        return "crashed" if transition.note is Note.CRASHED else "interrupted"
    if status is Status.SCHEDULED:
        return "unhandled" if transition.note is None else "snoozed"
    return status.value
