"""cancel: accepted means that it does not start again (promise:G10)."""

from __future__ import annotations

import pytest

from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Succeeded
from taskq.model import ErrorKind, Status
from taskq.testing.conformance.harness import Harness, near
from taskq.testing.conformance.samples import DAY, call, error

WAITING = [Status.PENDING, Status.SCHEDULED, Status.RETRYING]


class CancelTests:
    """Cancels of activities in each state."""

    @pytest.mark.parametrize("status", WAITING, ids=str)
    async def test_what_is_not_running_is_cancelled_at_once(
        self, harness: Harness, status: Status
    ) -> None:
        """promise:G10"""
        id = await harness.bring(call(), status)

        assert await harness.cancel(id) == {id: status}

        info = await harness.info(id)
        assert info.status is Status.CANCELLED
        assert near(info.finished_at, await harness.now())
        assert info.error is not None and info.error.kind is ErrorKind.CANCELLED

    @pytest.mark.parametrize("status", WAITING, ids=str)
    async def test_what_was_cancelled_never_starts(self, harness: Harness, status: Status) -> None:
        """promise:G10"""
        await harness.cancel(await harness.bring(call(), status))

        await harness.advance(2 * DAY)
        await harness.call(harness.backend.promote, 10)

        assert await harness.claim(new_id()) == []

    async def test_what_is_running_is_flagged(self, harness: Harness) -> None:
        """promise:G10"""
        attempt = await harness.running()
        before = await harness.info(attempt.id)

        assert await harness.cancel(attempt.id) == {attempt.id: Status.PROCESSING}

        info = await harness.info(attempt.id)
        assert info.status is Status.PROCESSING
        assert near(info.cancel_requested_at, await harness.now())
        assert (info.worker, info.claim) == (before.worker, before.claim)
        assert info.lease_until == before.lease_until

    async def test_a_result_that_won_the_race_is_kept(self, harness: Harness) -> None:
        """promise:G10"""
        attempt = await harness.running()
        await harness.cancel(attempt.id)

        await harness.end(attempt, Succeeded("1"))

        info = await harness.info(attempt.id)
        assert (info.status, info.result, info.error) == (Status.COMPLETED, "1", None)
        assert info.cancel_requested_at is None

    @pytest.mark.parametrize("status", [each for each in Status if each.terminal], ids=str)
    async def test_what_has_ended_is_left(self, harness: Harness, status: Status) -> None:
        id = await harness.bring(call(), status)
        before = await harness.info(id)

        assert await harness.cancel(id) == {id: status}
        assert await harness.info(id) == before

    async def test_unknown_ids_are_not_cancelled(self, harness: Harness) -> None:
        activity = call()
        await harness.submit(activity)

        assert await harness.cancel(new_id(), activity.id) == {activity.id: Status.PENDING}
        assert await harness.cancel(new_id()) == {}
        assert await harness.cancel() == {}

    async def test_many_in_different_states_go_at_once(self, harness: Harness) -> None:
        running = await harness.running()
        pending, scheduled = call(), call(delay=DAY)
        await harness.submit(pending, scheduled)

        before = await harness.cancel(running.id, pending.id, scheduled.id, pending.id)

        assert before == {
            running.id: Status.PROCESSING,
            pending.id: Status.PENDING,
            scheduled.id: Status.SCHEDULED,
        }
        assert await harness.status(pending.id) is Status.CANCELLED
        assert await harness.status(scheduled.id) is Status.CANCELLED

    async def test_a_repeated_cancel_changes_nothing_more(self, harness: Harness) -> None:
        waiting, running = call(delay=DAY), await harness.running()
        await harness.submit(waiting)
        await harness.cancel(waiting.id, running.id)
        before = [await harness.info(id) for id in (waiting.id, running.id)]
        await harness.advance(5)

        again = await harness.cancel(waiting.id, running.id)

        assert again == {waiting.id: Status.CANCELLED, running.id: Status.PROCESSING}
        assert [await harness.info(id) for id in (waiting.id, running.id)] == before
        assert (await harness.kinds(running.id)).count("cancel_requested") == 1

    async def test_a_flag_does_not_outlive_its_attempt(self, harness: Harness) -> None:
        """An operator's retry after a cancel starts with a clean row."""
        attempt = await harness.running()
        await harness.cancel(attempt.id)
        await harness.end(attempt, Failed(error=error()))
        await harness.retry(attempt.id)

        again = await harness.reclaim()

        assert await harness.call(harness.backend.cancel_requests, again.worker) == []
        assert (await harness.end(again, Failed(error=error()))).status is Status.RETRYING

    async def test_the_request_is_in_the_timeline(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.cancel(attempt.id)
        await harness.end(attempt, Failed(error=error()))

        assert await harness.kinds(attempt.id) == [
            "enqueued",
            "started",
            "cancel_requested",
            "failed",
            "cancelled",
        ]
