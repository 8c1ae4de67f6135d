"""expired, and what a reaper makes of it."""

from __future__ import annotations

from msgspec.structs import replace

from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Succeeded
from taskq.model import ErrorKind, Status
from taskq.testing.conformance.harness import Harness, ids
from taskq.testing.conformance.samples import call, worker


class ReapTests:
    """What a lost worker held."""

    async def test_a_lease_holds_until_its_end_by_the_stores_clock(self, harness: Harness) -> None:
        """promise:G6, seed:W17"""
        attempt = await harness.running()

        await harness.advance(20)
        assert await harness.call(harness.backend.expired, 10) == []
        await harness.advance(20)
        assert ids(await harness.call(harness.backend.expired, 10)) == [attempt.id]

    async def test_expired_ones_are_given_as_their_worker_held_them(self, harness: Harness) -> None:
        attempt = await harness.running(call("a", payload='{"n":1}', tags='{"x":"y"}'))
        await harness.advance(31)

        assert await harness.call(harness.backend.expired, 10) == [attempt]

    async def test_an_isolated_one_is_given_as_isolated(self, harness: Harness) -> None:
        attempt = await harness.running(call(max_crashes=1))
        await harness.advance(31)

        [expired] = await harness.call(harness.backend.expired, 10)

        assert expired == attempt
        assert expired.isolate

    async def test_the_longest_expired_comes_first(self, harness: Harness) -> None:
        for lease in (50.0, 10.0, 30.0, 500.0):
            await harness.submit(call(f"lease-{lease}"))
            await harness.claim(new_id(), lease=lease)
        await harness.advance(100)

        expired = await harness.call(harness.backend.expired, 2)
        assert [attempt.type for attempt in expired] == ["lease-10.0", "lease-30.0"]
        assert len(await harness.call(harness.backend.expired, 10)) == 3

    async def test_asking_changes_nothing(self, harness: Harness) -> None:
        """seed:O1"""

        attempt = await harness.running()
        await harness.advance(31)
        before = await harness.info(attempt.id)

        first = await harness.call(harness.backend.expired, 10)

        assert await harness.call(harness.backend.expired, 10) == first
        assert await harness.info(attempt.id) == before

    async def test_a_renewed_lease_is_not_expired(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.advance(20)
        await harness.renew(worker(attempt.worker), attempt.lease)
        await harness.advance(20)

        assert await harness.call(harness.backend.expired, 10) == []

    async def test_only_what_is_processing_expires(self, harness: Harness) -> None:
        await harness.submit(*(call() for _ in range(3)))
        done, back, lost = await harness.claim(new_id())
        await harness.end(done, Succeeded("1"))
        await harness.hand_back(back.worker, back.lease)
        await harness.advance(31)
        await harness.end(lost, Crashed())

        assert await harness.call(harness.backend.expired, 10) == []

    async def test_a_crash_costs_no_retry_and_keeps_the_place(self, harness: Harness) -> None:
        """promise:G8"""
        attempt = await harness.running()
        await harness.advance(31)

        await harness.end(attempt, Crashed())

        info = await harness.info(attempt.id)
        assert (info.status, info.retry_count, info.crash_count) == (Status.PENDING, 0, 1)
        assert info.ready_at == attempt.ready_at
        assert info.error is not None and info.error.kind is ErrorKind.CRASHED

    async def test_the_last_crash_but_one_isolates_and_the_last_ends_it(
        self, harness: Harness
    ) -> None:
        """promise:G8, seed:R21: crash recoveries ≤ max_crashes, then the dead letter."""
        id = await harness.bring(call(), Status.PENDING)
        isolated: list[bool] = []
        for _ in range(3):
            attempt = await harness.reclaim()
            isolated.append(attempt.isolate)
            await harness.advance(31)
            await harness.end(attempt, Crashed())

        info = await harness.info(id)
        assert isolated == [False, False, True]
        assert (info.status, info.crash_count) == (Status.DEAD_LETTER, 3)
        assert info.error is not None and info.error.kind is ErrorKind.CRASHED

    async def test_after_a_crash_another_worker_gets_it(self, harness: Harness) -> None:
        """promise:G4"""
        attempt = await harness.running()
        await harness.advance(31)
        await harness.end(attempt, Crashed())

        again = await harness.reclaim()

        assert (again.id, again.claim, again.crash_count) == (attempt.id, 2, 1)
        expected = replace(
            attempt, worker=again.worker, claim=2, crash_count=1, claimed_at=again.claimed_at
        )
        assert again == expected

    async def test_a_cancelled_activity_is_not_given_to_another(self, harness: Harness) -> None:
        """promise:G10"""
        attempt = await harness.running()
        await harness.cancel(attempt.id)
        await harness.advance(31)

        await harness.end(attempt, Crashed())

        assert await harness.status(attempt.id) is Status.CANCELLED
        assert await harness.claim(new_id()) == []
