"""hand_back: what was claimed and never started."""

from __future__ import annotations

from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, Verdict
from taskq.model import ErrorKind, Lease, Priority, Status
from taskq.testing.conformance.harness import Harness, ids
from taskq.testing.conformance.samples import call


class HandBackTests:
    """Back to the old place, nothing counted."""

    async def test_it_goes_back_to_its_old_place(self, harness: Harness) -> None:
        """promise:G14, seed:P8"""
        worker = new_id()
        first = await harness.running(call(), worker=worker)
        await harness.advance(10)
        second, urgent = call(), call(priority=Priority.HIGH)
        await harness.submit(second, urgent)
        ready_at = (await harness.info(first.id)).ready_at

        await harness.hand_back(worker, first.lease)

        assert (await harness.info(first.id)).ready_at == ready_at
        assert ids(await harness.claim(worker)) == [urgent.id, first.id, second.id]

    async def test_nothing_is_counted(self, harness: Harness) -> None:
        """promise:G14"""
        worker = new_id()
        attempt = await harness.running(worker=worker)

        await harness.hand_back(worker, attempt.lease)

        info = await harness.info(attempt.id)
        assert (info.status, info.retry_count, info.crash_count) == (Status.PENDING, 0, 0)
        assert (info.worker, info.lease_until, info.claim) == (None, None, 1)
        assert (info.error, info.finished_at) == (None, None)

    async def test_an_isolated_one_stays_isolated(self, harness: Harness) -> None:
        worker = new_id()
        attempt = await harness.running(call(max_crashes=1), worker=worker)

        await harness.hand_back(worker, attempt.lease)

        assert await harness.claim(worker) == []
        assert ids(await harness.claim(worker, limit=1, alone=True)) == [attempt.id]

    async def test_a_requested_cancel_ends_it(self, harness: Harness) -> None:
        """promise:G10"""
        worker = new_id()
        attempt = await harness.running(worker=worker)
        await harness.cancel(attempt.id)

        await harness.hand_back(worker, attempt.lease)

        info = await harness.info(attempt.id)
        assert (info.status, info.cancel_requested_at) == (Status.CANCELLED, None)
        assert info.error is not None and info.error.kind is ErrorKind.CANCELLED
        assert info.finished_at is not None

    async def test_leases_that_do_not_hold_are_ignored(self, harness: Harness) -> None:
        worker, stranger = new_id(), new_id()
        attempt = await harness.running(worker=worker)
        before = await harness.info(attempt.id)

        await harness.hand_back(stranger, attempt.lease)
        await harness.hand_back(worker, Lease(attempt.id, attempt.claim + 1))
        await harness.hand_back(worker, Lease(new_id(), 1))
        await harness.hand_back(worker)

        assert await harness.info(attempt.id) == before

    async def test_what_has_ended_is_not_reopened(self, harness: Harness) -> None:
        """promise:G5"""
        worker = new_id()
        attempt = await harness.running(worker=worker)
        await harness.end(attempt, Succeeded("1"))
        before = await harness.info(attempt.id)

        await harness.hand_back(worker, attempt.lease)

        assert await harness.info(attempt.id) == before

    async def test_a_repeated_hand_back_changes_nothing_more(self, harness: Harness) -> None:
        worker = new_id()
        attempt = await harness.running(worker=worker)
        await harness.hand_back(worker, attempt.lease)
        before = await harness.info(attempt.id)

        await harness.hand_back(worker, attempt.lease)

        assert await harness.info(attempt.id) == before
        assert (await harness.kinds(attempt.id)).count("handed_back") == 1

    async def test_a_repeated_hand_back_leaves_the_next_claim_alone(self, harness: Harness) -> None:
        """promise:G5: the same worker holds it again, under another claim number."""
        worker = new_id()
        attempt = await harness.running(worker=worker)
        await harness.hand_back(worker, attempt.lease)
        again = await harness.reclaim(worker=worker)

        await harness.hand_back(worker, attempt.lease)

        assert await harness.call(harness.backend.held, worker) == [again.lease]

    async def test_many_go_back_at_once(self, harness: Harness) -> None:
        worker = new_id()
        await harness.submit(*(call() for _ in range(50)))
        attempts = await harness.claim(worker)

        await harness.hand_back(worker, *(attempt.lease for attempt in reversed(attempts)))

        assert ids(await harness.claim(worker)) == ids(attempts)

    async def test_an_outcome_after_a_hand_back_is_lost(self, harness: Harness) -> None:
        """promise:G5: it never ran under this lease, so nobody may believe it was recorded."""
        worker = new_id()
        attempt = await harness.running(worker=worker)
        await harness.hand_back(worker, attempt.lease)

        settlement = await harness.end(attempt, Succeeded("1"))

        assert (settlement.verdict, settlement.status) == (Verdict.LOST, Status.PENDING)

    async def test_a_hand_back_is_in_the_timeline(self, harness: Harness) -> None:
        """design 7.7"""
        worker = new_id()
        attempt = await harness.running(worker=worker)
        await harness.hand_back(worker, attempt.lease)

        timeline = await harness.call(harness.backend.timeline, attempt.id)

        [entry] = [entry for entry in timeline if entry.kind == "handed_back"]
        assert (entry.attempt, entry.worker) == (1, worker)
