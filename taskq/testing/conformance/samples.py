"""What the tests are made of: calls, errors, heartbeats."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from uuid import UUID

from msgspec.structs import replace

from taskq.backends import Heartbeat
from taskq.idempotency import key_hash, step_digest, step_hash
from taskq.identifiers import new_id
from taskq.model import (
    Activity,
    Attempt,
    ErrorInfo,
    ErrorKind,
    Idempotency,
    Lease,
    OnDuplicate,
)
from taskq.snapshot import HISTOGRAM_BOUNDS, Bucket, WorkerInfo

DAY = 86_400.0
"""Seconds."""


def call(type: str = "work", /, **changes: object) -> Activity[object]:
    """A root in queue ``default`` with no arguments; ``changes`` replace fields of it."""
    id = new_id()
    activity = Activity[object](
        id=id, type=type, queue="default", payload="{}", root_id=id, origin_id=id
    )
    return replace(activity, **changes)


def keyed(
    key: str = "order-42",
    on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING,
    *,
    type: str = "work",
    check_arguments: bool = True,
    unique_for: float | None = None,
    **changes: object,
) -> Activity[object]:
    """A call with an idempotency key, hashed and digested as call-sites do."""
    activity = call(type, **changes)
    idempotency = Idempotency(
        key=key,
        hash=key_hash(activity.queue, activity.type, key),
        digest=hashlib.sha256(activity.payload.encode()).digest(),
        on_duplicate=on_duplicate,
        check_arguments=check_arguments,
        unique_for=unique_for,
    )
    return replace(activity, idempotency=idempotency)


def step(
    of: Attempt, name: str = "charge", /, type: str = "work", **changes: object
) -> Activity[object]:
    """A child of a running parent, made as a step of it."""
    activity = child(of, type, step=name, **changes)
    idempotency = Idempotency(
        key=name,
        hash=step_hash(of.id, name),
        digest=step_digest(type, activity.payload),
        on_duplicate=OnDuplicate.ALLOW_REUSE_ON_FAILURE,
        step_of=of.id,
        renew_before=of.ready_at,
    )
    return replace(activity, idempotency=idempotency)


def child(of: Attempt, type: str = "work", /, **changes: object) -> Activity[object]:
    """A child of a running parent."""
    return call(
        type,
        **{
            "parent_id": of.id,
            "root_id": of.root_id,
            "origin_id": of.origin_id,
            "depth": of.depth + 1,
            **changes,
        },
    )


def error(
    message: str = "boom", *, kind: ErrorKind = ErrorKind.ERROR, attempts: int = 1
) -> ErrorInfo:
    """A recorded failure."""
    return ErrorInfo(type="ValueError", message=message, kind=kind, attempts=attempts)


def worker(id: UUID | None = None, **changes: object) -> WorkerInfo:
    """A worker of queue ``default`` and every type, with 10 slots."""
    info = WorkerInfo(
        id=id or new_id(),
        name="worker-1",
        host="host-1",
        pid=4711,
        queues=("default",),
        types=(),
        concurrency=10,
        slots_used=0,
        threads_stuck=0,
        state="running",
        version="1.0",
        async_backend="asyncio",
        started_at=datetime(2029, 12, 31, tzinfo=UTC),
        seen_at=datetime(2029, 12, 31, tzinfo=UTC),
    )
    return replace(info, **changes)


def beat(
    of: WorkerInfo,
    *leases: Lease,
    number: int = 1,
    lease: float = 30.0,
    buckets: tuple[Bucket, ...] = (),
) -> Heartbeat:
    """A heartbeat of this worker that renews these leases."""
    return Heartbeat(worker=of, leases=leases, lease=lease, number=number, buckets=buckets)


MINUTE = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
"""A minute of the rollup."""


def bucket(minute: datetime = MINUTE, **changes: object) -> Bucket:
    """Three activities of type ``work`` that completed in this minute."""
    spread = (3,) + (0,) * len(HISTOGRAM_BOUNDS)
    counts = Bucket(
        minute=minute,
        queue="default",
        type="work",
        outcome="completed",
        count=3,
        waits=spread,
        runs=spread,
    )
    return replace(counts, **changes)
