"""expires and deadline: what is too late is given to be ended, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from taskq.identifiers import new_id
from taskq.lifecycle import (
    Crashed,
    Expired,
    Failed,
    Interrupted,
    Outcome,
    Overdue,
    Snoozed,
    Succeeded,
    Unstarted,
    lateness,
)
from taskq.model import ErrorKind, Policy, Status
from taskq.testing.conformance.harness import Harness, ids, near
from taskq.testing.conformance.samples import DAY, call, child, error

WAITING = [Status.PENDING, Status.SCHEDULED, Status.RETRYING]
LIMITS = ("expires", "deadline")
LATE: Mapping[str, Outcome] = {"expires": Expired(), "deadline": Overdue(started=False)}
RAN: Mapping[str, Outcome] = {
    "crashed": Crashed(),
    "interrupted": Interrupted(),
    "failed": Failed(error=error(), delay=1.0),
    "snoozed": Snoozed(1.0),
}


class LimitTests:
    """Limits count from the call, by the store's clock."""

    @pytest.mark.parametrize("name", LIMITS)
    async def test_seconds_count_from_the_call(self, harness: Harness, name: str) -> None:
        activity = call(**{f"{name}_in": 100.0})
        await harness.submit(activity)

        info = await harness.info(activity.id)

        limit = getattr(info, f"{name}_at")
        assert limit == info.created_at + timedelta(seconds=100)

    @pytest.mark.parametrize("name", LIMITS)
    @pytest.mark.parametrize("seconds", [50.0, 150.0])
    async def test_of_an_instant_and_seconds_the_earlier_holds(
        self, harness: Harness, name: str, seconds: float
    ) -> None:
        """A child has its parent's deadline, unless its own is sooner."""
        at = await harness.now() + timedelta(seconds=100)
        activity = call(**{f"{name}_at": at, f"{name}_in": seconds})
        await harness.submit(activity)

        limit = getattr(await harness.info(activity.id), f"{name}_at")

        assert near(limit, min(at, await harness.now() + timedelta(seconds=seconds)))

    async def test_most_have_none(self, harness: Harness) -> None:
        attempt = await harness.running()
        info = await harness.info(attempt.id)

        assert (info.expires_at, info.deadline_at) == (None, None)
        assert (attempt.expires_in, attempt.deadline_in) == (None, None)

    async def test_limits_that_no_time_can_hold_are_the_last_instant(
        self, harness: Harness
    ) -> None:
        activity = call(expires_in=1e300, deadline_in=1e300)
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert info.expires_at is not None and info.expires_at.year == 9998
        assert info.deadline_at is not None and info.deadline_at.year == 9998

    async def test_an_attempt_says_what_is_left_by_the_stores_clock(self, harness: Harness) -> None:
        await harness.submit(call(expires_in=100.0, deadline_in=200.0))
        await harness.advance(40)

        [attempt] = await harness.claim(new_id())

        assert attempt.expires_in == pytest.approx(60, abs=5)
        assert attempt.deadline_in == pytest.approx(160, abs=5)
        assert near(attempt.claimed_at, await harness.now())
        assert lateness(attempt, after=0.0) is None
        assert lateness(attempt, after=65.0) == Expired()

    async def test_a_claim_says_of_each_whether_it_is_too_late(self, harness: Harness) -> None:
        await harness.submit(call(expires_in=10.0), call(deadline_in=10.0), call())
        await harness.advance(11)

        attempts = await harness.claim(new_id())

        late = [lateness(attempt, after=0.0) for attempt in attempts]
        assert late == [Expired(), Overdue(started=False), None]

    @pytest.mark.parametrize("status", WAITING, ids=str)
    async def test_whatever_waits_beyond_its_deadline_is_given(
        self, harness: Harness, status: Status
    ) -> None:
        id = await harness.bring(call(deadline_in=10.0, queue="default"), status)
        await harness.advance(9)
        assert await harness.claim_overdue() == []
        await harness.advance(2)
        worker = new_id()

        [attempt] = await harness.claim_overdue(worker)

        assert (attempt.id, attempt.worker) == (id, worker)
        assert lateness(attempt, after=0.0) == Overdue(started=False)
        info = await harness.info(id)
        assert (info.status, info.worker, info.claim) == (
            Status.PROCESSING,
            worker,
            attempt.claim,
        )
        assert near(info.lease_until, await harness.now() + timedelta(seconds=30))
        assert await harness.claim_overdue() == []

    @pytest.mark.parametrize("status", [Status.PENDING, Status.SCHEDULED], ids=str)
    async def test_what_has_not_started_by_its_expiry_is_given(
        self, harness: Harness, status: Status
    ) -> None:
        id = await harness.bring(call(expires_in=10.0), status)
        await harness.advance(11)

        [attempt] = await harness.claim_overdue()

        assert attempt.id == id
        assert lateness(attempt, after=0.0) == Expired()

    @pytest.mark.parametrize("how", RAN)
    async def test_what_has_started_expires_no_more(self, harness: Harness, how: str) -> None:
        attempt = await harness.running(call(expires_in=40.0))
        await harness.advance(31)
        await harness.end(attempt, RAN[how])
        await harness.advance(DAY)

        assert await harness.claim_overdue() == []
        assert (await harness.info(attempt.id)).expires_at is None

    @pytest.mark.parametrize("way", ["hand_back", "unstarted", "put back for later"])
    async def test_what_was_claimed_and_not_started_still_expires(
        self, harness: Harness, way: str
    ) -> None:
        attempt = await harness.running(call(expires_in=40.0))
        if way == "hand_back":
            await harness.hand_back(attempt.worker, attempt.lease)
        else:
            await harness.end(attempt, Unstarted(None if way == "unstarted" else 5.0))
        await harness.advance(41)

        assert ids(await harness.claim_overdue()) == [attempt.id]

    @pytest.mark.parametrize("name", LIMITS)
    async def test_what_runs_or_has_ended_is_not_given(self, harness: Harness, name: str) -> None:
        await harness.bring(call(**{f"{name}_in": 10.0}), Status.COMPLETED)
        await harness.bring(call(**{f"{name}_in": 10.0}), Status.CANCELLED)
        await harness.running(call(**{f"{name}_in": 10.0}))
        await harness.advance(11)

        assert await harness.claim_overdue() == []

    async def test_any_queue_and_type_is_given_isolated_or_not(self, harness: Harness) -> None:
        late = [
            call("a", queue="one", deadline_in=1.0),
            call("b", queue="two", expires_in=1.0, max_crashes=1),
            call("c", queue="two", expires_in=1.0, deadline_in=1.0),
        ]
        await harness.submit(*late, call(deadline_in=DAY))
        await harness.advance(2)

        assert ids(await harness.claim_overdue()) == [each.id for each in late]

    async def test_no_more_than_the_limit_is_given(self, harness: Harness) -> None:
        await harness.submit(*(call(expires_in=1.0) for _ in range(3)))
        await harness.submit(*(call(deadline_in=1.0) for _ in range(4)))
        await harness.advance(2)

        counts = [len(await harness.claim_overdue(limit=5)) for _ in range(3)]

        assert counts == [5, 2, 0]

    async def test_an_end_by_a_limit_has_its_kind_and_a_deadline_its_hook(
        self, harness: Harness
    ) -> None:
        """The hook's own life has no such limit."""
        policy = Policy(hooks=("on_failure",))
        late = [call(expires_in=1.0, policy=policy), call(deadline_in=1.0, policy=policy)]
        await harness.submit(*late)
        await harness.advance(2)

        for attempt in await harness.claim_overdue():
            outcome = lateness(attempt, after=0.0)
            assert outcome is not None
            await harness.end(attempt, outcome)

        infos = [await harness.info(each.id) for each in late]
        assert [info.status for info in infos] == [Status.CANCELLED, Status.FAILED]
        kinds = [info.error.kind for info in infos if info.error is not None]
        assert kinds == [ErrorKind.EXPIRED, ErrorKind.DEADLINE]
        told = [await harness.kinds(each.id) for each in late]
        assert told == [["enqueued", "cancelled"], ["enqueued", "failed"]]
        [hook] = await harness.claim(new_id())
        assert (hook.parent_id, hook.type) == (late[1].id, "work:on_failure")
        assert hook.deadline_at is None

    async def test_what_ran_before_its_deadline_shows_that_it_did(self, harness: Harness) -> None:
        attempt = await harness.running(call(deadline_in=10.0))
        await harness.advance(11)
        await harness.end(attempt, Overdue(started=True))

        info = await harness.info(attempt.id)

        assert await harness.kinds(attempt.id) == ["enqueued", "started", "failed"]
        assert info.error is not None and info.error.attempts == 1

    @pytest.mark.parametrize("name", LIMITS)
    async def test_a_lost_worker_that_swept_leaves_nothing_behind(
        self, harness: Harness, name: str
    ) -> None:
        """promise:G4: its lease ends like any other, and another worker ends the activity."""
        await harness.submit(call(**{f"{name}_in": 10.0}))
        await harness.advance(11)
        [attempt] = await harness.claim_overdue()
        await harness.advance(31)

        assert ids(await harness.call(harness.backend.expired, 10)) == [attempt.id]
        await harness.end(attempt, Crashed())
        [again] = await harness.claim_overdue()
        assert (again.id, lateness(again, after=0.0)) == (attempt.id, LATE[name])

    @pytest.mark.parametrize("how", RAN)
    async def test_what_had_expired_when_it_was_claimed_still_expires(
        self, harness: Harness, how: str
    ) -> None:
        """Whatever became of the worker that was to end it: nobody has begun it in time."""
        await harness.submit(call(expires_in=10.0))
        await harness.advance(11)
        attempt = await harness.reclaim()
        await harness.advance(31)
        await harness.end(attempt, RAN[how])
        await harness.advance(2)

        assert ids(await harness.claim_overdue()) == [attempt.id]

    async def test_an_operators_retry_lifts_the_limits_that_have_passed(
        self, harness: Harness
    ) -> None:
        activity = call(expires_in=10.0, deadline_in=1000.0)
        await harness.submit(activity)
        await harness.advance(11)
        [attempt] = await harness.claim_overdue()
        await harness.end(attempt, Expired())

        await harness.retry(activity.id)

        info = await harness.info(activity.id)
        assert info.expires_at is None
        assert near(info.deadline_at, info.created_at + timedelta(seconds=1000))
        again = await harness.reclaim()
        assert lateness(again, after=0.0) is None
        await harness.end(again, Succeeded("1"))

    async def test_a_generation_is_stored(self, harness: Harness) -> None:
        """D24"""
        parent = await harness.running(call(generation=3))
        below = child(parent, generation=parent.generation)
        await harness.submit(below)

        [attempt] = await harness.claim(new_id())

        assert (parent.generation, attempt.generation) == (3, 3)
        assert (await harness.info(below.id)).generation == 3
