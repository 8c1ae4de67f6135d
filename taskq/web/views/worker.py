"""Workers that are alive."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from taskq.snapshot import WorkerInfo


class WorkerView(Struct, frozen=True, kw_only=True):
    """A running worker. ``types`` empty: every type. ``suspended`` attempts wait for others,
    ``threads_stuck`` outlived their timeout and still hold a slot. ``seen_at`` is its latest
    heartbeat."""

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

    @classmethod
    def of(cls, worker: WorkerInfo) -> WorkerView:
        """As it reported itself."""
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
        )
