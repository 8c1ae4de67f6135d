"""Replies lost after the deed: nothing is lost, nothing is done twice.

On SQLite the store's answers are lost; on PostgreSQL the connection is cut when the server has
committed and before the client hears of it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import anyio
import pytest

from taskq import (
    ActivityCancelled,
    Context,
    DeadLetter,
    ErrorKind,
    NonRetryError,
    Status,
    TaskQ,
    current,
)
from taskq.backends import Store
from taskq.backends.sql import PostgresBackend, SQLiteBackend
from taskq.errors import BackendUnavailable
from taskq.middleware import Next
from taskq.snapshot import ActivityInfo, Filter, Page
from tests.chaos.proxy import Proxy
from tests.faulty import FaultyBackend

pytestmark = pytest.mark.chaos

METHODS = (
    "submit",
    "claim",
    "claim_overdue",
    "settle",
    "hand_back",
    "heartbeat",
    "held",
    "cancel",
)
RENEWAL = 0.5
"""Seconds between two heartbeats; leases are far longer, so that no reaper helps."""


class LossyStore:
    """A store whose answers can be lost."""

    def __init__(self, store: FaultyBackend) -> None:
        self.store: Store = store
        self.pending = store.pending
        self._fail = store.fail

    def lose(self, method: str, *, times: int = 1, before: bool = False) -> None:
        """Lose the next answers of ``method``; ``before``: they do not even get there."""
        self._fail(method, after=not before, times=times)


class LossyWay:
    """A store on a server to which the connection can be lost."""

    def __init__(self, proxy: Proxy) -> None:
        self.store: Store = PostgresBackend(proxy.url)
        self.pending = proxy.pending
        self.lose = proxy.lose


class Lossy:
    """An app whose store's replies can be lost. ``runs`` counts what handlers ran."""

    def __init__(self, way: LossyStore | LossyWay) -> None:
        self.lose = way.lose
        self.pending = way.pending
        self.store = way.store
        self.runs: Counter[UUID] = Counter()
        self.buried: list[UUID] = []
        self.taskq = TaskQ(
            backend=self.store,
            middleware=[self.count],
            lease=30.0,
            renew_interval=RENEWAL,
            poll_interval=0.1,
            poll_max=0.2,
        )
        self.opened = anyio.Event()
        self.quick = self.taskq.activity(quick)
        self.refuse = self.taskq.activity(on_failure=self.bury)(refuse)
        self.gate = self.taskq.activity(name="gate")(self.wait)

    async def count(self, attempt: Context, call_next: Next) -> object:
        """Count each run of a handler."""
        self.runs[attempt.id] += 1
        return await call_next()

    async def bury(self, dead: DeadLetter) -> None:
        """The failures' hook."""
        self.buried.append(dead.id)

    async def wait(self) -> int:
        """Wait until the test opens."""
        await self.opened.wait()
        return current().attempt

    async def all(self) -> list[ActivityInfo]:
        """Every activity."""
        page = await self.taskq.client.call(self.store.list, Filter(), Page(limit=100))
        return list(page.items)

    async def until_ended(self, count: int) -> list[ActivityInfo]:
        """Wait until there are so many activities and all have ended."""
        with anyio.fail_after(10):
            while True:
                rows = await self.all()
                if len(rows) == count and all(row.status.terminal for row in rows):
                    return rows
                await anyio.sleep(0.02)

    async def until_running(self, id: UUID) -> None:
        """Wait until its handler runs."""
        with anyio.fail_after(10):
            while not self.runs[id]:
                await anyio.sleep(0.02)

    async def until_lost(self, method: str) -> None:
        """Wait until the replies that were to be lost are."""
        with anyio.fail_after(10):
            while self.pending(method):
                await anyio.sleep(0.02)


async def quick() -> int:
    return current().attempt


async def refuse() -> None:
    raise NonRetryError("no")


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    """A way to an empty database."""
    proxy = Proxy(postgres_url)
    yield proxy
    proxy.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def lossy(
    anyio_backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Lossy]:
    """An app on a fresh file, or an empty database. Every fault that was asked for has struck."""
    if request.param == "sqlite":
        lossy = Lossy(LossyStore(FaultyBackend(SQLiteBackend(tmp_path / "taskq.db"))))
    else:
        lossy = Lossy(LossyWay(request.getfixturevalue("proxy")))
    async with lossy.taskq:
        yield lossy
        assert {method: lossy.pending(method) for method in METHODS} == dict.fromkeys(METHODS, 0)


async def test_a_submit_whose_reply_was_lost_stores_one_activity(lossy: Lossy) -> None:
    """promise:G1, promise:G3, fault:DB6."""
    lossy.lose("submit", times=2)
    future = await lossy.quick.adelay()
    keyed = [await lossy.quick.options(idempotency_key="once").adelay() for _ in range(2)]

    async with lossy.taskq.worker():
        rows = await lossy.until_ended(2)
    assert {row.id for row in rows} == {future.id, *(each.id for each in keyed)}
    assert lossy.runs == Counter([row.id for row in rows])


async def test_a_claim_whose_reply_was_lost_runs_within_one_heartbeat(lossy: Lossy) -> None:
    """promise:G4, fault:DB6: on the worker that is there, long before its lease ends."""
    futures = await lossy.taskq.aenqueue([lossy.quick.build() for _ in range(5)])
    lossy.lose("claim", times=2)  # of what is taskq's own, and of these
    async with lossy.taskq.worker(concurrency=5) as worker:
        rows = await lossy.until_ended(5)
        for row in rows:
            assert (row.status, row.worker, row.crash_count) == (Status.COMPLETED, worker.id, 0)
            assert row.started_at is not None
            assert row.started_at - await handed_back(lossy, row.id) < timedelta(seconds=RENEWAL)
    assert lossy.runs == Counter([future.id for future in futures])


async def handed_back(lossy: Lossy, id: UUID) -> datetime:
    """When the claim that nobody knew of was given back."""
    timeline = await lossy.taskq.client.call(lossy.store.timeline, id)
    [at] = [entry.at for entry in timeline if entry.kind == "handed_back"]
    return at


async def test_a_claim_that_is_lost_again_and_again_is_run_at_last(lossy: Lossy) -> None:
    """promise:G4: also when the question what it did goes unanswered."""
    lossy.lose("claim", times=3)
    lossy.lose("held", times=2, before=True)
    future = await lossy.quick.adelay()
    async with lossy.taskq.worker():
        assert await future == 1
    assert lossy.runs == Counter([future.id])


async def test_a_sweep_whose_reply_was_lost_ends_each_late_one_once(lossy: Lossy) -> None:
    """promise:G4, fault:DB6: what is not due yet comes too late all the same."""
    late = lossy.quick.options(delay=3600, expires=0.001)
    futures = await lossy.taskq.aenqueue([late.build() for _ in range(3)])
    lossy.lose("claim_overdue")

    async with lossy.taskq.worker(reaper_interval=0.2):
        rows = await lossy.until_ended(3)

    assert {row.id for row in rows} == {future.id for future in futures}
    kinds = {row.error.kind for row in rows if row.error is not None}
    assert (kinds, lossy.runs) == ({ErrorKind.EXPIRED}, Counter())


async def test_a_settle_whose_reply_was_lost_is_one_outcome_with_one_hook(lossy: Lossy) -> None:
    """promise:G5, fault:DB6."""
    future = await lossy.quick.adelay()
    refused = await lossy.refuse.adelay()
    lossy.lose("settle", times=3)
    async with lossy.taskq.worker():
        assert await future == 1
        rows = await lossy.until_ended(3)
    assert lossy.buried == [refused.id]
    assert lossy.runs == Counter([row.id for row in rows])
    assert {row.id: row.claim for row in rows} == dict.fromkeys(lossy.runs, 1)


async def test_a_hand_back_whose_reply_was_lost_loses_nothing(lossy: Lossy) -> None:
    """promise:G14: what was claimed ahead and is given back at a stop."""
    futures = await lossy.taskq.aenqueue([lossy.gate.build() for _ in range(6)])
    async with lossy.taskq.worker(concurrency=1, claim_ahead=5, shutdown_grace=0.0):
        with anyio.fail_after(10):
            while not lossy.runs or {row.claim for row in await lossy.all()} != {1}:
                await anyio.sleep(0.02)
        lossy.lose("hand_back")
    await lossy.until_lost("hand_back")
    assert {(row.status, row.crash_count) for row in await lossy.all()} == {(Status.PENDING, 0)}

    lossy.opened.set()
    async with lossy.taskq.worker():
        assert {await future for future in futures} == {1}
    assert lossy.runs == Counter([future.id for future in [futures[0], *futures]])


async def test_a_heartbeat_whose_reply_was_lost_takes_nothing_from_its_worker(
    lossy: Lossy,
) -> None:
    """bug:B28: a reply that does not come is no lost lease; and what it counted counts once."""
    first = await lossy.quick.adelay()
    gate = await lossy.gate.adelay()
    async with lossy.taskq.worker():
        assert await first == 1
        lossy.lose("heartbeat", times=3)
        await lossy.until_lost("heartbeat")
        lossy.opened.set()
        assert await gate == 1
    assert lossy.runs == Counter([first.id, gate.id])
    assert await counted(lossy) == Counter({"quick": 1, "gate": 1})


async def test_a_cancel_whose_reply_was_lost_is_not_said_to_be_refused(lossy: Lossy) -> None:
    """promise:G10: made again unasked, it would find what it had cancelled itself, and deny it."""
    waiting = await lossy.quick.adelay()
    lossy.lose("cancel")
    with pytest.raises(BackendUnavailable):
        await waiting.acancel()
    assert (await waiting.ainfo()).status is Status.CANCELLED

    running = await lossy.gate.adelay()
    async with lossy.taskq.worker():
        await lossy.until_running(running.id)
        lossy.lose("cancel")
        with pytest.raises(BackendUnavailable):
            await running.acancel()
        with pytest.raises(ActivityCancelled):
            await running


async def test_a_cancel_that_never_got_there_is_made_again(proxy: Proxy) -> None:
    """promise:G10: on PostgreSQL, where the connection tells which of the two it was."""
    lossy = Lossy(LossyWay(proxy))
    async with lossy.taskq:
        waiting = await lossy.quick.adelay()
        lossy.lose("cancel", before=True)
        assert await waiting.acancel()
        proxy.cut_all()
        assert not await waiting.acancel()
    assert lossy.pending("cancel") == 0


async def counted(lossy: Lossy) -> Counter[str]:
    """What the rollup says about each type."""
    now = datetime.fromtimestamp(time.time()).astimezone()
    hour = timedelta(hours=1)
    series = await lossy.taskq.client.call(lossy.store.series, now - hour, now + hour)
    counts: Counter[str] = Counter()
    for bucket in series:
        counts[bucket.type] += bucket.count
    return counts
