"""Several workers on one queue, several clients with one key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID

import anyio
import pytest

from tests.chaos.arena import Arena

pytestmark = pytest.mark.chaos

RACE = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from app import quick

task = quick.options(idempotency_key="order-42")
with ThreadPoolExecutor(5) as pool:
    print(json.dumps([future.id.hex for future in pool.map(lambda _: task.delay(), range(5))]))
"""


def test_three_workers_run_two_hundred_activities_exactly_once(arena: Arena) -> None:
    """promise:G6; the effects are counted, not the rows. No lease ends in it: where one does, its
    activity runs again, as it should."""
    activities = [arena.app.nap.build(0.15) for _ in range(200)]
    for loop in ("asyncio", "trio", "asyncio"):
        arena.worker(loop, "-c", "8")

    arena.app.taskq.enqueue(activities)
    arena.until_all("completed")

    runs = arena.effects("start")
    assert sorted(run["id"] for run in runs) == sorted(each.id.hex for each in activities)
    assert len({run["worker"] for run in runs}) == 3
    assert {(row["retry_count"], row["crash_count"]) for row in arena.rows()} == {(0, 0)}


def test_threads_tasks_and_processes_racing_with_one_key_get_one_activity(arena: Arena) -> None:
    """promise:G3, fault:F1: 25 threads, 25 tasks on two event loops, and four processes."""
    racers = [arena.python("-c", RACE, ready=False) for _ in range(4)]
    barrier = Barrier(27)

    def call() -> list[UUID]:
        barrier.wait()
        return [arena.app.quick.options(idempotency_key="order-42").delay().id]

    with ThreadPoolExecutor(27) as pool:
        threads = [pool.submit(call) for _ in range(25)]
        loops = [
            pool.submit(anyio.run, call_in_tasks, arena, barrier, count, backend=loop)
            for loop, count in (("asyncio", 13), ("trio", 12))
        ]
        ids = {id for answer in (*threads, *loops) for id in answer.result()}
    for racer in racers:
        assert racer.ends() == 0, racer.said()
        ids |= {UUID(text) for text in json.loads(racer.said())}

    assert len(ids) == 1
    assert [row["id"] for row in arena.rows()] == [id.hex for id in ids]


async def call_in_tasks(arena: Arena, barrier: Barrier, count: int) -> Sequence[UUID]:
    """So many tasks of this event loop call at once."""
    ids: list[UUID] = []

    async def call() -> None:
        future = await arena.app.quick.options(idempotency_key="order-42").adelay()
        ids.append(future.id)

    await anyio.to_thread.run_sync(barrier.wait)
    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(call)
    return ids
