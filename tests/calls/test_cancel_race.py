"""A thousand cancels beside everything else that can happen to an activity (promise:G10).

In a database 400 of them, or as many as ``TASKQ_TEST_CANCELS`` says.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import UUID

import anyio
import pytest

from taskq import ActivityCancelled, ActivityFuture, Priority, RetryError, Snooze, TaskQ, current
from taskq.backends import ClaimRequest
from taskq.errors import InvalidState
from taskq.identifiers import new_id
from taskq.model import Activity, ErrorKind, Status
from taskq.settings import SettingOverrides
from taskq.snapshot import ActivityInfo, Filter, Page

COUNT = 1000
IN_A_DATABASE = int(os.environ.get("TASKQ_TEST_CANCELS", "400"))
GROWTH = 60
"""So often trees have grown before the first is cancelled."""
KINDS = ("finish", "fail", "snooze", "thread", "tree", "hand_back", "lose")


SETTINGS: SettingOverrides = {
    "lease": 1.0,
    "reaper_interval": 0.2,
    "poll_interval": 0.05,
    "shutdown_grace": 2.0,
}


class Race:
    """The activities, what ran, and what was promised."""

    def __init__(self, app: TaskQ, count: int) -> None:
        self.app = app
        self.count = count
        self.random = random.Random(4)
        self.claims: dict[UUID, int] = {}
        self.ends: dict[UUID, str] = {}
        self.trees: set[UUID] = set()
        self.felled: set[UUID] = set()
        self.growth = 0
        self.grown = anyio.Event()
        self.over = False

        @app.activity
        async def finish() -> str:
            await anyio.sleep(self.random.random() / 50)
            return "done"

        @app.activity(max_retries=None)
        async def fail() -> str:
            await anyio.sleep(self.random.random() / 100)
            raise RetryError("again", delay=self.random.random() / 20)

        @app.activity
        async def snooze() -> str:
            await anyio.sleep(self.random.random() / 100)
            raise Snooze(self.random.random() / 20)

        @app.activity(max_retries=None)
        def thread() -> str:
            if current().cancelled or self.random.random() < 0.3:
                return "done"
            raise RetryError("again", delay=0.01)

        @app.activity
        async def later() -> None: ...

        @app.activity(max_retries=None, priority=Priority.HIGH)
        async def tree(depth: int = 0) -> str:
            await anyio.sleep(self.random.random() / 50)
            branch = [tree.build(depth + 1)] if depth < 2 else []
            await app.aenqueue([later.options(delay=3600).build(), *branch])
            self.growth += 1
            if self.growth == GROWTH:
                self.grown.set()
            match self.random.randrange(3):
                case 0:
                    return "done"
                case 1:
                    raise Snooze(self.random.random() / 20)
                case _:
                    raise RetryError("again", delay=self.random.random() / 20)

        self.tasks = {"finish": finish, "fail": fail, "snooze": snooze, "thread": thread}
        self.tree = tree

    async def store(self) -> list[ActivityFuture[str]]:
        """All of them, of each kind as many. No worker serves the queue of the last two kinds."""
        kinds = (KINDS[place % len(KINDS)] for place in range(self.count))
        made = [self.build(kind) for kind in kinds]
        self.trees = {activity.id for activity in made if activity.type == self.tree.name}
        return await self.app.aenqueue(made)

    def build(self, kind: str) -> Activity[str]:
        """One of that kind."""
        if kind == "tree":
            return self.tree.build()
        if kind in self.tasks:
            return self.tasks[kind].build()
        return self.tasks["finish"].options(queue=kind, max_crashes=50).build()

    async def cancel(self, futures: list[ActivityFuture[str]]) -> None:
        """Cancel these, some one by one, and remember the claims that they had when accepted."""
        for future in futures[:20]:
            with suppress(InvalidState):
                tree = self.random.random() < 0.5
                assert await future.acancel(tree=tree)
                self.felled |= {future.id} if tree else set()
                await self.remember([future.id])
        client = self.app.client
        for start in range(20, len(futures), 10):
            ids = [future.id for future in futures[start : start + 10]]
            tree = self.random.random() < 0.5
            met = await client.call(partial(client.store.cancel, tree=tree), ids)
            self.felled |= set(ids) if tree else set()
            await self.remember([id for id in ids if met[id].accepted])

    async def remember(self, ids: list[UUID]) -> None:
        """The claims that these have now; any later one is one too many."""
        client = self.app.client
        infos = await client.call(client.store.get, ids)
        self.claims |= {id: info.claim for id, info in infos.items()}

    async def claim(self, queue: str, lease: float) -> tuple[UUID, list[tuple[UUID, int]]]:
        """As a worker of that queue would."""
        worker = new_id()
        request = ClaimRequest(worker=worker, queues=(queue,), types=None, limit=20, lease=lease)
        client = self.app.client
        attempts = await client.call(client.store.claim, request)
        attempts += await client.call(
            client.store.claim,
            ClaimRequest(
                worker=worker, queues=(queue,), types=None, limit=1, lease=lease, alone=True
            ),
        )
        return worker, [(attempt.id, attempt.claim) for attempt in attempts]

    async def hand_back(self) -> None:
        """A worker that claims and hands back, again and again."""
        client = self.app.client
        while not self.over:
            worker, _ = await self.claim("hand_back", 30.0)
            held = await client.call(client.store.held, worker)
            await client.call(client.store.hand_back, worker, held)
            await anyio.sleep(0.001)

    async def lose(self) -> None:
        """Workers that claim and are never heard of again."""
        while not self.over:
            await self.claim("lose", 0.2)
            await anyio.sleep(0.02)

    async def below(self) -> list[ActivityInfo]:
        """What was made below what was cancelled with its tree."""
        client = self.app.client
        found: list[ActivityInfo] = []
        for id in self.felled & self.trees:
            page = await client.call(client.store.list, Filter(root_id=id), Page(limit=1000))
            found += (info for info in page.items if info.id != id)
        return found

    async def fall(self) -> list[ActivityInfo]:
        """Wait until nothing below these is left; what there was."""
        with anyio.fail_after(20):
            while not all(info.status.terminal for info in await self.below()):
                await anyio.sleep(0.05)
        return await self.below()

    async def wait(self, future: ActivityFuture[str]) -> None:
        """Learn how it ended."""
        try:
            self.ends[future.id] = await future
        except ActivityCancelled:
            self.ends[future.id] = "cancelled"


async def test_each_is_completed_or_cancelled_and_none_runs_again() -> None:
    """promise:G10: cancelled while they finish, fail, snooze, are handed back or lose their
    worker. Whoever waits learns which; no claim follows an accepted cancel, and nothing is left of
    what trees made while they were cancelled: what is due in an hour and branches of their own."""
    async with TaskQ("memory://", **SETTINGS) as app:
        await run(app, COUNT)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_the_same_in_a_database(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """promise:G10"""
    file = f"sqlite:///{tmp_path}/race.db"
    url = file if kind == "sqlite" else request.getfixturevalue("postgres_url")
    async with TaskQ(url, **SETTINGS) as app:
        await run(app, IN_A_DATABASE)


async def run(racing: TaskQ, count: int) -> None:
    """The race of so many, and what must hold after it."""
    race = Race(racing, count)
    futures = await race.store()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group, racing.worker(concurrency=20):
            group.start_soon(race.hand_back)
            group.start_soon(race.lose)
            async with anyio.create_task_group() as waiters:
                for future in futures:
                    waiters.start_soon(race.wait, future)
                await race.grown.wait()
                shuffled = race.random.sample(futures, len(futures))
                for start in range(0, count, 100):
                    waiters.start_soon(race.cancel, shuffled[start : start + 100])
            race.over = True
            below = await race.fall()

    infos = await racing.client.call(racing.client.store.get, [future.id for future in futures])
    assert len(race.ends) == len(infos) == count
    for id, info in infos.items():
        if race.ends[id] == "cancelled":
            assert info.status is Status.CANCELLED
            assert info.error is not None and info.error.kind is ErrorKind.CANCELLED
        else:
            assert (info.status, race.ends[id]) == (Status.COMPLETED, "done")
            assert info.result == '"done"'
    assert {id: infos[id].claim for id in race.claims} == race.claims
    statuses = Counter(info.status for info in infos.values())
    assert statuses[Status.CANCELLED] > count / 2
    assert len(race.claims) >= statuses[Status.CANCELLED]
    ends = Counter(info.status for info in below)
    assert set(ends) <= {Status.CANCELLED, Status.COMPLETED}
    assert ends[Status.CANCELLED] > GROWTH / 3
