"""One activity: a line of a list, or everything about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from taskq.model import Status
from taskq.progress import Progress
from taskq.snapshot import ActivityInfo
from taskq.web.views.veil import Veil
from taskq.web.views.version import version_of

LONGEST_MESSAGE = 300
"""Characters of an error's message in a list."""


class ErrorView(Struct, frozen=True, kw_only=True):
    """A recorded failure. ``message`` and ``traceback`` are null where they are hidden; lists have
    no traceback, and the message cut. ``attempts`` is the number of the attempt that failed so."""

    type: str
    kind: str
    message: str | None
    traceback: str | None
    attempts: int

    @classmethod
    def of(cls, info: ActivityInfo, veil: Veil) -> ErrorView | None:
        """All of it."""
        error = veil.error(info)
        if error is None:
            return None
        return cls(
            type=error.type,
            kind=error.kind.value,
            message=veil.said(error.message),
            traceback=veil.said(error.traceback),
            attempts=error.attempts,
        )

    @classmethod
    def short(cls, info: ActivityInfo, veil: Veil) -> ErrorView | None:
        """As lists have it."""
        error = veil.error(info)
        if error is None:
            return None
        message = veil.said(error.message)
        if message is not None and len(message) > LONGEST_MESSAGE:
            message = message[: LONGEST_MESSAGE - 1] + "…"
        return cls(
            type=error.type,
            kind=error.kind.value,
            message=message,
            traceback=None,
            attempts=error.attempts,
        )


class ProgressView(Struct, frozen=True, kw_only=True):
    """How far a handler says that it has come: ``done`` of ``total`` (null: nobody knows), with a
    ``note`` for people, null where there is none or it is hidden."""

    done: int | float
    total: int | float | None
    note: str | None
    at: datetime

    @classmethod
    def of(cls, progress: Progress | None, veil: Veil) -> ProgressView | None:
        """As it was reported, if it was."""
        if progress is None:
            return None
        note = veil.said(progress.note)
        return cls(done=progress.done, total=progress.total, note=note, at=progress.at)


class ActivitySummary(Struct, frozen=True, kw_only=True):
    """A line of a list. Times are UTC.

    ``attempts`` have begun, of ``max_attempts`` (null: unlimited). ``duration`` is the seconds that
    its last attempt took, null until it has ended. ``worker`` holds it or settled it last.
    """

    id: UUID
    type: str
    queue: str
    status: Status
    priority: str
    created_at: datetime
    ready_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration: float | None
    attempts: int
    max_attempts: int | None
    cancel_requested: bool
    worker: UUID | None
    parent_id: UUID | None
    root_id: UUID
    depth: int
    step: str | None
    source: str | None
    correlation_id: str | None
    user_id: str | None
    tags: Mapping[str, str]
    progress: ProgressView | None
    error: ErrorView | None

    @classmethod
    def of(cls, info: ActivityInfo, veil: Veil) -> ActivitySummary:
        """Without payloads."""
        return cls(
            id=info.id,
            type=info.type,
            queue=info.queue,
            status=info.status,
            priority=info.priority.name,
            created_at=info.created_at,
            ready_at=info.ready_at,
            started_at=info.started_at,
            finished_at=info.finished_at,
            duration=_duration(info),
            attempts=info.attempts,
            max_attempts=_max_attempts(info),
            cancel_requested=info.cancel_requested_at is not None,
            worker=info.worker,
            parent_id=info.parent_id,
            root_id=info.root_id,
            depth=info.depth,
            step=info.step,
            source=info.source,
            correlation_id=info.correlation_id,
            user_id=info.user_id,
            tags=veil.tags(info),
            progress=ProgressView.of(info.progress, veil),
            error=ErrorView.short(info, veil),
        )


class Surroundings(Struct, frozen=True, kw_only=True):
    """What an activity's own row does not tell: see ``ActivityView``."""

    known: bool
    worker_name: str | None
    children: int
    unfinished: list[ActivityInfo]
    awaited_by: list[UUID]


class ActivityView(Struct, frozen=True, kw_only=True):
    """Everything about one activity. Times are UTC, durations seconds.

    ``version`` changes with each change of state: a command that names it is refused once it has
    moved on. ``arguments``, ``result`` and ``metadata`` are JSON texts, exact but for what is
    redacted; null where ``hidden``. ``worker`` holds it or settled it last; ``worker_name`` is null
    once that has gone. ``children`` counts them up to 1000. ``blocked_on`` are up to 20 of its
    children that have not ended, while it has not. ``awaited_by`` are other activities whose call
    it answers. ``known``: this app has a task of its type.
    """

    id: UUID
    type: str
    queue: str
    status: Status
    priority: str
    version: str
    known: bool
    hidden: bool
    arguments: str | None
    result: str | None
    metadata: str | None
    tags: Mapping[str, str]
    error: ErrorView | None
    fingerprint: str | None
    progress: ProgressView | None
    attempts: int
    max_attempts: int | None
    retry_count: int
    max_retries: int | None
    crash_count: int
    max_crashes: int
    isolate: bool
    timeout: float | None
    created_at: datetime
    ready_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration: float | None
    expires_at: datetime | None
    deadline_at: datetime | None
    lease_until: datetime | None
    cancel_requested_at: datetime | None
    worker: UUID | None
    worker_name: str | None
    parent_id: UUID | None
    root_id: UUID
    origin_id: UUID
    depth: int
    generation: int
    step: str | None
    idempotency_key: str | None
    source: str | None
    correlation_id: str | None
    user_id: str | None
    children: int
    blocked_on: list[ActivitySummary]
    awaited_by: list[UUID]

    @classmethod
    def of(cls, info: ActivityInfo, around: Surroundings, veil: Veil) -> ActivityView:
        """With what its own row does not tell."""
        return cls(
            id=info.id,
            type=info.type,
            queue=info.queue,
            status=info.status,
            priority=info.priority.name,
            version=version_of(info),
            known=around.known,
            hidden=not veil.shown,
            arguments=veil.arguments(info.type, info.payload),
            result=veil.result(info),
            metadata=veil.metadata(info),
            tags=veil.tags(info),
            error=ErrorView.of(info, veil),
            fingerprint=info.fingerprint,
            progress=ProgressView.of(info.progress, veil),
            attempts=info.attempts,
            max_attempts=_max_attempts(info),
            retry_count=info.retry_count,
            max_retries=info.max_retries,
            crash_count=info.crash_count,
            max_crashes=info.max_crashes,
            isolate=info.isolate,
            timeout=info.timeout,
            created_at=info.created_at,
            ready_at=info.ready_at,
            started_at=info.started_at,
            finished_at=info.finished_at,
            duration=_duration(info),
            expires_at=info.expires_at,
            deadline_at=info.deadline_at,
            lease_until=info.lease_until,
            cancel_requested_at=info.cancel_requested_at,
            worker=info.worker,
            worker_name=around.worker_name,
            parent_id=info.parent_id,
            root_id=info.root_id,
            origin_id=info.origin_id,
            depth=info.depth,
            generation=info.generation,
            step=info.step,
            idempotency_key=info.idempotency_key,
            source=info.source,
            correlation_id=info.correlation_id,
            user_id=info.user_id,
            children=around.children,
            blocked_on=[ActivitySummary.of(child, veil) for child in around.unfinished],
            awaited_by=around.awaited_by,
        )


def _duration(info: ActivityInfo) -> float | None:
    if info.started_at is None or info.finished_at is None:
        return None
    return (info.finished_at - info.started_at).total_seconds()


def _max_attempts(info: ActivityInfo) -> int | None:
    return None if info.max_retries is None else info.max_retries + 1
