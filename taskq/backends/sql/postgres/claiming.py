"""Claims on PostgreSQL: one statement, or a look before it where a worker serves much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import Executable

from taskq.aging import place
from taskq.backends import ClaimRequest
from taskq.backends.sql import children, rows
from taskq.backends.sql.postgres import aging, driver, statements
from taskq.backends.sql.postgres.connections import Connections
from taskq.backends.sql.postgres.failures import BROKEN_RULE, sqlstate
from taskq.backends.sql.statements import (
    MERGED,
    Place,
    claim_shape,
    place_values,
    waiting_types,
)
from taskq.model import Attempt

FEW = 16
"""So many places are looked at without asking first in which of them anything waits."""
SPARE = 16
"""So many rows more than it takes are seen by a claim in which waiting counts."""
WIDER = 4
"""How often a claim looks, each time further, where others have taken what it saw."""


async def claim(connections: Connections, request: ClaimRequest) -> list[Attempt]:
    """See ``Backend.claim``. Rows that a rule of the table keeps from being written are passed by:
    somebody has made that rule anew, NOT VALID, over what breaks it."""
    try:
        return await _claim(connections, request, lawful=False)
    except driver.PostgresError as error:
        if sqlstate(error) != BROKEN_RULE:
            raise
    return await _claim(connections, request, lawful=True)


async def _claim(connections: Connections, request: ClaimRequest, *, lawful: bool) -> list[Attempt]:
    queues = tuple(dict.fromkeys(request.queues))
    types = None if request.types is None else tuple(dict.fromkeys(request.types))
    if types is None and request.without:
        types = await _waiting_without(connections, queues, request.without)
    if not queues or types == ():
        return []
    if request.children:
        return await _claim_children(connections, request, queues, types, lawful=lawful)
    if request.aging is not None and not lawful:
        found = await _claim_risen(connections, request, request.aging, queues, types)
        if found:
            return sorted(found, key=lambda each: place(each, request.aging or 0.0))
    if types is None:
        places = [Place(queue) for queue in queues]
        found = await _claim_at(connections, request, places, lawful=lawful)
    elif len(queues) * len(types) <= MERGED:
        places = [Place(queue, type) for queue in queues for type in types]
        found = await _claim_at(connections, request, places, lawful=lawful)
    else:
        found = await _claim_served(connections, request, queues, types, lawful=lawful)
    return sorted(found, key=lambda each: (-each.priority, each.ready_at, each.id))


async def _claim_risen(
    connections: Connections,
    request: ClaimRequest,
    seconds: float,
    queues: Sequence[str],
    types: Sequence[str] | None,
) -> list[Attempt]:
    """By the priority that activities have risen to, where some wait. Others may hold all that it
    sees."""
    places = await _waiting_places(connections, queues, types)
    if not places:
        return []
    values = {
        **_claimer(request),
        "queues": [each.queue for each in places],
        "types": [each.type for each in places],
        "window": request.limit + SPARE,
        "aging": seconds,
    }
    return await _attempts(connections, aging.claim(typed=types is not None), values)


async def _waiting_places(
    connections: Connections, queues: Sequence[str], types: Sequence[str] | None
) -> list[Place]:
    """Where something waits for a worker of these types."""
    if types is None:
        return [Place(queue) for queue in queues]
    if len(queues) * len(types) <= FEW:
        return [Place(queue, type) for queue in queues for type in types]
    places: list[Place] = []
    for queue in queues:
        waiting = {row[0] for row in await connections.fetch(waiting_types(), {"queue": queue})}
        places += (Place(queue, type) for type in sorted(waiting.intersection(types)))
    return places


async def _waiting_without(
    connections: Connections, queues: Sequence[str], without: Sequence[str]
) -> tuple[str, ...]:
    """The types that wait in these queues, but for some."""
    waiting: set[str] = set()
    for queue in queues:
        waiting.update(row[0] for row in await connections.fetch(waiting_types(), {"queue": queue}))
    return tuple(sorted(waiting.difference(without)))


async def _claim_children(
    connections: Connections,
    request: ClaimRequest,
    queues: Sequence[str],
    types: Sequence[str] | None,
    *,
    lawful: bool,
) -> list[Attempt]:
    count, typed = len(queues), types is not None
    values = {**place_values([Place(queue) for queue in queues]), "types": types}
    found = await _widening(
        connections,
        request,
        children.on_postgres(count, typed=typed, lawful=lawful),
        children.any_on_postgres(count, typed=typed) if count > 1 else None,
        values,
    )
    return sorted(found, key=rows.by_depth)


async def _claim_at(
    connections: Connections, request: ClaimRequest, places: Sequence[Place], *, lawful: bool
) -> list[Attempt]:
    """From these places."""
    if not places:
        return []
    shape = claim_shape(places)
    look = statements.any_candidate(shape) if len(places) > 1 else None
    statement = statements.claim(shape, lawful=lawful)
    return await _widening(connections, request, statement, look, place_values(places))


async def _widening(
    connections: Connections,
    request: ClaimRequest,
    statement: Executable,
    look: Executable | None,
    places: Mapping[str, object],
) -> list[Attempt]:
    """Claim. Where others hold what was seen, and ``look`` finds some, see further before giving
    up; None: the statement has no window."""
    values = {**_claimer(request), **places}
    window = 2 * request.limit
    for _ in range(WIDER):
        found = await _attempts(connections, statement, {**values, "window": window})
        if found or look is None:
            return found
        if not await connections.fetch(look, {**values, "window": 1}):
            return []
        window *= 8
    return []


async def _claim_served(
    connections: Connections,
    request: ClaimRequest,
    queues: Sequence[str],
    types: Sequence[str],
    *,
    lawful: bool,
) -> list[Attempt]:
    """For a worker of many types: most of what is first in its queues will be for it.

    Where nothing is, from the places where something for it waits.
    """
    values = {
        **_claimer(request),
        **place_values([Place(queue) for queue in queues]),
        "window": 4 * request.limit + 100,
        "served": 2 * request.limit,
        "types": types,
    }
    statement = statements.claim_served(len(queues), lawful=lawful)
    found = await _attempts(connections, statement, values)
    if found:
        return found
    places = await _waiting_places(connections, queues, types)
    return await _claim_at(connections, request, places, lawful=lawful)


async def claim_overdue(
    connections: Connections, worker: UUID, limit: int, lease: float
) -> list[Attempt]:
    """See ``Backend.claim_overdue``. As for a claim, what must not be written is passed by."""
    values = {"holder": worker, "limit": limit, "lease": lease}
    try:
        found = await _attempts(connections, statements.claim_overdue(), values)
    except driver.PostgresError as error:
        if sqlstate(error) != BROKEN_RULE:
            raise
        found = await _attempts(connections, statements.claim_overdue(lawful=True), values)
    return sorted(found, key=lambda each: each.id)


async def _attempts(
    connections: Connections, statement: Executable, values: Mapping[str, object]
) -> list[Attempt]:
    found = await connections.fetch(statement, values, repeatable=False)
    return [rows.attempt(row) for row in found]


def _claimer(request: ClaimRequest) -> dict[str, object]:
    return {
        "holder": request.worker,
        "lease": request.lease,
        "limit": request.limit,
        "alone": request.alone,
    }
