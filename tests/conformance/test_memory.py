"""The memory backend keeps the contract."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from msgspec.structs import replace

from taskq.backends import ClaimRequest, Hint, Store, Topic
from taskq.backends.memory import MemoryBackend
from taskq.bridge import DirectBridge
from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Succeeded, Verdict, decide
from taskq.model import Status
from taskq.testing import ManualClock
from taskq.testing.conformance import BackendConformance, Harness
from taskq.testing.conformance.samples import call


class TestMemory(BackendConformance):
    """On asyncio and trio."""

    @pytest.fixture
    def backend(self, clock: ManualClock) -> Store:
        """A fresh one."""
        return MemoryBackend(clock)

    async def test_a_stale_entry_does_not_let_an_isolated_one_run_beside_others(
        self, harness: Harness
    ) -> None:
        """promise:G8: it entered the line of plain ones twice at one instant, and left it once."""
        activity = call(max_crashes=2)
        await harness.submit(activity)
        await harness.cancel(activity.id)
        await harness.retry(activity.id)
        [attempt] = await harness.claim(new_id(), limit=1)
        await harness.advance(31)
        await harness.end(attempt, Crashed())

        assert await harness.claim(new_id()) == []
        assert len(await harness.claim(new_id(), limit=1, alone=True)) == 1


def test_threads_share_one_store() -> None:
    """promise:G6: claims by eight threads at once are disjoint and complete."""
    backend, bridge = MemoryBackend(), DirectBridge()
    activities = [call() for _ in range(2000)]

    def work(part: int) -> list[UUID]:
        worker = new_id()
        bridge.call_sync(backend.submit, activities[part * 250 : part * 250 + 250])
        request = ClaimRequest(worker=worker, queues=("default",), types=None, limit=7, lease=30)
        done: list[UUID] = []
        while attempts := bridge.call_sync(backend.claim, request):
            transitions = [decide(attempt, Succeeded("1")) for attempt in attempts]
            settlements = bridge.call_sync(backend.settle, transitions)
            done += [each.id for each in settlements if each.verdict is Verdict.APPLIED]
        return done

    with ThreadPoolExecutor(8) as threads:
        done = [id for part in threads.map(work, range(8)) for id in part]

    assert sorted(done) == [activity.id for activity in activities]


def test_a_listener_may_call_the_store() -> None:
    """Hints are sent after the lock is released."""
    backend, bridge = MemoryBackend(), DirectBridge()
    pending: list[int] = []

    def listen(hint: Hint) -> None:
        stats = bridge.call_sync(backend.stats)
        pending.append(stats.by_status[Status.PENDING])

    bridge.call_sync(backend.watch, [Topic.READY], listen)

    bridge.call_sync(backend.submit, [call(), call()])

    assert pending == [2]


def test_a_forked_child_is_not_locked_out() -> None:
    """The fork came while another thread held the lock; the parent's watches stay with it."""
    backend, bridge = MemoryBackend(), DirectBridge()
    hints: list[Hint] = []
    bridge.call_sync(backend.watch, [Topic.READY], hints.append)

    with backend._lock:
        backend.after_fork()
        bridge.call_sync(backend.submit, [call()])

    assert hints == []


def test_a_transition_that_the_state_machine_does_not_know_is_a_bug() -> None:
    backend, bridge = MemoryBackend(), DirectBridge()
    bridge.call_sync(backend.submit, [call()])
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=1, lease=30)
    [attempt] = bridge.call_sync(backend.claim, request)
    wrong = replace(decide(attempt, Succeeded("1")), status=Status.PROCESSING)

    with pytest.raises(AssertionError, match="processing -> processing"):
        bridge.call_sync(backend.settle, [wrong])
