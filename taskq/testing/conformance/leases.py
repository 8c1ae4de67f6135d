"""held, heartbeat, cancel_requests, retire: what a live worker keeps up."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from taskq.backends.presence import FORGOTTEN_AFTER
from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Failed, Interrupted, Snoozed, Succeeded
from taskq.model import Lease
from taskq.snapshot import HISTOGRAM_BOUNDS
from taskq.testing.conformance.harness import Harness, near
from taskq.testing.conformance.samples import MINUTE, beat, bucket, call, error, worker

HOUR = timedelta(hours=1)


class LeaseTests:
    """Leases that are renewed, lost, or asked to stop."""

    async def test_held_names_every_lease_of_the_worker(self, harness: Harness) -> None:
        """design 7.5: after a claim whose reply was lost."""
        mine, theirs = new_id(), new_id()
        await harness.submit(*(call() for _ in range(4)))
        attempts = await harness.claim(mine, limit=3)
        await harness.claim(theirs)

        held = await harness.call(harness.backend.held, mine)

        assert sorted(held, key=lambda lease: lease.id) == [each.lease for each in attempts]
        assert await harness.call(harness.backend.held, new_id()) == []

    async def test_what_was_settled_or_handed_back_is_no_longer_held(
        self, harness: Harness
    ) -> None:
        mine = new_id()
        await harness.submit(*(call() for _ in range(5)))
        done, retried, snoozed, interrupted, back = await harness.claim(mine)
        await harness.end(done, Succeeded("1"))
        await harness.end(retried, Failed(error=error()))
        await harness.end(snoozed, Snoozed(60))
        await harness.end(interrupted, Interrupted())
        await harness.hand_back(mine, back.lease)

        assert await harness.call(harness.backend.held, mine) == []

    async def test_a_heartbeat_renews_its_leases_from_now(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.advance(20)

        renewal = await harness.renew(worker(attempt.worker), attempt.lease)

        assert (renewal.lost, renewal.cancelled) == (frozenset(), frozenset())
        lease_until = (await harness.info(attempt.id)).lease_until
        assert near(lease_until, await harness.now() + timedelta(seconds=30))

    async def test_a_heartbeat_renews_no_other_lease(self, harness: Harness) -> None:
        """seed:W10"""

        mine = new_id()
        await harness.submit(call(), call())
        one, two = await harness.claim(mine)
        before = await harness.info(two.id)
        await harness.advance(20)

        await harness.renew(worker(mine), one.lease)

        assert await harness.info(two.id) == before

    async def test_an_ended_lease_that_nobody_took_back_is_renewed(self, harness: Harness) -> None:
        """design 7.5: an outage shorter than the reaper's patience costs nothing."""
        attempt = await harness.running()
        await harness.advance(600)

        renewal = await harness.renew(worker(attempt.worker), attempt.lease)

        assert renewal.lost == frozenset()
        assert await harness.call(harness.backend.expired, 10) == []

    async def test_leases_that_no_longer_hold_are_lost(self, harness: Harness) -> None:
        """promise:G6"""
        mine = new_id()
        await harness.submit(*(call() for _ in range(5)))
        held, done, back, reaped, stale = await harness.claim(mine)
        await harness.end(done, Succeeded("1"))
        await harness.hand_back(mine, back.lease)
        await harness.advance(31)
        await harness.end(reaped, Crashed())
        unknown = Lease(new_id(), 1)
        wrong = Lease(stale.id, stale.claim + 1)

        renewal = await harness.renew(
            worker(mine), held.lease, done.lease, back.lease, reaped.lease, unknown, wrong
        )

        assert renewal.lost == {done.id, back.id, reaped.id, unknown.id, stale.id}

    async def test_another_workers_lease_is_lost_and_left_alone(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.advance(20)
        before = await harness.info(attempt.id)

        renewal = await harness.renew(worker(), attempt.lease)

        assert renewal.lost == {attempt.id}
        assert await harness.info(attempt.id) == before

    async def test_a_heartbeat_tells_of_requested_cancels(self, harness: Harness) -> None:
        """promise:G10"""
        mine = new_id()
        await harness.submit(call(), call())
        one, two = await harness.claim(mine)
        await harness.cancel(two.id)

        renewal = await harness.renew(worker(mine), one.lease, two.lease)

        assert not renewal.lost
        assert renewal.cancelled == {two.id}

    async def test_cancel_requests_are_the_workers_own(self, harness: Harness) -> None:
        """promise:G10"""
        mine, theirs = new_id(), new_id()
        await harness.submit(*(call() for _ in range(4)))
        flagged, plain, ended = await harness.claim(mine, limit=3)
        [other] = await harness.claim(theirs)
        await harness.cancel(flagged.id, ended.id, other.id)
        await harness.end(ended, Succeeded("1"))

        assert await harness.call(harness.backend.cancel_requests, mine) == [flagged.id]
        assert await harness.call(harness.backend.cancel_requests, theirs) == [other.id]
        assert await harness.call(harness.backend.cancel_requests, new_id()) == []
        assert plain.id != flagged.id

    async def test_a_heartbeat_writes_the_workers_row(self, harness: Harness) -> None:
        info = worker(queues=("default", "mail"), types=("a", "b"), slots_used=3, suspended=2)

        await harness.renew(info)

        [seen] = await harness.call(harness.backend.workers)
        assert replace(seen, seen_at=info.seen_at) == info
        assert near(seen.seen_at, await harness.now())

    async def test_the_next_heartbeat_replaces_the_row(self, harness: Harness) -> None:
        info = worker()
        await harness.renew(info, number=1)
        await harness.advance(10)

        await harness.renew(replace(info, slots_used=7, suspended=5, state="stopping"), number=2)

        [seen] = await harness.call(harness.backend.workers)
        assert (seen.slots_used, seen.suspended, seen.state) == (7, 5, "stopping")
        assert near(seen.seen_at, await harness.now())

    async def test_a_retired_worker_is_gone(self, harness: Harness) -> None:
        info, stays = worker(), worker()
        await harness.renew(info)
        await harness.renew(stays)

        await harness.call(harness.backend.retire, info.id)
        await harness.call(harness.backend.retire, info.id)
        await harness.call(harness.backend.retire, new_id())

        assert [each.id for each in await harness.call(harness.backend.workers)] == [stays.id]

    async def test_a_worker_that_never_retired_is_forgotten_in_the_end(
        self, harness: Harness
    ) -> None:
        """Rows of killed workers would pile up for ever."""
        killed, silent, live = worker(), worker(), worker()
        await harness.renew(killed)
        await harness.advance(100)
        await harness.renew(silent)
        await harness.advance(FORGOTTEN_AFTER - 50)

        await harness.renew(live)

        everybody = partial(harness.backend.workers, alive_within=2 * FORGOTTEN_AFTER)
        assert {each.id for each in await harness.call(everybody)} == {silent.id, live.id}

    async def test_a_forgotten_worker_may_come_back(self, harness: Harness) -> None:
        """Its process was stopped for long, and went on."""
        attempt = await harness.running()
        back = worker(attempt.worker)
        await harness.renew(back, attempt.lease, number=1)
        await harness.advance(2 * FORGOTTEN_AFTER)
        await harness.renew(worker())

        renewal = await harness.renew(back, attempt.lease, number=2)

        assert renewal.lost == frozenset()
        assert back.id in {each.id for each in await harness.call(harness.backend.workers)}

    async def test_counts_are_added_to_the_minute(self, harness: Harness) -> None:
        """design 7.7"""
        one, two = worker(), worker()
        await harness.call(harness.backend.heartbeat, beat(one, buckets=(bucket(),)))
        await harness.call(harness.backend.heartbeat, beat(two, buckets=(bucket(count=4),)))
        await harness.call(harness.backend.heartbeat, beat(one, number=2, buckets=(bucket(),)))

        [total] = await harness.call(harness.backend.series, MINUTE, MINUTE + HOUR)

        spread = (9,) + (0,) * len(HISTOGRAM_BOUNDS)
        assert total == bucket(count=10, waits=spread, runs=spread)

    async def test_a_repeated_heartbeat_counts_once(self, harness: Harness) -> None:
        """bug:B40's kind: its reply was lost, so it is made again with the same number."""
        attempt = await harness.running()
        info = worker(attempt.worker)
        repeated = beat(info, attempt.lease, number=5, buckets=(bucket(), bucket(type="other")))

        first = await harness.call(harness.backend.heartbeat, repeated)
        again = await harness.call(harness.backend.heartbeat, repeated)

        assert first == again
        buckets = await harness.call(harness.backend.series, MINUTE, MINUTE + HOUR)
        assert [each.count for each in buckets] == [3, 3]

    @pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 1, 2), (1, 2, 2), (7, 8, 8)])
    async def test_only_a_new_number_counts(
        self, harness: Harness, numbers: tuple[int, ...]
    ) -> None:
        info = worker()
        for number in numbers:
            counted = beat(info, number=number, buckets=(bucket(count=1),))
            await harness.call(harness.backend.heartbeat, counted)

        [total] = await harness.call(harness.backend.series, MINUTE, MINUTE + HOUR)
        assert total.count == len(set(numbers))

    async def test_an_older_heartbeat_that_comes_late_counts_nothing(
        self, harness: Harness
    ) -> None:
        info = worker()
        for number in (2, 1, 2):
            counted = beat(info, number=number, buckets=(bucket(count=1),))
            await harness.call(harness.backend.heartbeat, counted)

        [total] = await harness.call(harness.backend.series, MINUTE, MINUTE + HOUR)
        assert total.count == 1
