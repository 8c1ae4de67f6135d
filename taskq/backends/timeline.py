"""A timeline: what an activity's own row tells, merged with its event rows; for any backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct, field

from taskq.audit import Command
from taskq.lifecycle import Note, Transition
from taskq.model import ErrorInfo, ErrorKind, Status
from taskq.snapshot import ActivityInfo, TimelineEntry


class EventRow(Struct, frozen=True, kw_only=True):
    """A stored event: what happened to an activity that its own row cannot tell.

    ``attempt`` is None where none is meant (an operator's retry, a link). ``detail`` is a JSON
    object.
    """

    at: datetime
    kind: Note
    claim: int
    attempt: int | None = None
    worker: UUID | None = None
    detail: Mapping[str, object] = field(default_factory=dict[str, object])


def transition_detail(transition: Transition) -> dict[str, object]:
    """The detail of a transition's event row: ``error`` as an object, ``delay`` in seconds."""
    detail = error_detail(transition.error)
    if transition.delay is not None:
        detail["delay"] = transition.delay
    return detail


def retry_detail(
    command: Command, status: Status, error: ErrorInfo | None, payload: str | None = None
) -> dict[str, object]:
    """The detail of an operator's retry: who and why, how the activity had ended, and the payload
    before where it was edited."""
    edited = {} if payload is None else {"payload": payload}
    return {**who(command), "status": status.value, **error_detail(error), **edited}


def who(command: Command) -> dict[str, object]:
    """Who did it, and why."""
    return {"actor": command.actor, "reason": command.reason}


def error_detail(error: ErrorInfo | None) -> dict[str, object]:
    """``{"error": {...}}``, or nothing."""
    return {} if error is None else {"error": msgspec.to_builtins(error)}


def entries(info: ActivityInfo, events: Sequence[EventRow]) -> list[TimelineEntry]:
    """The timeline, oldest first; ``events`` in the order in which they were stored.

    From the row: enqueued; scheduled, for one that waits for its first time; started, for the
    latest attempt; the end. What happened at one instant is in the order of the lifecycle.
    """
    placed = [
        *_derived(info, events),
        *((event.at, event.claim, 2, _entry(event)) for event in events),
    ]
    placed.sort(key=lambda place: place[:3])
    return [entry for *_, entry in placed]


_Place = tuple[datetime, int, int, TimelineEntry]
"""When, under which claim, in which rank of a claim's life: 0 made, 1 started, 2 noted, 3 ended."""


def _derived(info: ActivityInfo, events: Sequence[EventRow]) -> Iterator[_Place]:
    yield info.created_at, 0, 0, TimelineEntry(at=info.created_at, kind="enqueued")
    if info.status is Status.SCHEDULED and not info.claim:
        detail: dict[str, object] = {"ready_at": info.ready_at.isoformat()}
        scheduled = TimelineEntry(at=info.created_at, kind="scheduled", detail=detail)
        yield info.created_at, 0, 0, scheduled
    attempt = _latest_attempt(info, events)
    ran = info.started_at is not None and not ended_unstarted(info)
    if info.started_at is not None and ran:
        started = TimelineEntry(
            at=info.started_at, kind="started", attempt=attempt, worker=info.worker
        )
        yield info.started_at, info.claim, 1, started
    if info.finished_at is not None:
        end = TimelineEntry(
            at=info.finished_at,
            kind=_end(info),
            attempt=attempt if ran else None,
            worker=info.worker,
            detail=error_detail(info.error),
        )
        yield info.finished_at, info.claim, 3, end


def _end(info: ActivityInfo) -> str:
    timed_out = info.error is not None and info.error.kind is ErrorKind.TIMEOUT
    return "timed_out" if info.status is Status.FAILED and timed_out else info.status.value


def ended_unstarted(info: ActivityInfo) -> bool:
    """Whether its latest claim was only to end it, because it was too late to start it."""
    error = info.error
    if error is None or error.kind not in (ErrorKind.EXPIRED, ErrorKind.DEADLINE):
        return False
    ended = info.status in (Status.CANCELLED, Status.FAILED)
    return ended and error.attempts == info.retry_count + info.crash_count


def _latest_attempt(info: ActivityInfo, events: Iterable[EventRow]) -> int:
    """The number of the attempt under the latest claim; the row's counts may have moved on."""
    noted = [
        event.attempt for event in events if event.claim == info.claim and event.attempt is not None
    ]
    if noted:
        return noted[0]
    if info.status.terminal and info.error is not None:
        return info.error.attempts
    return info.retry_count + info.crash_count + 1


def _entry(event: EventRow) -> TimelineEntry:
    return TimelineEntry(
        at=event.at,
        kind=event.kind.value,
        attempt=event.attempt,
        worker=event.worker,
        detail=event.detail,
    )
