"""What RunnerQ's console answers: its shapes and its names, made of ours (seed:O2, seed:O3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from taskq.lifecycle import Note
from taskq.model import Priority, Status
from taskq.snapshot import ActivityInfo, Stats, TimelineEntry
from taskq.web.views.veil import Veil

NULL: Final = Raw(b"null")

_UNTIL_DUE: Final = frozenset({Status.SCHEDULED, Status.RETRYING})


class Snapshot(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An activity. ``priority`` is 1 (low) to 4 (critical); times are UTC; what is not there is
    left out. ``max_retries`` null: unlimited. ``payload`` and ``metadata`` are JSON, exact but for
    what is redacted, null where they are hidden. ``status_updated_at`` is the latest of its times.
    """

    id: UUID
    activity_type: str
    payload: Raw
    priority: int
    status: Status
    created_at: datetime
    retry_count: int
    max_retries: int | None
    timeout_seconds: float | None
    retry_delay_seconds: float
    metadata: Raw
    status_updated_at: datetime
    depth: int
    root_activity_id: UUID
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    current_worker_id: str | None = None
    last_worker_id: str | None = None
    last_error: str | None = None
    last_error_at: datetime | None = None
    idempotency_key: str | None = None
    parent_activity_id: UUID | None = None

    @classmethod
    def of(cls, info: ActivityInfo, veil: Veil, *, retry_delay: float) -> Snapshot:
        """``retry_delay``: seconds before the first retry."""
        running = info.status is Status.PROCESSING
        worker = None if info.worker is None else str(info.worker)
        return cls(
            id=info.id,
            activity_type=info.type,
            payload=_raw(veil.arguments(info.type, info.payload)),
            priority=int(info.priority),
            status=info.status,
            created_at=info.created_at,
            retry_count=info.retry_count,
            max_retries=info.max_retries,
            timeout_seconds=info.timeout,
            retry_delay_seconds=retry_delay,
            metadata=_raw(veil.metadata(info)),
            status_updated_at=_updated(info),
            depth=info.depth,
            root_activity_id=info.root_id,
            scheduled_at=info.ready_at if info.status in _UNTIL_DUE else None,
            started_at=info.started_at,
            completed_at=info.finished_at if info.status is Status.COMPLETED else None,
            current_worker_id=worker if running else None,
            last_worker_id=worker,
            last_error=last_error(info, veil),
            last_error_at=None if info.error is None else (info.finished_at or info.started_at),
            idempotency_key=info.idempotency_key,
            parent_activity_id=info.parent_id,
        )


class RootCounts(Struct, frozen=True, kw_only=True):
    """Activities without a parent, by state; each stops at 200."""

    pending: int
    processing: int
    scheduled: int
    retrying: int
    completed: int
    failed: int
    dead_letter: int


class QueueStats(Struct, frozen=True, kw_only=True):
    """Counts; by priority they are the pending ones. ``max_workers`` are the slots of the workers
    that are alive, ``active_workers`` those that run something."""

    pending_activities: int
    processing_activities: int
    critical_priority: int
    high_priority: int
    normal_priority: int
    low_priority: int
    scheduled_activities: int
    retrying_activities: int
    failed_activities: int
    dead_letter_activities: int
    max_workers: int
    active_workers: int
    roots: RootCounts

    @classmethod
    def of(cls, stats: Stats, roots: Mapping[Status, int]) -> QueueStats:
        """With how many roots there are in each state."""
        by_status, by_priority = stats.by_status, stats.by_priority
        return cls(
            pending_activities=by_status[Status.PENDING],
            processing_activities=by_status[Status.PROCESSING],
            critical_priority=by_priority.get(Priority.CRITICAL, 0),
            high_priority=by_priority.get(Priority.HIGH, 0),
            normal_priority=by_priority.get(Priority.NORMAL, 0),
            low_priority=by_priority.get(Priority.LOW, 0),
            scheduled_activities=by_status[Status.SCHEDULED],
            retrying_activities=by_status[Status.RETRYING],
            failed_activities=by_status[Status.FAILED],
            dead_letter_activities=by_status[Status.DEAD_LETTER],
            max_workers=stats.slots,
            active_workers=stats.slots_used,
            roots=RootCounts(
                **{name: roots.get(Status(name), 0) for name in RootCounts.__struct_fields__}
            ),
        )


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to an activity."""

    activity_id: UUID
    timestamp: datetime
    event_type: str
    worker_id: str | None = None
    detail: Mapping[str, object] | None = None

    @classmethod
    def of(cls, id: UUID, entry: TimelineEntry) -> Event:
        """An entry of this activity's timeline, as it may be shown."""
        return cls(
            activity_id=id,
            timestamp=entry.at,
            event_type=event_type(entry.kind, entry.detail),
            worker_id=None if entry.worker is None else str(entry.worker),
            detail=entry.detail or None,
        )


class DeadLetterRecord(Struct, frozen=True, kw_only=True):
    """What ended dead_letter, and of what."""

    activity: Snapshot
    error: str
    failed_at: datetime

    @classmethod
    def of(cls, info: ActivityInfo, veil: Veil, *, retry_delay: float) -> DeadLetterRecord:
        """As its row has it."""
        return cls(
            activity=Snapshot.of(info, veil, retry_delay=retry_delay),
            error=last_error(info, veil) or "",
            failed_at=info.finished_at or _updated(info),
        )


def event_type(kind: str, detail: Mapping[str, object]) -> str:
    """The name that RunnerQ has for an entry of a timeline; of our own kinds, in its manner."""
    if kind in (Note.FAILED, Note.TIMED_OUT):
        return "Retrying" if "delay" in detail else "Failed"
    return _EVENT_TYPES.get(kind) or "".join(part.title() for part in kind.split("_"))


def last_error(info: ActivityInfo, veil: Veil) -> str | None:
    """Type and message of its error; the type alone where messages are hidden."""
    error = veil.error(info)
    if error is None:
        return None
    message = veil.said(error.message)
    return error.type if message is None else f"{error.type}: {message}"


def _updated(info: ActivityInfo) -> datetime:
    times = (info.created_at, info.started_at, info.finished_at, info.cancel_requested_at)
    return max(at for at in times if at is not None)


def _raw(text: str | None) -> Raw:
    return NULL if text is None else msgspec.Raw(text.encode(errors="replace"))


_EVENT_TYPES: Final[Mapping[str, str]] = {
    "started": "Dequeued",
    Note.CRASHED: "Requeued",
    Note.INTERRUPTED: "Requeued",
    Note.HANDED_BACK: "Requeued",
    Note.RETRIED: "Requeued",
    Note.SNOOZED: "Scheduled",
    Note.RESCHEDULED: "Scheduled",
    Note.LINKED: "SpawnLinked",
}
