"""Whether what lies beside the work slows it: rows of other kinds, other types, an old snapshot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from statistics import median

from benchmarks.drain import drained
from benchmarks.filling import NOOP, QUEUE, TYPES
from benchmarks.floors import connect
from benchmarks.ground import Ground
from benchmarks.rounds import alternating
from benchmarks.row import AtLeast, AtMost, Row
from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend
from taskq.identifiers import new_id

LIMITS = (10, 100)
CLAIM = AtMost(2.0)


def big(ground: Ground) -> Iterator[Row]:
    """A drain with many future and many finished rows beside it, and claims there."""
    scale, url = ground.scale, ground.fresh()
    beside, alone = alternating(
        scale.rounds,
        partial(_filled_and_drained, ground, ground.beside),
        partial(_filled_and_drained, ground, url),
    )
    what = f"{scale.big} future and {scale.big} finished rows beside"
    yield Row(
        scenario="big",
        what=f"drain of {scale.drain}, {what}",
        unit="/s",
        values=beside,
        floors=alone,
        floor_is="the same in an empty table",
        target=AtLeast(0.9),
    )
    ground.refill(ground.beside, sum(LIMITS) * (scale.claims + 2))
    for limit in LIMITS:
        times = asyncio.run(_claim_times(ground.beside, (NOOP,), limit, scale.claims))
        yield _claims("big", f"claim of {limit}, {what}", times)


def types(ground: Ground) -> Iterator[Row]:
    """Claims among 200 types: by a worker of all of them, by one of a type that is rare."""
    scale = ground.scale
    for of, names in (("all 200 types", TYPES), ("one type of 200", TYPES[:1])):
        for limit in LIMITS:
            times = asyncio.run(_claim_times(ground.many_types, names, limit, scale.claims))
            what = f"claim of {limit}, {of}, {scale.big} others ready"
            yield _claims("types", what, times)


def snapshot(ground: Ground) -> Iterator[Row]:
    """A drain while somebody keeps an old snapshot open, after a while of work beside it."""
    scale, url, other = ground.scale, ground.fresh(), ground.fresh()

    async def hold() -> tuple[tuple[float, ...], tuple[float, ...]]:
        connection = await connect(url)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.fetch("SELECT count(*) FROM taskq_activities")
            end = time.monotonic() + scale.age
            while time.monotonic() < end:
                await asyncio.to_thread(_filled_and_drained, ground, url)
                await asyncio.sleep(min(scale.age / 10, 5.0))
            held, plain = await asyncio.to_thread(
                alternating,
                scale.rounds,
                partial(_filled_and_drained, ground, url),
                partial(_filled_and_drained, ground, other),
            )
        await connection.close()
        return held, plain

    ground.refill(url, 1)
    held, plain = asyncio.run(hold())
    yield Row(
        scenario="snapshot",
        what=f"drain of {scale.drain}, a snapshot of {scale.age:g} s open",
        unit="/s",
        values=held,
        floors=plain,
        floor_is="the same without",
        target=AtLeast(0.5),
    )


def _filled_and_drained(ground: Ground, url: str) -> float:
    ground.refill(url, ground.scale.drain)
    return ground.scale.drain / drained(url)


async def _claim_times(url: str, names: tuple[str, ...], limit: int, count: int) -> list[float]:
    """Milliseconds of claims one after the other; each gets what it asks for."""
    backend = PostgresBackend(url)
    await backend.open()
    request = ClaimRequest(worker=new_id(), queues=(QUEUE,), types=names, limit=limit, lease=30.0)
    times: list[float] = []
    for _ in range(count + 1):
        began = time.perf_counter()
        found = await backend.claim(request)
        times.append((time.perf_counter() - began) * 1000)
        if len(found) != limit:
            raise RuntimeError(f"a claim of {limit} got {len(found)}: too few were there")
    await backend.close()
    return times[1:]


def _claims(scenario: str, what: str, times: list[float]) -> Row:
    size = max(1, len(times) // 5)
    parts = [times[start : start + size] for start in range(0, len(times), size)]
    values = tuple(median(part) for part in parts)
    return Row(scenario=scenario, what=what, unit="ms", values=values, target=CLAIM)
