"""retry: an operator sends an ended activity round again."""

from __future__ import annotations

import pytest

from taskq.identifiers import new_id
from taskq.lifecycle import RETRYABLE_BY_OPERATOR, Crashed, Failed, Succeeded
from taskq.model import Status
from taskq.testing.conformance.harness import Harness, ids, near
from taskq.testing.conformance.samples import call, error

RETRYABLE = sorted(RETRYABLE_BY_OPERATOR)
OTHERS = sorted(set(Status) - RETRYABLE_BY_OPERATOR)


class OperatorRetryTests:
    """From each state; audited; the claim number never falls (promise:G5)."""

    @pytest.mark.parametrize("status", RETRYABLE, ids=str)
    async def test_an_ended_one_is_pending_again(self, harness: Harness, status: Status) -> None:
        id = await harness.bring(call(), status)
        claim = (await harness.info(id)).claim
        await harness.advance(10)

        assert await harness.retry(id) == {id: status}

        info = await harness.info(id)
        assert info.status is Status.PENDING
        assert near(info.ready_at, await harness.now())
        assert (info.retry_count, info.crash_count, info.claim) == (0, 0, claim)
        assert (info.result, info.error, info.finished_at) == (None, None, None)
        assert info.cancel_requested_at is None

    @pytest.mark.parametrize("status", OTHERS, ids=str)
    async def test_every_other_is_left_as_it_is(self, harness: Harness, status: Status) -> None:
        id = await harness.bring(call(), status)
        before = await harness.info(id), await harness.kinds(id)

        assert await harness.retry(id) == {id: status}
        assert (await harness.info(id), await harness.kinds(id)) == before

    async def test_unknown_ids_are_not_retried(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.FAILED)

        assert await harness.retry(new_id(), id, id) == {id: Status.FAILED}
        assert await harness.retry() == {}

    async def test_it_can_be_claimed_under_the_next_number(self, harness: Harness) -> None:
        """promise:G5"""
        attempt = await harness.running(call(max_retries=0))
        await harness.end(attempt, Failed(error=error()))
        await harness.retry(attempt.id)

        again = await harness.reclaim()

        assert (again.id, again.claim, again.number) == (attempt.id, 2, 1)
        await harness.end(again, Succeeded("1"))
        assert await harness.status(attempt.id) is Status.COMPLETED

    async def test_its_budgets_are_whole_again(self, harness: Harness) -> None:
        attempt = await harness.running(call(max_retries=1))
        for _ in range(2):
            await harness.end(attempt, Failed(error=error(), delay=0.0))
            if await harness.status(attempt.id) is Status.RETRYING:
                await harness.call(harness.backend.promote, 10)
                attempt = await harness.reclaim()
        assert await harness.status(attempt.id) is Status.DEAD_LETTER
        await harness.retry(attempt.id)

        again = await harness.reclaim()

        settlement = await harness.end(again, Failed(error=error()))
        assert settlement.status is Status.RETRYING

    async def test_a_poison_one_is_not_isolated_until_it_has_crashed_again(
        self, harness: Harness
    ) -> None:
        attempt = await harness.running(call(max_crashes=2))
        for _ in range(2):
            await harness.advance(31)
            await harness.end(attempt, Crashed())
            if await harness.status(attempt.id) is Status.PENDING:
                attempt = await harness.reclaim()
        assert await harness.status(attempt.id) is Status.DEAD_LETTER

        await harness.retry(attempt.id)

        info = await harness.info(attempt.id)
        assert (info.isolate, info.crash_count) == (False, 0)
        assert ids(await harness.claim(new_id())) == [attempt.id]

    async def test_one_that_may_crash_but_once_stays_isolated(self, harness: Harness) -> None:
        attempt = await harness.running(call(max_crashes=1))
        await harness.end(attempt, Failed(error=error(), retryable=False))

        await harness.retry(attempt.id)

        assert (await harness.info(attempt.id)).isolate

    async def test_who_and_why_is_recorded(self, harness: Harness) -> None:
        """promise:G5: an explicit, audited action that keeps the history. seed:L7"""
        id = await harness.bring(call(), Status.DEAD_LETTER)  # a worker is in its row
        await harness.retry(id, actor="ada@example.com", reason="the bank is back \U0001f3e6")

        timeline = await harness.call(harness.backend.timeline, id)

        [entry] = [entry for entry in timeline if entry.kind == "retried"]
        assert (entry.attempt, entry.worker) == (None, None)
        assert entry.detail["actor"] == "ada@example.com"
        assert entry.detail["reason"] == "the bank is back \U0001f3e6"
        assert entry.detail["status"] == "dead_letter"
        assert "boom" in str(entry.detail["error"])

    async def test_a_repeated_retry_changes_nothing_more(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.FAILED)
        await harness.retry(id)
        before = await harness.info(id)

        assert await harness.retry(id) == {id: Status.PENDING}

        assert await harness.info(id) == before
        assert (await harness.kinds(id)).count("retried") == 1

    async def test_many_go_at_once(self, harness: Harness) -> None:
        dead = [await harness.bring(call(), Status.DEAD_LETTER) for _ in range(20)]
        done = await harness.bring(call(), Status.COMPLETED)

        before = await harness.retry(*dead, done)

        assert before == dict.fromkeys(dead, Status.DEAD_LETTER) | {done: Status.COMPLETED}
        assert sorted(ids(await harness.claim(new_id()))) == sorted(dead)
