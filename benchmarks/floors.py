"""The least that the same work costs: its SQL on asyncpg alone, without taskq around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import asyncpg
from sqlalchemy.dialects.postgresql import dialect

from benchmarks.filling import NOOP, QUEUE
from taskq.backends.sql import rows
from taskq.backends.sql.postgres import statements, storing
from taskq.backends.sql.postgres.prepared import prepared
from taskq.backends.sql.statements import Place, claim_shape, place_values
from taskq.engine.claiming.dispatcher import MOST
from taskq.engine.recording.settling import BATCH
from taskq.model import Activity

_PLACE = [Place(QUEUE, NOOP)]
_CLAIM = prepared(statements.claim(claim_shape(_PLACE)), None)
_SETTLE = prepared(statements.settle(), None)
_OUTCOMES = prepared(statements.outcomes(), None)
_SUBMIT = prepared(storing.submit(), None)
CHANNEL, DONE = "floor:ready", "floor:done"


def columns_of(activities: Sequence[Activity[object]]) -> dict[str, list[object]]:
    """What their callers give, as arrays."""
    values = [rows.given_values(activity) for activity in activities]
    columns = {name: [each[name] for each in values] for name in storing.GIVEN}
    nothing: list[object] = [None] * len(values)
    return {**columns, "run_at": nothing, "delay": nothing}


async def connect(url: str) -> Any:
    """A connection as the backend makes them."""
    return await asyncpg.connect(url, max_cacheable_statement_size=0)


def drained(url: str) -> float:
    """Claim and settle all that is ready, in batches as large as the engine's; activities per
    second."""

    async def run() -> float:
        connection = await connect(url)
        holder = uuid4()
        count, began = 0, time.perf_counter()
        while found := await claimed(connection, holder, MOST):
            for start in range(0, len(found), BATCH):
                await settled(connection, holder, found[start : start + BATCH])
            count += len(found)
        seconds = time.perf_counter() - began
        await connection.close()
        return count / seconds

    return asyncio.run(run())


async def claimed(connection: Any, holder: Any, limit: int) -> list[Any]:
    """One claim."""
    values = {"holder": holder, "lease": 30.0, "limit": limit, "alone": False, "window": 2 * limit}
    values |= place_values(_PLACE)
    found: list[Any] = await connection.fetch(_CLAIM.sql, *_CLAIM.values(values))
    return found


async def settled(
    connection: Any, holder: Any, found: Sequence[Any], channels: Sequence[str] = ()
) -> None:
    """Record what was claimed as completed."""
    count = len(found)
    columns: dict[str, list[object]] = {name: [None] * count for name in statements.OUTCOME}
    columns |= {
        "id": [row["id"] for row in found],
        "worker": [holder] * count,
        "claim": [row["claim"] for row in found],
        "status": ["completed"] * count,
        "retry_count": [0] * count,
        "crash_count": [0] * count,
        "isolate": [False] * count,
        "result": ["null"] * count,
        "only_if_expired": [False] * count,
        "attempt": [1] * count,
    }
    told = {"channels": channels, "payloads": [""] * len(channels)}
    await connection.fetch(_SETTLE.sql, *_SETTLE.values({**columns, **told}))


def inserted(url: str, activities: Sequence[Activity[object]]) -> float:
    """One insert of all these rows from arrays, made beforehand; rows per second."""
    columns = columns_of(activities)
    names = [name for name in storing.GIVEN if name != "id"]
    spread = ", ".join(
        f"${place}::{kind.compile(dialect=dialect())}[]"
        for place, kind in enumerate((storing.GIVEN[name] for name in ["id", *names]), 1)
    )
    sql = f"INSERT INTO taskq_activities (id, {', '.join(names)}) SELECT * FROM unnest({spread})"

    async def run() -> float:
        connection = await connect(url)
        began = time.perf_counter()
        await connection.fetch(sql, *(columns[name] for name in ["id", *names]))
        seconds = time.perf_counter() - began
        await connection.close()
        return len(activities) / seconds

    return asyncio.run(run())


def inserted_singly(url: str, activities: Sequence[Activity[object]]) -> float:
    """The same rows one by one, each committed; milliseconds for one."""
    columns = columns_of(activities)
    names = [*storing.GIVEN]
    places = ", ".join(f"${place}" for place in range(1, len(names) + 1))
    sql = f"INSERT INTO taskq_activities ({', '.join(names)}) VALUES ({places})"
    lines = list(zip(*(columns[name] for name in names), strict=True))

    async def run() -> float:
        connection = await connect(url)
        await connection.fetch(sql, *lines[0])
        began = time.perf_counter()
        for line in lines[1:]:
            await connection.fetch(sql, *line)
        seconds = time.perf_counter() - began
        await connection.close()
        return seconds / (len(lines) - 1) * 1000

    return asyncio.run(run())


class Relay:
    """Insert with a NOTIFY on one connection; another one hears it, then a third claims and settles
    with a NOTIFY; when that is heard, the first reads the outcome."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self) -> None:
        """Connect and listen."""
        self._caller, self._ears, self._worker = [await connect(self._url) for _ in range(3)]
        self._ready, self._done = asyncio.Event(), asyncio.Event()
        await self._ears.add_listener(CHANNEL, lambda *_: self._ready.set())
        await self._caller.add_listener(DONE, lambda *_: self._done.set())

    async def once(self, activity: Activity[object]) -> tuple[float, float]:
        """Milliseconds until it was claimed, and until its outcome was read."""
        holder = uuid4()
        values = {**columns_of([activity]), "lock_timeout": "3000ms"}
        values |= {"channels": [CHANNEL], "payloads": [""]}
        self._ready.clear()
        self._done.clear()
        began = time.perf_counter()
        work = asyncio.create_task(self._work(holder))
        await self._caller.fetch(_SUBMIT.sql, *_SUBMIT.values(values))
        await self._done.wait()
        await self._caller.fetch(_OUTCOMES.sql, [activity.id])
        ended = time.perf_counter()
        claimed = await work
        return (claimed - began) * 1000, (ended - began) * 1000

    async def _work(self, holder: Any) -> float:
        await self._ready.wait()
        found = await claimed(self._worker, holder, 10)
        at = time.perf_counter()
        await settled(self._worker, holder, found, [DONE])
        return at

    async def close(self) -> None:
        """Part."""
        for connection in (self._caller, self._ears, self._worker):
            await connection.close()
