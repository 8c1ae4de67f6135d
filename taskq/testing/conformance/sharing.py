"""What a backend that is durable or shared promises beyond one process."""

from __future__ import annotations

import anyio
import pytest

from taskq.backends import Topic
from taskq.errors import IdempotencyConflict
from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Succeeded, Verdict
from taskq.model import Attempt, OnDuplicate, Receipt, Status
from taskq.testing.conformance.harness import Harness, eventually, ids
from taskq.testing.conformance.samples import call, keyed, worker
from taskq.testing.conformance.watches import mentions


class OpeningTests:
    """open and close."""

    async def test_opening_twice_is_nothing(self, harness: Harness) -> None:
        activity = call()
        await harness.submit(activity)

        await harness.call(harness.backend.open)

        assert await harness.status(activity.id) is Status.PENDING

    async def test_closing_the_backend_twice_is_nothing(self, harness: Harness) -> None:
        await harness.call(harness.backend.close)
        await harness.call(harness.backend.close)

    async def test_it_works_again_after_close_and_open(self, harness: Harness) -> None:
        await harness.call(harness.backend.close)
        await harness.call(harness.backend.open)

        attempt = await harness.running()

        assert (await harness.end(attempt, Succeeded("1"))).verdict is Verdict.APPLIED

    async def test_what_was_stored_survives_close_and_open(self, harness: Harness) -> None:
        """promise:G1"""
        harness.require("durable")
        attempt = await harness.running(keyed())
        before = await harness.info(attempt.id)

        await harness.call(harness.backend.close)
        await harness.call(harness.backend.open)

        assert await harness.info(attempt.id) == before
        assert await harness.submit(keyed()) == [Receipt(attempt.id, False)]
        assert (await harness.end(attempt, Succeeded("1"))).verdict is Verdict.APPLIED

    async def test_its_location_is_for_people(self, harness: Harness) -> None:
        assert harness.backend.location
        assert harness.backend.location == harness.backend.location.strip()


class SharingTests:
    """Two backends on one place."""

    async def test_what_one_submits_the_other_runs(self, harness: Harness, other: Harness) -> None:
        activity = call(payload='{"a":1}')
        await harness.submit(activity)

        [attempt] = await other.claim(new_id())
        await other.end(attempt, Succeeded("1"))

        assert (await harness.info(activity.id)).result == "1"

    async def test_claims_of_both_are_disjoint_and_complete(
        self, harness: Harness, other: Harness
    ) -> None:
        """promise:G6"""
        activities = [call() for _ in range(200)]
        await harness.submit(*activities)
        taken: list[Attempt] = []

        async def drain(side: Harness) -> None:
            holder = new_id()
            while attempts := await side.claim(holder, limit=5):
                taken.extend(attempts)

        async with anyio.create_task_group() as tasks:
            for side in (harness, other) * 4:
                tasks.start_soon(drain, side)

        assert len(taken) == 200
        assert set(ids(taken)) == {each.id for each in activities}

    async def test_one_key_from_both_is_one_activity(
        self, harness: Harness, other: Harness
    ) -> None:
        """promise:G3, fault:F1"""
        receipts: list[Receipt] = []

        async def submit(side: Harness) -> None:
            receipts.extend(await side.submit(keyed()))

        async with anyio.create_task_group() as tasks:
            for side in (harness, other) * 25:
                tasks.start_soon(submit, side)

        assert sum(receipt.created for receipt in receipts) == 1
        assert len({receipt.id for receipt in receipts}) == 1

    async def test_a_key_taken_by_one_is_a_conflict_for_the_other(
        self, harness: Harness, other: Harness
    ) -> None:
        holder = await harness.bring(keyed(), Status.PENDING)

        with pytest.raises(IdempotencyConflict) as caught:
            await other.submit(keyed(on_duplicate=OnDuplicate.NO_REUSE))

        assert caught.value.existing == holder

    async def test_one_reaps_what_the_others_worker_lost(
        self, harness: Harness, other: Harness
    ) -> None:
        """promise:G4, promise:G5"""
        attempt = await harness.running()
        await harness.advance(31)
        [expired] = await other.call(other.backend.expired, 10)
        await other.end(expired, Crashed())

        assert (await harness.end(attempt, Succeeded("1"))).verdict is Verdict.LOST
        renewal = await harness.renew(worker(attempt.worker), attempt.lease)
        assert renewal.lost == {attempt.id}

    async def test_hints_cross_over(self, harness: Harness, other: Harness) -> None:
        """seed:L10"""

        _, hints = await other.watch(Topic.READY, Topic.DONE, Topic.CANCEL)

        attempt = await harness.running()
        await eventually(lambda: mentions(hints, Topic.READY))
        await harness.cancel(attempt.id)
        await eventually(lambda: mentions(hints, Topic.CANCEL, attempt.id))
        hints.clear()
        await harness.end(attempt, Succeeded("1"))

        await eventually(lambda: mentions(hints, Topic.DONE, attempt.id))

    async def test_a_cancel_by_one_reaches_the_others_worker(
        self, harness: Harness, other: Harness
    ) -> None:
        """promise:G10"""
        attempt = await harness.running()
        await other.cancel(attempt.id)

        assert await harness.call(harness.backend.cancel_requests, attempt.worker) == [attempt.id]
