"""The protocol of readers: the CLI, the console, ``fut.info()``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID

from taskq.audit import AuditEntry
from taskq.backends.queueing import QueueReader
from taskq.backends.scheduling import ScheduleReader
from taskq.search import Count, Cursor, Order, SearchSlice
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


class Inspector(QueueReader, ScheduleReader, Protocol):
    """All that readers need. Nothing here writes."""

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

    async def series(self, since: datetime, until: datetime, *, span: int = 60) -> list[Bucket]:
        """The rollup's buckets of ``span`` seconds (60 or 600) that begin in [since, until), oldest
        first."""
        ...

    async def audit(
        self,
        *,
        limit: int = 50,
        before: int | None = None,
        command_ids: Collection[UUID] | None = None,
    ) -> list[AuditEntry]:
        """What operators did, newest first: up to ``limit`` entries whose number is below
        ``before``, and with ``command_ids`` only those of these commands."""
        ...

    async def dead_letters(
        self, filter: Filter, *, limit: int = 100, cap: int = 10_000
    ) -> list[Cause]:
        """What those that match and ended dead_letter or failed have failed of, by their
        ``fingerprint``: the causes with the most of them first, then by time, newest first; up to
        ``limit``. Each is counted up to ``cap``. What another program has ended has no cause, and
        is not among them."""
        ...

    async def search(
        self,
        filter: Filter,
        *,
        order: Order = Order.NEWEST,
        limit: int = 50,
        after: Cursor | None = None,
        seconds: float = 0.1,
    ) -> SearchSlice:
        """Activities that match, in this order, from ``after`` on; up to ``limit`` (1–1000).

        It looks at a bounded number of rows at a time, and at no more once about ``seconds`` have
        passed (0: only once): then there may be fewer items than match, and ``next`` goes on. What
        an index gives is found at once. Raises ConfigurationError for an order that nothing serves,
        and for a cursor of another one, see ``search.check_search``.
        """
        ...

    async def count(self, filter: Filter, *, cap: int = 10_000, seconds: float = 0.2) -> Count:
        """How many activities match, counted up to ``cap`` and for about ``seconds``, the newest
        first."""
        ...

    async def list(self, filter: Filter, page: Page) -> ActivityPage:
        """Activities that match, newest first, one page."""
        ...
