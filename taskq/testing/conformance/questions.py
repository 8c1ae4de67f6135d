"""What the state machine asks of every store, to compare the answers."""

from __future__ import annotations

from uuid import UUID

from taskq.backends import Store
from taskq.model import Ended, Status
from taskq.snapshot import Cause, Filter, TimelineEntry


async def timeline(store: Store, *, id: UUID) -> list[TimelineEntry]:
    """What happened to one."""
    return await store.timeline(id)


async def dead_letters(store: Store) -> list[Cause]:
    """What has failed, by cause."""
    return await store.dead_letters(Filter())


async def held(store: Store, *, holder: UUID) -> list[tuple[UUID, int]]:
    """What a worker holds, in order of ids."""
    return sorted((lease.id, lease.claim) for lease in await store.held(holder))


async def counts(store: Store) -> dict[Status, int]:
    """How many there are by state."""
    return dict((await store.stats()).by_status)


async def outcomes(store: Store, *, ids: list[UUID]) -> dict[UUID, Ended | None]:
    """How these have ended."""
    return dict(await store.outcomes(ids))
