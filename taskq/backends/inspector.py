"""The protocol of readers: the CLI, the console, ``fut.info()``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID

from taskq.audit import AuditEntry
from taskq.snapshot import (
    ActivityInfo,
    ActivityPage,
    Bucket,
    Cause,
    Filter,
    Page,
    Stats,
    TimelineEntry,
    Tree,
    UnservedType,
    WorkerInfo,
)


class Inspector(Protocol):
    """What readers need. Nothing here writes."""

    async def stats(self, queues: Collection[str] = (), *, cap: int = 100_000) -> Stats:
        """Counts, see ``Stats``. ``queues`` empty means all."""
        ...

    async def get(self, ids: Collection[UUID]) -> Mapping[UUID, ActivityInfo]:
        """Snapshots; unknown ids are absent."""
        ...

    async def timeline(self, id: UUID) -> list[TimelineEntry]:
        """What happened to an activity, oldest first; empty for an unknown id. The entries are
        those of ``taskq.backends.timeline.entries``."""
        ...

    async def tree(self, id: UUID, *, limit: int = 1000) -> Tree:
        """The tree that an activity belongs to, made by ``tree.grown``: of those that have its
        root_id, the ``limit`` oldest, and the activity itself. Below a root that was deleted, asked
        for by its id, what is left. No nodes for an unknown id."""
        ...

    async def workers(self, *, alive_within: float = 60.0) -> list[WorkerInfo]:
        """Workers whose latest heartbeat is at most ``alive_within`` seconds old, newest first."""
        ...

    async def unserved(self, *, alive_within: float = 60.0) -> list[UnservedType]:
        """Queues and types with activities waiting, due or not yet (pending, scheduled, retrying),
        that no live worker serves; in order of queue and type."""
        ...

    async def series(self, since: datetime, until: datetime) -> list[Bucket]:
        """The rollup's minutes in [since, until), oldest first."""
        ...

    async def audit(self, *, limit: int = 50, before: int | None = None) -> list[AuditEntry]:
        """What operators did, newest first: up to ``limit`` entries whose number is below
        ``before``."""
        ...

    async def dead_letters(
        self, filter: Filter, *, limit: int = 100, cap: int = 10_000
    ) -> list[Cause]:
        """What those that match and ended dead_letter or failed have failed of, by their
        ``fingerprint``: the causes with the most of them first, then by time, newest first; up to
        ``limit``. Each is counted up to ``cap``. What another program has ended has no cause, and
        is not among them."""
        ...

    async def list(self, filter: Filter, page: Page) -> ActivityPage:
        """Activities that match, newest first, one page."""
        ...
