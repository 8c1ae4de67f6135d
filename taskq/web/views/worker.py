"""Workers: those that are alive, and those that were lost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from taskq.snapshot import ActivityInfo, WorkerInfo
from taskq.web.views.activity import ProgressView
from taskq.web.views.veil import Veil


class RunningView(Struct, frozen=True, kw_only=True):
    """An activity that a worker holds. ``started_at`` is when this attempt began; another worker
    may take it after ``lease_until``."""

    id: UUID
    type: str
    started_at: datetime | None
    lease_until: datetime | None
    attempt: int
    progress: ProgressView | None

    @classmethod
    def of(cls, info: ActivityInfo, veil: Veil) -> RunningView:
        """Without what it was given."""
        return cls(
            id=info.id,
            type=info.type,
            started_at=info.started_at,
            lease_until=info.lease_until,
            attempt=info.attempts,
            progress=ProgressView.of(info.progress, veil),
        )


class WorkerView(Struct, frozen=True, kw_only=True):
    """A worker. ``types`` empty: every type. ``suspended`` attempts wait for others,
    ``threads_stuck`` outlived their timeout and still hold a slot. ``seen_at`` is its latest
    heartbeat; ``lost``: that is more than a minute ago, and it did not say that it would end.
    ``running`` is what it holds, the longest first, up to 20."""

    id: UUID
    name: str
    host: str
    pid: int
    queues: tuple[str, ...]
    types: tuple[str, ...]
    concurrency: int
    slots_used: int
    suspended: int
    threads_stuck: int
    state: str
    version: str
    async_backend: str
    started_at: datetime
    seen_at: datetime
    lost: bool
    running: list[RunningView]

    @classmethod
    def of(
        cls, worker: WorkerInfo, running: Iterable[ActivityInfo], veil: Veil, *, lost: bool
    ) -> WorkerView:
        """As it reported itself, with what the store says that it holds."""
        return cls(
            id=worker.id,
            name=worker.name,
            host=worker.host,
            pid=worker.pid,
            queues=worker.queues,
            types=worker.types,
            concurrency=worker.concurrency,
            slots_used=worker.slots_used,
            suspended=worker.suspended,
            threads_stuck=worker.threads_stuck,
            state=worker.state,
            version=worker.version,
            async_backend=worker.async_backend,
            started_at=worker.started_at,
            seen_at=worker.seen_at,
            lost=lost,
            running=[RunningView.of(info, veil) for info in running],
        )
