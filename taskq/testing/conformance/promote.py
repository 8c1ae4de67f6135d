"""promote: what is due becomes pending, and nothing before (promise:G7)."""

from __future__ import annotations

from taskq.backends import Promotion
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Snoozed
from taskq.model import Status
from taskq.testing.conformance.harness import Harness, ids
from taskq.testing.conformance.samples import DAY, call, error

SLACK = 5.0
"""Seconds that a test may take, on a store whose clock goes on."""


class PromoteTests:
    """Scheduled and retrying activities."""

    async def test_nothing_waiting_is_nothing_due(self, harness: Harness) -> None:
        await harness.submit(call())

        assert await harness.call(harness.backend.promote, 10) == Promotion(moved=0, next_due=None)

    async def test_nothing_moves_before_its_time(self, harness: Harness) -> None:
        """promise:G7"""
        activity = call(delay=100.0)
        await harness.submit(activity)
        await harness.advance(90)

        promotion = await harness.call(harness.backend.promote, 10)

        assert promotion.moved == 0
        assert promotion.next_due is not None and 10 - SLACK <= promotion.next_due <= 10
        assert await harness.status(activity.id) is Status.SCHEDULED

    async def test_what_is_due_moves_and_keeps_its_ready_time(self, harness: Harness) -> None:
        """seed:P8"""

        activity = call(delay=100.0)
        await harness.submit(activity)
        ready_at = (await harness.info(activity.id)).ready_at
        await harness.advance(500)

        promotion = await harness.call(harness.backend.promote, 10)

        assert promotion == Promotion(moved=1, next_due=None)
        info = await harness.info(activity.id)
        assert (info.status, info.ready_at) == (Status.PENDING, ready_at)

    async def test_retrying_and_snoozed_ones_move_alike(self, harness: Harness) -> None:
        await harness.submit(call(), call())
        retried, snoozed = await harness.claim(new_id())
        await harness.end(retried, Failed(error=error(), delay=50.0))
        await harness.end(snoozed, Snoozed(40.0))
        await harness.advance(60)

        assert (await harness.call(harness.backend.promote, 10)).moved == 2

        assert ids(await harness.claim(new_id())) == [snoozed.id, retried.id]

    async def test_the_earliest_due_move_first(self, harness: Harness) -> None:
        activities = {delay: call(delay=delay) for delay in (30.0, 10.0, 40.0, 20.0)}
        await harness.submit(*activities.values())
        await harness.advance(100)

        promotion = await harness.call(harness.backend.promote, 3)

        assert promotion == Promotion(moved=3, next_due=0.0)
        assert await harness.status(activities[40.0].id) is Status.SCHEDULED
        expected = [activities[delay].id for delay in (10.0, 20.0, 30.0)]
        assert ids(await harness.claim(new_id())) == expected

    async def test_the_next_due_time_is_that_of_what_stays(self, harness: Harness) -> None:
        await harness.submit(call(delay=10.0), call(delay=200.0), call(delay=DAY))
        await harness.advance(100)

        promotion = await harness.call(harness.backend.promote, 10)

        assert promotion.moved == 1
        assert promotion.next_due is not None and 100 - SLACK <= promotion.next_due <= 100

    async def test_a_cancelled_one_is_not_waited_for(self, harness: Harness) -> None:
        soon, late = call(delay=10.0), call(delay=200.0)
        await harness.submit(soon, late)
        await harness.cancel(soon.id)
        await harness.advance(100)

        promotion = await harness.call(harness.backend.promote, 10)

        assert promotion.moved == 0
        assert promotion.next_due is not None and 100 - SLACK <= promotion.next_due <= 100
        assert await harness.status(soon.id) is Status.CANCELLED

    async def test_a_repeated_promote_moves_nothing_more(self, harness: Harness) -> None:
        await harness.submit(call(delay=10.0))
        await harness.advance(20)
        await harness.call(harness.backend.promote, 10)
        await harness.claim(new_id())

        assert (await harness.call(harness.backend.promote, 10)).moved == 0

    async def test_every_queue_is_promoted(self, harness: Harness) -> None:
        await harness.submit(call(delay=10.0, queue="one"), call(delay=10.0, queue="two"))
        await harness.advance(20)

        assert (await harness.call(harness.backend.promote, 10)).moved == 2
