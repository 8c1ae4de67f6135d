"""One stored activity: the call as it was made, and the columns that change."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct, field

from taskq.backends.arrival import (
    deadline_at,
    expires_at,
    first_status,
    isolated,
    ready_at,
)
from taskq.backends.links import Link
from taskq.backends.timeline import EventRow
from taskq.lifecycle import Note
from taskq.model import Activity, Attempt, Ended, ErrorInfo, Lease, Status
from taskq.progress import Progress
from taskq.snapshot import ActivityInfo

V = TypeVar("V")


class Row(Struct, kw_only=True):
    """A row of taskq_activities, with its event rows. Only ``Tables`` changes it."""

    activity: Activity[object]
    status: Status
    created_at: datetime
    ready_at: datetime
    isolate: bool
    expires_at: datetime | None = None
    deadline_at: datetime | None = None
    retry_count: int = 0
    crash_count: int = 0
    claim: int = 0
    worker: UUID | None = None
    lease_until: datetime | None = None
    cancel_requested_at: datetime | None = None
    cancel_tree: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    result: str | None = None
    error: ErrorInfo | None = None
    fingerprint: str | None = None
    progress: Progress | None = None
    events: list[EventRow] = field(default_factory=list[EventRow])

    @property
    def id(self) -> UUID:
        """The activity's id."""
        return self.activity.id

    @property
    def lease(self) -> Lease:
        """The lease of the latest claim."""
        return Lease(self.activity.id, self.claim)

    @property
    def number(self) -> int:
        """The number of the attempt that is running or comes next, from 1."""
        return self.retry_count + self.crash_count + 1

    def note(
        self, kind: Note, at: datetime, detail: dict[str, object], attempt: int | None
    ) -> None:
        """Add an event row; with an ``attempt`` it is about the latest claim's worker."""
        worker = None if attempt is None else self.worker
        event = EventRow(
            at=at, kind=kind, claim=self.claim, attempt=attempt, worker=worker, detail=detail
        )
        self.events.append(event)

    def link(self, link: Link, at: datetime) -> None:
        """Add the event row of a link, if it is new."""
        detail = link.detail
        known = any(event.kind is Note.LINKED and event.detail == detail for event in self.events)
        if not known:
            self.note(Note.LINKED, at, detail, None)

    def attempt(self, worker: UUID) -> Attempt:
        """It as ``worker`` holds it."""
        call = self.activity
        return Attempt(
            id=call.id,
            worker=worker,
            claim=self.claim,
            type=call.type,
            queue=call.queue,
            payload=call.payload,
            root_id=call.root_id,
            origin_id=call.origin_id,
            created_at=self.created_at,
            ready_at=self.ready_at,
            parent_id=call.parent_id,
            depth=call.depth,
            generation=call.generation,
            step=call.step,
            priority=call.priority,
            retry_count=self.retry_count,
            crash_count=self.crash_count,
            max_retries=call.max_retries,
            max_crashes=call.max_crashes,
            timeout=call.timeout,
            policy=call.policy,
            metadata=call.metadata,
            tags=call.tags,
            source=call.source,
            correlation_id=call.correlation_id,
            user_id=call.user_id,
            claimed_at=self.started_at,
            expires_at=self.expires_at,
            deadline_at=self.deadline_at,
            isolate=self.isolate,
        )

    def ended(self) -> Ended:
        """How it ended."""
        return Ended(status=self.status, result=self.result, error=self.error)

    def info(self) -> ActivityInfo:
        """A snapshot for readers."""
        call = self.activity
        return ActivityInfo(
            id=call.id,
            type=call.type,
            queue=call.queue,
            status=self.status,
            priority=call.priority,
            payload=call.payload,
            result=self.result,
            error=self.error,
            fingerprint=self.fingerprint,
            retry_count=self.retry_count,
            crash_count=self.crash_count,
            max_retries=call.max_retries,
            max_crashes=call.max_crashes,
            timeout=call.timeout,
            created_at=self.created_at,
            ready_at=self.ready_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            lease_until=self.lease_until,
            cancel_requested_at=self.cancel_requested_at,
            worker=self.worker,
            claim=self.claim,
            isolate=self.isolate,
            parent_id=call.parent_id,
            root_id=call.root_id,
            origin_id=call.origin_id,
            depth=call.depth,
            generation=call.generation,
            step=call.step,
            expires_at=self.expires_at,
            deadline_at=self.deadline_at,
            idempotency_key=None if call.idempotency is None else call.idempotency.shown,
            source=call.source,
            correlation_id=call.correlation_id,
            user_id=call.user_id,
            progress=self.progress,
            tags=self.tags,
            metadata=_object(call.metadata, dict[str, object]),
        )

    @property
    def tags(self) -> dict[str, str]:
        """The call's tags, decoded."""
        return _object(self.activity.tags, dict[str, str])


def new_row(activity: Activity[object], now: datetime) -> Row:
    """The row with which an activity begins: scheduled if it runs after ``now``, else pending."""
    ready = ready_at(activity, now)
    return Row(
        activity=activity,
        status=first_status(ready, now),
        created_at=now,
        ready_at=ready,
        isolate=isolated(activity.max_crashes),
        expires_at=expires_at(activity, now),
        deadline_at=deadline_at(activity, now),
    )


def _object(text: str | None, type: type[dict[str, V]]) -> dict[str, V]:
    """A stored JSON object; what is none of that type is shown as empty, never breaks a list."""
    if text is None:
        return {}
    try:
        return msgspec.json.decode(text, type=type)
    except (msgspec.MsgspecError, RecursionError):
        return {}
