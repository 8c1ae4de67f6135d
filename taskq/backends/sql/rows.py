"""Rows to nouns and back. What is nonsense in one row never makes another one unreadable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import Row

from taskq.backends.arrival import (
    deadline_at,
    expires_at,
    first_status,
    isolated,
    ready_at,
)
from taskq.backends.instants import FIRST
from taskq.backends.sql.tables import BIG_INTEGER
from taskq.backends.storable import check_activity
from taskq.backends.timeline import EventRow
from taskq.errors import ConfigurationError
from taskq.lifecycle import Note
from taskq.model import (
    DEFAULT_POLICY,
    Activity,
    Attempt,
    Ended,
    ErrorInfo,
    ErrorKind,
    Policy,
    Priority,
    Status,
)
from taskq.progress import Progress
from taskq.snapshot import ActivityInfo, Bucket, WorkerInfo

T = TypeVar("T")
C = TypeVar("C", int, None)

Record: TypeAlias = Row[*tuple[Any, ...]]
"""A row as a statement answers it: its values are what the column types make of them."""

_KINDS = frozenset(kind.value for kind in ErrorKind)
_STATUSES = frozenset(status.value for status in Status)
_NOTES = frozenset(note.value for note in Note)
_PRIORITIES = {priority.value: priority for priority in Priority}

_policy = msgspec.json.Decoder(Policy)
_error = msgspec.json.Decoder(ErrorInfo)
_progress = msgspec.json.Decoder(Progress)
_names = msgspec.json.Decoder(tuple[str, ...])
_counts = msgspec.json.Decoder(tuple[int, ...])
_object = msgspec.json.Decoder(Mapping[str, object])
_tags = msgspec.json.Decoder(Mapping[str, str])


def activity_values(activity: Activity[object], now: datetime) -> dict[str, object]:
    """The values with which an activity is inserted at ``now``: scheduled, or pending if it is due.

    Raises Unstorable, see ``given_values``.
    """
    ready = ready_at(activity, now)
    return {
        **given_values(activity),
        **rare_values(activity),
        "status": first_status(ready, now).value,
        "created_at": now,
        "ready_at": ready,
        "expires_at": expires_at(activity, now),
        "deadline_at": deadline_at(activity, now),
    }


def rare_values(activity: Activity[object]) -> dict[str, object]:
    """The columns that most calls leave as they are."""
    return {"step": activity.step, "generation": activity.generation}


def given_values(activity: Activity[object]) -> dict[str, object]:
    """The columns that every call gives, all but the times.

    Raises Unstorable for text that cannot be stored, see ``check_activity``.
    """
    key = activity.idempotency
    check_activity(activity)
    return {
        "id": activity.id,
        "queue": activity.queue,
        "type": activity.type,
        "priority": activity.priority.value,
        "payload": activity.payload,
        "max_retries": activity.max_retries,
        "max_crashes": activity.max_crashes,
        "timeout_ms": _milliseconds(activity.timeout),
        "policy": _policy_text(activity.policy),
        "metadata": activity.metadata,
        "tags": activity.tags,
        "source": activity.source,
        "correlation_id": activity.correlation_id,
        "user_id": activity.user_id,
        "idempotency_key": None if key is None else key.shown,
        "isolate": isolated(activity.max_crashes),
        "parent_id": activity.parent_id,
        "root_id": None if activity.root_id == activity.id else activity.root_id,
        "origin_id": None if activity.origin_id == activity.id else activity.origin_id,
        "depth": activity.depth,
    }


def attempt(row: Iterable[Any]) -> Attempt:
    """A row of ``statements.ATTEMPT``."""
    fields: dict[str, Any] = dict(zip(Attempt.__struct_fields__, row, strict=True))
    fields["policy"] = _policy_of(fields["policy"])
    return Attempt(**_shared(fields))


def by_depth(attempt: Attempt) -> tuple[int, int, datetime, UUID]:
    """The order of a claim of children."""
    return -attempt.depth, -attempt.priority, attempt.ready_at, attempt.id


def attempts(found: Iterable[Record]) -> list[Attempt]:
    """Rows of ``statements.ATTEMPT``; one that nothing could be settled for is passed over."""
    return [attempt(row) for row in found if row.id is not None and row.worker is not None]


def info(row: Record) -> ActivityInfo | None:
    """A row of ``queries.INFO``; None for one without a readable id and state."""
    *values, error_kind = map(_readable, row)
    fields: dict[str, Any] = dict(zip(ActivityInfo.__struct_fields__, values, strict=True))
    fields["status"] = status_of(fields["status"])
    if fields["id"] is None or fields["status"] is None:
        return None
    fields["error"] = error_of(fields["error"], error_kind)
    fields["progress"] = _decoded(_progress, fields["progress"])
    fields["tags"] = _decoded(_tags, fields["tags"]) or {}
    fields["metadata"] = _decoded(_object, fields["metadata"]) or {}
    return ActivityInfo(**_shared(fields))


class Inside(Struct, frozen=True):
    """What of an activity the terms of a filter look into, see ``filtering.matching.Inside``."""

    type: str
    payload: str
    error: ErrorInfo | None
    tags: Mapping[str, str]


def inside(row: Record) -> Inside:
    """A row of ``queries.inside``, read as ``info`` reads it."""
    _, type, payload, error, error_kind, tags = map(_readable, row)
    return Inside(
        type=type or "",
        payload=payload or "",
        error=None if error is None else error_of(error, error_kind),
        tags={} if tags is None else _decoded(_tags, tags) or {},
    )


def _readable(value: Any) -> Any:
    """Bytes where text should be, which another program can only store against the tables' rules,
    as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _shared(fields: dict[str, Any]) -> dict[str, Any]:
    """Make of the columns what the fields that an Attempt and an ActivityInfo share are.

    The tables refuse what is nonsense; where another program has stored it all the same, it is read
    as the nearest that makes sense, so that the activity stays visible and its neighbours go on.
    """
    fields["queue"] = fields["queue"] or ""
    fields["type"] = fields["type"] or ""
    fields["payload"] = fields["payload"] or ""
    fields["root_id"] = fields["root_id"] or fields["id"]
    fields["origin_id"] = fields["origin_id"] or fields["id"]
    fields["priority"] = _PRIORITIES.get(fields["priority"], Priority.NORMAL)
    fields["timeout"] = _seconds(fields["timeout"])
    fields["ready_at"] = fields["ready_at"] or FIRST
    fields["created_at"] = fields["created_at"] or fields["ready_at"]
    fields["isolate"] = bool(fields["isolate"])
    fields["max_retries"] = _count(fields["max_retries"], None)
    fields["max_crashes"] = _count(fields["max_crashes"], 1)
    for name in ("claim", "retry_count", "crash_count", "depth", "generation"):
        fields[name] = _count(fields[name], 0)
    return fields


def status_of(text: object) -> Status | None:
    """A state; None for what is none."""
    return Status(text) if text in _STATUSES else None


def ended(row: Record) -> Ended:
    """A row with status, result, error and error_kind, of an activity that has ended."""
    error = error_of(row.error, row.error_kind)
    return Ended(status=Status(row.status), result=row.result, error=error)


def error_of(text: str | None, kind: str | None = None) -> ErrorInfo | None:
    """A recorded failure; what another program wrote there that is none becomes its message."""
    if text is None:
        return None
    known = ErrorKind(kind) if kind in _KINDS else ErrorKind.ERROR
    return _decoded(_error, text) or ErrorInfo(type="Unknown", message=text, kind=known)


def error_text(error: ErrorInfo | None) -> str | None:
    """A failure as it is stored."""
    return None if error is None else msgspec.json.encode(error).decode()


def progress_text(progress: Progress) -> str:
    """Progress as it is stored."""
    return msgspec.json.encode(progress).decode()


def event_values(
    activity: UUID,
    kind: Note,
    at: datetime,
    *,
    attempt: int | None,
    claim: int,
    worker: UUID | None,
    detail: Mapping[str, object],
) -> dict[str, object]:
    """The values with which an event row is inserted."""
    return {
        "activity_id": activity,
        "at": at,
        "kind": kind.value,
        "attempt": attempt,
        "claim": claim,
        "worker": worker,
        "detail": detail_text(detail),
    }


def detail_text(detail: Mapping[str, object]) -> str | None:
    """An event's detail as it is stored."""
    return msgspec.json.encode(detail).decode() if detail else None


def event(row: Record) -> EventRow | None:
    """An event row; None for a kind that this version does not know, or at no readable time."""
    if row.kind not in _NOTES or row.at is None:
        return None
    return EventRow(
        at=row.at,
        kind=Note(row.kind),
        claim=row.claim,
        attempt=row.attempt,
        worker=row.worker,
        detail=_decoded(_object, row.detail) or {},
    )


def worker_values(worker: WorkerInfo, *, seen_at: datetime, beat: int) -> dict[str, object]:
    """A worker's row."""
    return {
        **{name: getattr(worker, name) for name in worker.__struct_fields__},
        "queues": _array(worker.queues),
        "types": _array(worker.types),
        "seen_at": seen_at,
        "beat": beat,
    }


def worker(row: Record) -> WorkerInfo:
    """A row of taskq_workers."""
    fields = {name: getattr(row, name) for name in WorkerInfo.__struct_fields__}
    fields["queues"] = _decoded(_names, row.queues) or ()
    fields["types"] = _decoded(_names, row.types) or ()
    fields["seen_at"] = row.seen_at or FIRST
    fields["started_at"] = row.started_at or FIRST
    return WorkerInfo(**fields)


def bucket_key(bucket: Bucket) -> dict[str, object]:
    """Which row of taskq_rollup a bucket belongs to."""
    return {
        "span": bucket.span,
        "minute": bucket.minute,
        "queue": bucket.queue,
        "type": bucket.type,
        "outcome": bucket.outcome,
    }


def bucket_values(bucket: Bucket, row: Iterable[Any] | None) -> dict[str, object]:
    """The row for a bucket, added to what ``row`` (count, waits, runs) has so far."""
    count, waits, runs = (0, None, None) if row is None else row
    return {
        **bucket_key(bucket),
        "count": min(count + bucket.count, BIG_INTEGER),
        "waits": _array(_sum(bucket.waits, _decoded(_counts, waits))),
        "runs": _array(_sum(bucket.runs, _decoded(_counts, runs))),
    }


def bucket(row: Record) -> Bucket:
    """A row of taskq_rollup."""
    span, minute, queue, type, outcome, count, waits, runs = row
    return Bucket(
        span=span,
        minute=minute,
        queue=queue,
        type=type,
        outcome=outcome,
        count=count,
        waits=_decoded(_counts, waits) or (),
        runs=_decoded(_counts, runs) or (),
    )


def _policy_text(policy: Policy) -> str | None:
    if policy is DEFAULT_POLICY or policy == DEFAULT_POLICY:
        return None
    return msgspec.json.encode(policy).decode()


def _policy_of(text: str | None) -> Policy:
    return _decoded(_policy, text) or DEFAULT_POLICY


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000))


def _seconds(milliseconds: object) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) else None


def _count(value: object, otherwise: C) -> int | C:
    return value if isinstance(value, int) else otherwise


def _array(items: Sequence[object]) -> str:
    return msgspec.json.encode(items).decode()


def _sum(counts: tuple[int, ...], before: tuple[int, ...] | None) -> tuple[int, ...]:
    """Histograms of another length were written by another version: they are not mixed."""
    if before is None or len(before) != len(counts):
        return counts
    return tuple(map(int.__add__, counts, before))


def _decoded(decoder: msgspec.json.Decoder[T], text: str | None) -> T | None:
    """None for NULL, and for text that is not what it should be."""
    if text is None:
        return None
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, ConfigurationError, RecursionError):
        return None
