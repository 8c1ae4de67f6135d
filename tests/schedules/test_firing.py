"""Workers fire schedules: once each, whoever they are, and by rule after a stop (promise:G12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from taskq import TaskQ
from taskq.backends import Due, Hint, Place, Topic
from taskq.backends.memory import MemoryBackend
from taskq.backends.memory.watches import MemoryWatch
from taskq.engine.upkeep.scheduler import AGAIN, ASIDE
from taskq.errors import ConfigurationError
from taskq.events import BackgroundError, Event
from taskq.occurrences import Timing
from taskq.schedule import Schedule, Template, occurrence_id
from taskq.snapshot import ActivityInfo, Filter, Page
from taskq.testing import ManualClock
from tests.engine.world import until
from tests.faulty import FaultyBackend
from tests.postgres_databases import Databases

QUICK: dict[str, Any] = {"poll_interval": 0.05, "poll_max": 0.05}


def app(backend: Any = None, url: str | None = None, **options: Any) -> TaskQ:
    taskq = TaskQ(url, backend=backend, **options)

    @taskq.periodic(every=timedelta(seconds=1), catch_up="all")
    @taskq.activity
    async def tick() -> None: ...

    return taskq


async def made(taskq: TaskQ) -> list[ActivityInfo]:
    page = await taskq.client.call(taskq.client.store.list, Filter(), Page(limit=1000))
    return list(page.items)


def seconds(of: list[ActivityInfo]) -> list[datetime]:
    return sorted(datetime.fromisoformat(str(each.metadata["scheduled_for"])) for each in of)


@asynccontextmanager
async def fleet(*apps: TaskQ) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        for taskq in apps:
            group.start_soon(_run, taskq)
        yield
        group.cancel_scope.cancel()


async def _run(taskq: TaskQ) -> None:
    await taskq.run_worker(**QUICK)


async def test_three_workers_fire_each_occurrence_once(clock: ManualClock) -> None:
    """promise:G12; bug:B111, B112"""
    store = MemoryBackend(clock)
    apps = [app(store, clock=clock) for _ in range(3)]
    first = clock.now()
    async with fleet(*apps):
        for number in range(1, 11):
            await until(lambda: _declared(store))
            clock.advance(1)
            await until(lambda number=number: _count(store, number))

    expected = [first + timedelta(seconds=number) for number in range(1, 11)]
    assert seconds(await made(apps[0])) == expected


def _declared(store: MemoryBackend) -> bool:
    return bool(store._tables.schedules)


def _count(store: MemoryBackend, number: int) -> bool:
    return len(store._tables.rows) == number


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place that several apps share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'taskq.db'}"
    databases: Databases = request.getfixturevalue("databases")
    return databases.fresh()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_apps_that_share_a_database_fire_each_second_once(url: str) -> None:
    """promise:G12"""
    apps = [app(url=url) for _ in range(3)]
    try:
        async with fleet(*apps):
            with anyio.fail_after(20):
                while len(await made(apps[0])) < 3:
                    await anyio.sleep(0.05)
        found = seconds(await made(apps[0]))
    finally:
        for taskq in apps:
            await taskq.aclose()
    assert found == [found[0] + timedelta(seconds=number) for number in range(len(found))]
    assert all(each.microsecond == 0 for each in found)


@pytest.mark.parametrize(("catch_up", "expected"), [("latest", [5]), ("all", [1, 2, 3, 4, 5])])
async def test_everything_stopped_across_ticks_follows_catch_up(
    clock: ManualClock, catch_up: Any, expected: list[int]
) -> None:
    """promise:G12; bug:B07"""
    store = MemoryBackend(clock)
    before = TaskQ(backend=store, clock=clock)

    @before.periodic(every=3600, catch_up=catch_up)
    async def report() -> None: ...

    start = clock.now()
    async with fleet(before):
        await until(lambda: _declared(store))
    clock.advance(5 * 3600 + 1)
    after = TaskQ(backend=store, clock=clock)
    after.activity(name="other")(_nothing)
    async with fleet(after):
        await until(lambda: _count(store, len(expected)))

    assert seconds(await made(after)) == [start + timedelta(hours=hour) for hour in expected]


async def _nothing() -> None: ...


async def test_a_lost_reply_fires_nothing_twice(clock: ManualClock) -> None:
    """promise:G12; bug:B112"""
    store = MemoryBackend(clock)
    faulty = FaultyBackend(store)
    taskq = app(faulty, clock=clock)
    async with fleet(taskq):
        await until(lambda: _declared(store))
        faulty.fail("fire_schedule", after=True, times=1)
        clock.advance(1)
        await until(lambda: faulty.pending("fire_schedule") == 0)
        await until(lambda: faulty.calls["due_schedules"] > 2)

    assert len(await made(taskq)) == 1


@pytest.mark.parametrize("method", ["declare_schedules", "due_schedules", "fire_schedule"])
async def test_after_an_outage_it_goes_on(clock: ManualClock, method: str) -> None:
    """bug:B15, B73"""
    store = MemoryBackend(clock)
    faulty = FaultyBackend(store)
    faulty.fail(method, after=False, times=2)
    taskq = app(faulty, clock=clock)
    async with fleet(taskq):
        await until(lambda: _declared(store))
        clock.advance(3)
        await until(lambda: _count(store, 3))

    assert faulty.pending(method) == 0


DEEP = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"timing": Timing(cron="* * * * *", timezone="Gone/Away")}, ConfigurationError),
        ({"jitter": 1 << 62}, OverflowError),
        ({"metadata": "[1]"}, ConfigurationError),
        ({"metadata": "nonsense"}, ConfigurationError),
        ({"metadata": "null"}, ConfigurationError),
        ({"metadata": '{"a":1e999}'}, ConfigurationError),
        ({"metadata": DEEP}, ConfigurationError),
    ],
    ids=["zone", "jitter", "list", "no JSON", "null", "infinite", "deep"],
)
async def test_a_schedule_that_cannot_be_fired_hurts_no_other(
    clock: ManualClock, fields: dict[str, Any], error: type[Exception]
) -> None:
    """Its zone is unknown here, or another program has written its row. It is told once."""
    store = MemoryBackend(clock)
    seen: list[Event] = []

    class Errors:
        def on_event(self, event: Event) -> None:
            seen.append(event)

    taskq = app(store, clock=clock, listeners=[Errors()])
    async with fleet(taskq):
        await until(lambda: _declared(store))
        good = store._tables.schedules["tick"]
        store._tables.schedules["bad"] = _with(good, _bad(**fields), clock)
        clock.advance(2)
        await until(lambda: _count(store, 2))

    told = [event.error for event in seen if isinstance(event, BackgroundError)]
    assert len(told) == 1 and isinstance(told[0], error)
    assert "'bad'" in told[0].__notes__[0]


def _bad(metadata: str | None = None, name: str = "bad", **fields: Any) -> Schedule:
    template = Template(type="tick", queue="default", payload="{}", metadata=metadata)
    return Schedule(name=name, template=template, **{"timing": Timing(every=1000)} | fields)


async def test_however_many_cannot_be_fired_those_behind_them_are(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskq.backends.scheduled.DUE_AT_ONCE", 2)
    store = FaultyBackend(MemoryBackend(clock))
    tables = store.inner._tables
    taskq = app(store, clock=clock)
    async with fleet(taskq):
        await until(lambda: bool(tables.schedules))
        good = tables.schedules["tick"]
        for number in range(6):
            bad = _bad(metadata="[1]", name=f"bad {number}")
            tables.schedules[bad.name] = _with(good, bad, clock)
        for number in range(1, 4):
            clock.advance(1)
            await until(lambda number=number: len(tables.rows) == number)

    assert store.calls["fire_schedule"] == 6 + 3


def _with(good: Any, bad: Schedule, clock: ManualClock) -> Any:
    return replace(good, schedule=bad, next_at=clock.now())


async def test_workers_told_so_leave_schedules_to_others(clock: ManualClock) -> None:
    store = FaultyBackend(MemoryBackend(clock))
    taskq = app(store, clock=clock)

    async with taskq.worker(schedules=False, **QUICK):
        await until(lambda: store.calls["promote"] > 1)
    await taskq.run_worker(burst=True, **QUICK)

    assert store.calls["due_schedules"] == store.calls["declare_schedules"] == 0


async def test_a_full_worker_fires_on_time(clock: ManualClock) -> None:
    """bug:B115: what fires has no slot to wait for"""
    store = MemoryBackend(clock)
    taskq = app(store, clock=clock)
    busy = anyio.Event()

    @taskq.activity
    async def block() -> None:
        busy.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: taskq.run_worker(concurrency=1, **QUICK))
        await block.adelay()
        await busy.wait()
        await until(lambda: _declared(store))
        clock.advance(1)
        await until(lambda: _count(store, 2))
        group.cancel_scope.cancel()


def test_an_occurrence_has_one_id_that_shows_its_time() -> None:
    at = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)

    id = occurrence_id("report", at)

    assert id == occurrence_id("report", at.astimezone(None))
    assert id.version == 7 and id.variant == "specified in RFC 4122"
    assert id.int >> 80 == int(at.timestamp() * 1000)
    others = Counter(occurrence_id(f"report{number}", at) for number in range(1000))
    assert id not in others and set(others.values()) == {1}


def test_jitter_spreads_evenly_and_the_same_for_everybody() -> None:
    schedule = Schedule(
        name="report",
        timing=Timing(every=1000),
        template=Template(type="report", queue="default", payload="{}"),
        jitter=10_000,
    )
    start = datetime(2026, 1, 1, tzinfo=UTC)

    def spread(second: int) -> float:
        at = start + timedelta(seconds=second)
        return ((schedule.occurrence(at, start).run_at or at) - at).total_seconds()

    delays = [spread(second) for second in range(1000)]

    assert delays == [spread(second) for second in range(1000)]
    assert 0 <= min(delays) < 0.1 and 9.9 < max(delays) < 10
    assert 4.5 < sum(delays) / len(delays) < 5.5


class LateWatch(MemoryBackend):
    """Its watch begins when the test lets it: what happens before is not heard."""

    def __init__(self) -> None:
        super().__init__()
        self.begin = anyio.Event()

    async def watch(
        self, topics: Collection[Topic], listener: Callable[[Hint], None]
    ) -> MemoryWatch:
        await self.begin.wait()
        return await super().watch(topics, listener)


async def test_a_schedule_made_at_run_time_is_seen_by_a_worker_that_sleeps() -> None:
    """Well before its next look, which is after 30 s, though its hint was not heard."""
    store = LateWatch()
    taskq = TaskQ(backend=store)

    @taskq.activity
    async def report() -> None: ...

    async with taskq.worker(poll_max=30.0) as worker:
        await until(lambda: "scheduler" in worker.health().last_progress)
        await taskq.schedules.acreate("often", report.build(), every=0.1)
        store.begin.set()  # only now it listens for hints
        await until(lambda: len(store._tables.rows) > 0, within=5)


class Rounds(FaultyBackend):
    """It notes how many were fired before each look at what is due."""

    def __init__(self, inner: MemoryBackend) -> None:
        super().__init__(inner)
        self.fired: list[int] = []

    async def due_schedules(self, after: Place | None = None) -> Due:
        self.fired.append(self.calls["fire_schedule"])
        return await super().due_schedules(after)


async def test_of_many_left_alone_few_are_tried_again_at_once(clock: ManualClock) -> None:
    """So that what can be fired does not wait for all of them each minute."""
    memory = MemoryBackend(clock)
    store, schedules = Rounds(memory), memory._tables.schedules
    taskq = app(store, clock=clock)
    async with taskq.worker(**QUICK):
        await until(lambda: bool(schedules))
        good = schedules.pop("tick")
        for number in range(2 * AGAIN):
            bad = _bad(metadata="[1]", name=f"bad {number:02}")
            schedules[bad.name] = _with(good, bad, clock)
        await until(lambda: store.fired[-1] == 2 * AGAIN)
        clock.advance(ASIDE)
        await until(lambda: store.fired[-1] == 4 * AGAIN)

    assert sorted(set(store.fired)) == [0, 2 * AGAIN, 3 * AGAIN, 4 * AGAIN]
