"""Checks, not times: among a million rows no hot statement reads more than it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from uuid import UUID

from msgspec import Struct

from benchmarks.filling import NOOP, QUEUE, TYPES
from benchmarks.ground import Ground
from benchmarks.row import AtMost, Row
from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres import claiming as postgres_claiming
from taskq.backends.sql.postgres import statements
from taskq.backends.sql.postgres import writer as postgres_writer
from taskq.backends.sql.postgres.connections import Connections
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, decide
from taskq.testing.conformance.samples import beat
from taskq.testing.conformance.samples import worker as worker_info
from tests.postgres_plans import Verb, faults, nodes_of

LIMIT = 100
SLACK = 40
"""Rows that a step may read beyond those that it asks for."""
_READY, _BY_TYPE, _ID = "activities_ready", "activities_ready_by_type", "activities_pkey"


class Check(Struct, frozen=True):
    """A verb, the indexes that serve it, and how many rows a step of it may read."""

    name: str
    verb: Verb
    indexes: set[str]
    rows: int


def rows(ground: Ground) -> Iterator[Row]:
    """For each hot statement what is wrong with its plan: nothing, else the command fails."""
    ground.refill(ground.beside, 10 * LIMIT)
    checks = [(ground.beside, check) for check in asyncio.run(_beside(ground.beside))]
    checks += [(ground.many_types, check) for check in _among_types()]
    for url, check in checks:
        nodes = asyncio.run(nodes_of(url, check.verb))
        wrong = faults(nodes, indexes=check.indexes, rows=check.rows + SLACK)
        most = max(node.read for node in nodes)
        buffers = max(node.buffers for node in nodes)
        said = "; ".join(wrong) or f"{most} rows, {buffers} buffers at most in a step"
        yield Row(
            scenario="plans",
            what=f"{check.name}: {said}",
            unit="faults",
            values=(float(len(wrong)),),
            target=AtMost(0.0),
        )


async def _beside(url: str) -> Sequence[Check]:
    """With future and finished rows beside: every verb of a worker."""
    backend = PostgresBackend(url)
    await backend.open()
    holder = new_id()
    attempts = await backend.claim(_request((NOOP,), holder=holder))
    await backend.close()
    transitions = [decide(attempt, Succeeded("1")) for attempt in attempts]
    message = beat(worker_info(holder), *(attempt.lease for attempt in attempts))
    return [
        Check("claim beside a backlog", _claiming((NOOP,)), {_BY_TYPE, _ID}, 2 * LIMIT),
        Check(
            "settle beside a backlog",
            lambda connections: postgres_writer.settle(connections, transitions, ()),
            {_ID},
            LIMIT,
        ),
        Check(
            "heartbeat beside a backlog",
            lambda connections: postgres_writer.heartbeat(connections, message),
            {_ID},
            LIMIT,
        ),
        Check(
            "promote beside a backlog",
            lambda connections: postgres_writer.promote(connections, 1000),
            {"activities_due", _ID},
            1,
        ),
        Check("expired beside a backlog", _expired, {"activities_held"}, LIMIT),
    ]


def _among_types() -> Sequence[Check]:
    """With as many ready rows of 200 types: every shape of a claim."""
    return [
        Check("claim of every type", _claiming(None), {_READY, _ID}, LIMIT),
        Check("claim of all 200 types", _claiming(TYPES), {_READY, _ID}, 7 * LIMIT),
        Check("claim of ten types", _claiming(TYPES[::20]), {_BY_TYPE, _ID}, 2 * LIMIT),
        Check("claim of the rare type", _claiming(TYPES[:1]), {_BY_TYPE, _ID}, 2 * LIMIT),
    ]


def _claiming(types: tuple[str, ...] | None) -> Verb:
    return lambda connections: postgres_claiming.claim(connections, _request(types))


def _request(types: tuple[str, ...] | None, *, holder: UUID | None = None) -> ClaimRequest:
    worker = holder or new_id()
    return ClaimRequest(worker=worker, queues=(QUEUE,), types=types, limit=LIMIT, lease=30.0)


async def _expired(connections: Connections) -> object:
    return await connections.fetch(statements.expired(), {"limit": LIMIT})
