"""What a sink is given while activities run: on memory, on both event loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Event

import anyio
import pytest

from taskq import ActivityCancelled, ActivityError, NonRetryError, RetryPolicy, Snooze, TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.errors import EnqueueTimeout
from taskq.metrics import MetricsListener
from taskq.testing import drain
from tests.faulty import FaultyBackend

ABOUT = {"queue": "default", "type": "work", "priority": "normal"}


class Sink:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.seconds: dict[str, list[float]] = {}
        self.labels: dict[str, list[dict[str, str]]] = {}

    def inc_counter(self, name: str, n: int, labels: Mapping[str, str] | None = None) -> None:
        self.counts[name] += n
        self.labels.setdefault(name, []).append(dict(labels or {}))

    def observe_duration(
        self, name: str, seconds: float, labels: Mapping[str, str] | None = None
    ) -> None:
        self.seconds.setdefault(name, []).append(seconds)
        self.labels.setdefault(name, []).append(dict(labels or {}))

    def ends(self) -> dict[str, int]:
        """What is counted of activities, but for their being stored and started."""
        common = ("activity_enqueued", "activity_started")
        return {
            name: count
            for name, count in self.counts.items()
            if name.startswith("activity_") and name not in common
        }


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def taskq(sink: Sink) -> Iterator[TaskQ]:
    app = TaskQ(
        "memory://",
        listeners=[MetricsListener(sink)],
        retry=RetryPolicy(initial_delay=0.0),
        poll_interval=0.01,
    )
    yield app
    app.close()


async def test_a_completed_activity_is_counted_and_timed(taskq: TaskQ, sink: Sink) -> None:
    """seed:E7, M1, M2: also the durations, which RunnerQ declares and never observes."""

    @taskq.activity
    async def work() -> None:
        await anyio.sleep(0.02)

    await work.adelay()
    await drain(taskq)

    assert sink.ends() == {"activity_completed": 1}
    assert sink.counts["activity_started"] == 1
    assert sink.labels["activity_completed"] == [ABOUT]
    (ran,) = sink.seconds["activity_execution_seconds"]
    assert 0.02 <= ran < 5
    (waited,) = sink.seconds["activity_queue_latency_seconds"]
    (unclaimed,) = sink.seconds["activity_claim_lag"]
    assert 0 <= unclaimed <= waited < 5
    assert 0 <= sink.seconds["activity_completion_persistence"][0] < 5
    assert sink.labels["activity_execution_seconds"] == [{**ABOUT, "outcome": "completed"}]
    assert sum(sink.seconds["dequeue_roundtrip_seconds"]) >= 0
    assert sink.counts["worker_started"] == sink.counts["worker_stopped"] == 1
    assert sink.counts["scheduler_tick"] >= 1


async def test_a_failure_that_is_not_to_be_retried_is_counted_as_such(
    taskq: TaskQ, sink: Sink
) -> None:
    """seed:M2"""

    @taskq.activity
    async def work() -> None:
        raise NonRetryError("never")

    await work.adelay()
    await drain(taskq)
    assert sink.ends() == {"activity_failed_non_retry": 1}


async def test_retries_are_counted_and_then_the_dead_letter_and_its_failing_hook(
    taskq: TaskQ, sink: Sink
) -> None:
    """seed:M2, M4, M5"""

    def hook(dead: object) -> None:
        raise NonRetryError("the hook is broken too")

    @taskq.activity(max_retries=2, on_dead_letter=hook)
    async def work() -> None:
        raise KeyError("again")

    await work.adelay()
    await drain(taskq)

    assert sink.ends() == {
        "activity_retry": 2,
        "activity_dead_lettered": 1,
        "activity_panic": 3,
        "activity_failed_non_retry": 1,
    }
    assert sink.counts["dead_letter_hook_panic"] == 1
    outcomes = [labels["outcome"] for labels in sink.labels["activity_execution_seconds"]]
    assert outcomes == ["retrying", "retrying", "dead_letter", "failed"]


async def test_a_timeout_is_counted_beside_what_comes_of_it(taskq: TaskQ, sink: Sink) -> None:
    """seed:M2"""

    @taskq.activity(timeout=0.02, max_retries=0)
    async def work() -> None:
        await anyio.sleep_forever()

    await work.adelay()
    await drain(taskq)
    assert sink.ends() == {"activity_timeout": 1, "activity_dead_lettered": 1}


async def test_a_thread_that_overran_its_timeout_is_counted(taskq: TaskQ, sink: Sink) -> None:
    """design 7.15"""
    over = Event()

    @taskq.activity(timeout=0.02, max_retries=0)
    def work() -> None:
        over.wait(10)

    async with taskq.worker():
        future = await work.adelay()
        with pytest.raises(ActivityError):
            await future
        over.set()
    assert sink.counts["activity_thread_overran"] == 1


async def test_a_snooze_is_counted_and_is_no_retry(taskq: TaskQ, sink: Sink) -> None:
    slept: list[bool] = []

    @taskq.activity
    async def work() -> None:
        if not slept:
            slept.append(True)
            raise Snooze(0.01)

    async with taskq.worker():
        await (await work.adelay())
    assert sink.ends() == {"activity_snoozed": 1, "activity_completed": 1}


async def test_a_running_activity_that_was_cancelled_is_counted(taskq: TaskQ, sink: Sink) -> None:
    started = anyio.Event()

    @taskq.activity
    async def work() -> None:
        started.set()
        await anyio.sleep_forever()

    async with taskq.worker():
        future = await work.adelay()
        await started.wait()
        await future.acancel()
        with pytest.raises(ActivityCancelled):
            await future
    assert sink.ends() == {"activity_cancelled": 1}


async def test_a_stored_call_is_told_from_a_duplicate(taskq: TaskQ, sink: Sink) -> None:
    """seed:M4"""

    @taskq.activity
    async def work() -> None: ...

    for _ in range(3):
        await work.options(idempotency_key="once").adelay()
    assert [labels["outcome"] for labels in sink.labels["activity_enqueued"]] == [
        "created",
        "duplicate",
        "duplicate",
    ]


async def test_a_call_that_could_not_be_stored_is_counted(sink: Sink) -> None:
    """seed:M4, on both doors."""
    store = FaultyBackend(MemoryBackend())
    taskq = TaskQ(backend=store, listeners=[MetricsListener(sink)])

    @taskq.activity
    async def work() -> None: ...

    store.fail("submit", after=False, times=2)
    with pytest.raises(EnqueueTimeout):
        await work.adelay()
    with pytest.raises(EnqueueTimeout):
        work.delay()
    assert sink.counts == {"activity_enqueue_error": 2}
    expected = {**ABOUT, "error": "BackendUnavailable"}
    assert sink.labels["activity_enqueue_error"] == [expected, expected]
    taskq.close()


async def test_a_sink_that_raises_is_counted_and_hurts_nothing(sink: Sink) -> None:
    """seed:M1: as any listener's, its exceptions do not spread."""

    class Broken(Sink):
        def inc_counter(self, name: str, n: int, labels: object = None) -> None:
            raise RuntimeError("the metrics server is away")

    broken = MetricsListener(Broken())
    taskq = TaskQ("memory://", listeners=[broken, MetricsListener(sink)])

    @taskq.activity
    async def work() -> int:
        return 7

    async with taskq.worker():
        assert await (await work.adelay()) == 7
    assert taskq.publisher.failures > 0
    assert sink.counts["activity_completed"] == 1
    taskq.close()
