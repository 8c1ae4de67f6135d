"""submit, without idempotency keys."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest
from msgspec.structs import replace

from taskq.backends.instants import FIRST, LAST
from taskq.errors import Unstorable
from taskq.identifiers import new_id
from taskq.model import Receipt, Status
from taskq.testing.conformance.harness import Harness, near
from taskq.testing.conformance.samples import DAY, call


class SubmitTests:
    """What is stored, and when it may run."""

    async def test_a_submitted_activity_is_pending_at_once(self, harness: Harness) -> None:
        activity = call()

        assert await harness.submit(activity) == [Receipt(activity.id, True)]

        info = await harness.info(activity.id)
        assert info.status is Status.PENDING
        assert near(info.created_at, await harness.now())
        assert info.ready_at == info.created_at

    async def test_a_fresh_activity_has_not_been_run(self, harness: Harness) -> None:
        activity = call()
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert (info.retry_count, info.crash_count, info.claim) == (0, 0, 0)
        assert (info.worker, info.started_at, info.finished_at) == (None, None, None)
        assert (info.lease_until, info.cancel_requested_at) == (None, None)
        assert (info.result, info.error, info.isolate) == (None, None, False)

    async def test_a_delay_counts_from_the_stores_clock(self, harness: Harness) -> None:
        activity = call(delay=90.0)
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert info.status is Status.SCHEDULED
        assert info.ready_at == info.created_at + timedelta(seconds=90)

    async def test_a_delay_keeps_its_milliseconds(self, harness: Harness) -> None:
        activity = call(delay=90.25)
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert info.ready_at - info.created_at == timedelta(seconds=90.25)

    async def test_a_zero_delay_is_pending(self, harness: Harness) -> None:
        activity = call(delay=0.0)
        await harness.submit(activity)

        assert await harness.status(activity.id) is Status.PENDING

    async def test_a_future_run_time_makes_it_scheduled(self, harness: Harness) -> None:
        when = await harness.now() + timedelta(hours=1, microseconds=7)
        activity = call(run_at=when)
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert (info.status, info.ready_at) == (Status.SCHEDULED, when)

    async def test_a_run_time_in_another_zone_is_the_same_instant(self, harness: Harness) -> None:
        when = await harness.now() + timedelta(hours=1)
        activity = call(run_at=when.astimezone(timezone(timedelta(hours=-9, minutes=-30))))
        await harness.submit(activity)

        ready_at = (await harness.info(activity.id)).ready_at

        assert ready_at == when
        assert ready_at.utcoffset() == timedelta(0)

    async def test_a_past_run_time_is_pending_and_kept(self, harness: Harness) -> None:
        when = await harness.now() - timedelta(days=1)
        activity = call(run_at=when)
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert (info.status, info.ready_at) == (Status.PENDING, when)

    @pytest.mark.parametrize("year", [1970, 9998])
    async def test_far_run_times_are_kept(self, harness: Harness, year: int) -> None:
        when = (await harness.now()).replace(year=year, month=7, tzinfo=UTC)
        activity = call(run_at=when)
        await harness.submit(activity)

        assert (await harness.info(activity.id)).ready_at == when

    async def test_receipts_answer_one_to_one(self, harness: Harness) -> None:
        activities = [call(type) for type in ("b", "a", "c", "a")]

        receipts = await harness.submit(*reversed(activities))

        assert receipts == [Receipt(each.id, True) for each in reversed(activities)]

    async def test_submitting_nothing_is_nothing(self, harness: Harness) -> None:
        assert await harness.submit() == []

    async def test_a_thousand_go_in_one_batch(self, harness: Harness) -> None:
        activities = [call() for _ in range(1000)]

        receipts = await harness.submit(*activities)

        assert [receipt.id for receipt in receipts] == [each.id for each in activities]
        stats = await harness.call(harness.backend.stats)
        assert stats.by_status[Status.PENDING] == 1000

    async def test_a_repeated_submit_stores_nothing_more(self, harness: Harness) -> None:
        """promise:G1: after a lost reply the same call is simply made again."""
        activities = [call(), call(delay=DAY)]
        first = await harness.submit(*activities)

        again = await harness.submit(*activities)

        assert again == first == [Receipt(each.id, True) for each in activities]
        stats = await harness.call(harness.backend.stats)
        assert sum(stats.by_status.values()) == 2

    async def test_a_repeated_submit_leaves_what_has_moved_on(self, harness: Harness) -> None:
        activity = call()
        await harness.bring(activity, Status.COMPLETED)
        before = await harness.info(activity.id)

        receipts = await harness.submit(replace(activity, payload='{"other":1}'))

        assert receipts == [Receipt(activity.id, True)]
        assert await harness.info(activity.id) == before

    async def test_a_partly_repeated_batch_stores_the_rest(self, harness: Harness) -> None:
        known, new = call(), call()
        await harness.submit(known)

        receipts = await harness.submit(new, known)

        assert receipts == [Receipt(new.id, True), Receipt(known.id, True)]
        assert await harness.status(new.id) is Status.PENDING

    async def test_an_id_twice_in_one_batch_is_stored_once(self, harness: Harness) -> None:
        activity = call()

        receipts = await harness.submit(activity, activity)

        assert receipts == [Receipt(activity.id, True)] * 2
        assert len(await harness.claim(new_id())) == 1

    async def test_a_delay_beyond_all_years_ends_at_the_last_one(self, harness: Harness) -> None:
        activity = call(delay=1e300)
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert (info.status, info.ready_at) == (Status.SCHEDULED, LAST)

    @pytest.mark.parametrize("days", [-1, 1], ids=["too early", "too late"])
    async def test_a_run_time_outside_of_all_years_is_refused(
        self, harness: Harness, days: int
    ) -> None:
        good = call()
        run_at = (FIRST if days < 0 else LAST) + timedelta(days=days)

        with pytest.raises(Unstorable):
            await harness.submit(good, call(run_at=run_at))

        assert await harness.call(harness.backend.get, [good.id]) == {}

    async def test_a_batch_with_something_unstorable_is_stored_in_no_part(
        self, harness: Harness
    ) -> None:
        """design 7.6: codecs refuse a lone surrogate; what came another way is Unstorable."""
        good, bad = call(), call(payload='{"text":"\ud800"}')

        with pytest.raises(Unstorable):
            await harness.submit(good, bad)

        assert await harness.call(harness.backend.get, [good.id, bad.id]) == {}

    async def test_what_would_crash_but_once_is_isolated_from_the_start(
        self, harness: Harness
    ) -> None:
        activity = call(max_crashes=1)
        await harness.submit(activity)

        assert (await harness.info(activity.id)).isolate
