"""settle: whose outcome is refused."""

from __future__ import annotations

import anyio
import pytest
from msgspec.structs import replace

from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Failed, Succeeded, Transition, Verdict
from taskq.model import Policy, Status
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call, error, worker
from taskq.testing.conformance.settle import Case, every_case

DEAD = Failed(error=error())


class FenceTests:
    """At most one outcome of a claim is recorded, and only under its lease (promise:G5)."""

    @pytest.mark.parametrize("field", ["worker", "claim"])
    async def test_another_worker_or_claim_is_lost(self, harness: Harness, field: str) -> None:
        """promise:G5"""
        attempt = await harness.running()
        wrong = new_id() if field == "worker" else attempt.claim + 1
        before = await harness.info(attempt.id)

        settlement = await harness.end(replace(attempt, **{field: wrong}), Succeeded("1"))

        assert (settlement.verdict, settlement.status) == (Verdict.LOST, Status.PROCESSING)
        assert await harness.info(attempt.id) == before

    async def test_an_older_claim_of_the_same_worker_is_lost(self, harness: Harness) -> None:
        """promise:G5, seed:W11"""
        attempt = await harness.running()
        await harness.hand_back(attempt.worker, attempt.lease)
        again = await harness.reclaim(worker=attempt.worker)

        assert (await harness.end(attempt, Succeeded('"old"'))).verdict is Verdict.LOST
        assert (await harness.end(again, Succeeded('"new"'))).verdict is Verdict.APPLIED
        assert (await harness.info(attempt.id)).result == '"new"'

    async def test_an_older_claim_is_lost_also_after_the_same_workers_next_outcome(
        self, harness: Harness
    ) -> None:
        """promise:G5: the row shows this worker, but another claim of it."""
        attempt = await harness.running()
        await harness.end(attempt, Failed(error=error(), delay=0.0))
        await harness.call(harness.backend.promote, 10)
        await harness.end(await harness.reclaim(worker=attempt.worker), Succeeded("2"))

        settlement = await harness.end(attempt, Failed(error=error()))

        assert (settlement.verdict, settlement.status) == (Verdict.LOST, Status.COMPLETED)

    async def test_an_unknown_activity_is_lost(self, harness: Harness) -> None:
        attempt = await harness.running()

        settlement = await harness.end(replace(attempt, id=new_id()), Succeeded("1"))

        assert (settlement.verdict, settlement.status) == (Verdict.LOST, None)

    async def test_what_was_never_claimed_is_lost(self, harness: Harness) -> None:
        attempt = await harness.running()
        fresh = call()
        await harness.submit(fresh)

        for claim in (0, 1):
            forged = replace(attempt, id=fresh.id, claim=claim)
            settlement = await harness.end(forged, Succeeded("1"))
            assert (settlement.verdict, settlement.status) == (Verdict.LOST, Status.PENDING)

    async def test_after_the_reaper_the_lost_workers_outcome_is_lost(
        self, harness: Harness
    ) -> None:
        """promise:G5, bug:B29: whether it is pending again or dead. seed:X8"""
        for max_crashes, status in ((3, Status.PENDING), (1, Status.DEAD_LETTER)):
            attempt = await harness.running(call(max_crashes=max_crashes))
            await harness.advance(31)
            await harness.end(attempt, Crashed())
            before = await harness.info(attempt.id)

            settlement = await harness.end(attempt, Succeeded('"late"'))

            assert (settlement.verdict, settlement.status) == (Verdict.LOST, status)
            assert await harness.info(attempt.id) == before
            await harness.cancel(attempt.id)

    async def test_after_a_claim_by_another_the_late_outcome_is_lost(
        self, harness: Harness
    ) -> None:
        """promise:G5, bug:B29"""
        attempt = await harness.running()
        await harness.advance(31)
        await harness.end(attempt, Crashed())
        again = await harness.reclaim()

        assert (await harness.end(attempt, Succeeded('"late"'))).verdict is Verdict.LOST
        assert (await harness.end(again, Succeeded('"right"'))).verdict is Verdict.APPLIED
        assert (await harness.end(attempt, Succeeded('"late"'))).verdict is Verdict.LOST
        assert (await harness.info(attempt.id)).result == '"right"'

    async def test_after_an_operators_retry_an_older_outcome_is_not_applied(
        self, harness: Harness
    ) -> None:
        """promise:G5"""
        attempt = await harness.running(call(max_retries=0))
        await harness.end(attempt, DEAD)
        await harness.retry(attempt.id)
        before = await harness.info(attempt.id)

        settlement = await harness.end(attempt, Succeeded('"late"'))

        assert settlement.verdict is not Verdict.APPLIED
        assert await harness.info(attempt.id) == before

    async def test_after_reaper_and_operator_the_lost_workers_outcome_is_lost(
        self, harness: Harness
    ) -> None:
        """promise:G5"""
        attempt = await harness.running(call(max_crashes=1))
        await harness.advance(31)
        await harness.end(attempt, Crashed())
        await harness.retry(attempt.id)

        assert (await harness.end(attempt, Succeeded('"late"'))).verdict is Verdict.LOST

    async def test_a_live_lease_is_not_taken_back(self, harness: Harness) -> None:
        """promise:G6"""
        attempt = await harness.running()
        await harness.advance(20)

        settlement = await harness.end(attempt, Crashed())

        assert (settlement.verdict, settlement.status) == (Verdict.LOST, Status.PROCESSING)

    async def test_a_lease_renewed_meanwhile_is_not_taken_back(self, harness: Harness) -> None:
        """bug:B40: the reaper acts on a list that has grown stale."""
        attempt = await harness.running()
        await harness.advance(31)
        [expired] = await harness.call(harness.backend.expired, 10)
        await harness.renew(worker(attempt.worker), attempt.lease)

        settlement = await harness.end(expired, Crashed())

        assert (settlement.verdict, settlement.status) == (Verdict.LOST, Status.PROCESSING)
        assert (await harness.end(attempt, Succeeded("1"))).verdict is Verdict.APPLIED

    async def test_of_two_reapers_only_one_acts(self, harness: Harness) -> None:
        """bug:B40"""
        attempt = await harness.running()
        await harness.advance(31)
        one = await harness.call(harness.backend.expired, 10)
        two = await harness.call(harness.backend.expired, 10)

        verdicts = [(await harness.end(each, Crashed())).verdict for each in one + two]

        assert verdicts == [Verdict.APPLIED, Verdict.LOST]
        assert (await harness.info(attempt.id)).crash_count == 1

    async def test_an_outcome_before_the_reaper_wins(self, harness: Harness) -> None:
        """promise:G5"""
        attempt = await harness.running()
        await harness.advance(31)
        [expired] = await harness.call(harness.backend.expired, 10)
        await harness.end(attempt, Succeeded("1"))

        settlement = await harness.end(expired, Crashed())

        assert settlement.verdict is not Verdict.APPLIED
        assert (await harness.info(attempt.id)).crash_count == 0

    @every_case
    async def test_a_repeated_settle_is_known_and_changes_nothing(
        self, harness: Harness, case: Case
    ) -> None:
        """promise:G5: its reply was lost. A reaper's own is LOST, since the worker was cleared."""
        attempt = await harness.running(call(**case.call))
        await harness.advance(31)
        transition = await harness.transition(attempt, case.outcome)
        await harness.settle(transition)
        before = await harness.info(attempt.id), await harness.kinds(attempt.id)

        [settlement] = await harness.settle(transition)

        known = Verdict.LOST if transition.only_if_expired else Verdict.ALREADY_MINE
        assert (settlement.verdict, settlement.status) == (known, case.status)
        assert (await harness.info(attempt.id), await harness.kinds(attempt.id)) == before

    async def test_a_repeated_settle_stores_hooks_once(self, harness: Harness) -> None:
        """promise:G5, design 7.14: also when the engine decides anew, with new ids."""
        policy = Policy(hooks=("on_dead_letter", "on_failure"))
        attempt = await harness.running(call(max_retries=0, policy=policy))
        transition = await harness.transition(attempt, DEAD)
        await harness.settle(transition)

        await harness.settle(transition)
        await harness.settle(await harness.transition(attempt, DEAD))

        assert len(await harness.claim(new_id())) == 2

    async def test_a_lost_outcome_stores_no_hook(self, harness: Harness) -> None:
        policy = Policy(hooks=("on_failure",))
        attempt = await harness.running(call(max_retries=0, policy=policy))

        await harness.end(replace(attempt, claim=7), DEAD)

        assert await harness.claim(new_id()) == []

    async def test_the_same_twice_in_one_batch_is_applied_once(self, harness: Harness) -> None:
        policy = Policy(hooks=("on_failure",))
        attempt = await harness.running(call(max_retries=0, policy=policy))
        transition = await harness.transition(attempt, DEAD)

        settlements = await harness.settle(transition, transition)

        assert [each.verdict for each in settlements] == [Verdict.APPLIED, Verdict.ALREADY_MINE]
        assert len(await harness.claim(new_id())) == 1

    async def test_of_two_different_outcomes_the_first_is_kept(self, harness: Harness) -> None:
        """promise:G5"""
        attempt = await harness.running()
        await harness.end(attempt, Succeeded('"first"'))

        await harness.end(attempt, Failed(error=error(), retryable=False))

        info = await harness.info(attempt.id)
        assert (info.status, info.result, info.error) == (Status.COMPLETED, '"first"', None)

    async def test_of_many_at_once_exactly_one_is_applied(self, harness: Harness) -> None:
        """promise:G5: the worker against eight reapers, at the same moment."""
        attempt = await harness.running()
        await harness.advance(31)
        success = await harness.transition(attempt, Succeeded("1"))
        crash = await harness.transition(attempt, Crashed())
        verdicts: list[Verdict] = []

        async def settle(transition: Transition) -> None:
            verdicts.append((await harness.settle(transition))[0].verdict)

        async with anyio.create_task_group() as tasks:
            for transition in (crash, success, *(crash,) * 7):
                tasks.start_soon(settle, transition)

        assert verdicts.count(Verdict.APPLIED) == 1

    @pytest.mark.parametrize("status", [each for each in Status if each.terminal], ids=str)
    async def test_an_end_stays(self, harness: Harness, status: Status) -> None:
        """promise:G5: a terminal state changes by an operator only. seed:B8"""
        id = await harness.bring(call(), status)
        before = await harness.info(id)

        await harness.cancel(id)
        await harness.advance(100_000)
        await harness.call(harness.backend.promote, 100)
        if before.worker is not None:
            holder = worker(before.worker)
            attempts = await harness.call(harness.backend.expired, 100)
            assert attempts == []
            await harness.renew(holder)

        after = await harness.info(id)
        assert (after.status, after.result, after.error) == (status, before.result, before.error)
        assert (after.claim, after.worker) == (before.claim, before.worker)
        assert await harness.claim(new_id()) == []
