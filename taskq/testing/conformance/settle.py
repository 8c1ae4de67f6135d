"""settle: every outcome, decided and applied to a row whose lease holds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from taskq.backends.instants import LAST
from taskq.errors import Unstorable
from taskq.hooks import hook_type
from taskq.identifiers import new_id
from taskq.lifecycle import (
    Cancelled,
    Crashed,
    Failed,
    Interrupted,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
    Verdict,
)
from taskq.model import ErrorKind, Policy, Status
from taskq.retry import RetryPolicy
from taskq.testing.conformance.harness import Harness, near
from taskq.testing.conformance.samples import call, error


class Case(Struct, frozen=True, kw_only=True):
    """An outcome, the state that it leads to, and the state where a cancel was accepted."""

    name: str
    outcome: Outcome
    status: Status
    cancelled: Status
    call: dict[str, object] = field(default_factory=dict[str, object])
    note: str | None = None


BOOM = error()
LATE = error("too slow", kind=ErrorKind.TIMEOUT)

CASES = (
    Case(
        name="succeeded",
        outcome=Succeeded('"done"'),
        status=Status.COMPLETED,
        cancelled=Status.COMPLETED,
    ),
    Case(
        name="failed, retries left",
        outcome=Failed(error=BOOM),
        status=Status.RETRYING,
        cancelled=Status.CANCELLED,
        note="failed",
    ),
    Case(
        name="failed for good",
        outcome=Failed(error=BOOM, retryable=False),
        status=Status.FAILED,
        cancelled=Status.FAILED,
    ),
    Case(
        name="retries exhausted",
        outcome=Failed(error=BOOM),
        status=Status.DEAD_LETTER,
        cancelled=Status.DEAD_LETTER,
        call={"max_retries": 0},
    ),
    Case(
        name="retries exhausted, no dead letters",
        outcome=Failed(error=BOOM),
        status=Status.FAILED,
        cancelled=Status.FAILED,
        call={"max_retries": 0, "policy": Policy(dead_letter=False)},
    ),
    Case(
        name="timed out, retries left",
        outcome=TimedOut(LATE),
        status=Status.RETRYING,
        cancelled=Status.CANCELLED,
        note="timed_out",
    ),
    Case(
        name="timed out for good",
        outcome=TimedOut(LATE),
        status=Status.FAILED,
        cancelled=Status.FAILED,
        call={"policy": Policy(retry_on_timeout=False)},
    ),
    Case(
        name="cancelled",
        outcome=Cancelled(),
        status=Status.CANCELLED,
        cancelled=Status.CANCELLED,
    ),
    Case(
        name="interrupted",
        outcome=Interrupted(),
        status=Status.PENDING,
        cancelled=Status.CANCELLED,
        note="interrupted",
    ),
    Case(
        name="snoozed",
        outcome=Snoozed(60.0),
        status=Status.SCHEDULED,
        cancelled=Status.CANCELLED,
        note="snoozed",
    ),
    Case(
        name="crashed, crashes left",
        outcome=Crashed(),
        status=Status.PENDING,
        cancelled=Status.CANCELLED,
        note="crashed",
    ),
    Case(
        name="crashes exhausted",
        outcome=Crashed(),
        status=Status.DEAD_LETTER,
        cancelled=Status.DEAD_LETTER,
        call={"max_crashes": 1},
    ),
)

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


class SettleTests:
    """What an applied transition writes."""

    @every_case
    async def test_an_outcome_leads_to_its_state(self, harness: Harness, case: Case) -> None:
        """seed:B5"""

        attempt = await harness.running(call(**case.call))
        await harness.advance(31)

        settlement = await harness.end(attempt, case.outcome)

        assert (settlement.id, settlement.verdict) == (attempt.id, Verdict.APPLIED)
        assert settlement.status is case.status
        assert await harness.status(attempt.id) is case.status

    @every_case
    async def test_an_accepted_cancel_replaces_every_state_but_an_end(
        self, harness: Harness, case: Case
    ) -> None:
        """promise:G10: it does not start again; where it had won the race, its real outcome."""
        attempt = await harness.running(call(**case.call))
        await harness.cancel(attempt.id)
        await harness.advance(31)

        settlement = await harness.end(attempt, case.outcome)

        assert (settlement.verdict, settlement.status) == (Verdict.APPLIED, case.cancelled)
        info = await harness.info(attempt.id)
        assert (info.status, info.cancel_requested_at) == (case.cancelled, None)
        assert near(info.finished_at, await harness.now())
        if case.cancelled is Status.CANCELLED:
            assert info.result is None
            assert info.error is not None and info.error.kind is ErrorKind.CANCELLED

    @every_case
    async def test_a_transition_is_written_whole(self, harness: Harness, case: Case) -> None:
        """seed:L9"""

        attempt = await harness.running(call(**case.call))
        before = await harness.info(attempt.id)
        await harness.advance(31)
        transition = await harness.transition(attempt, case.outcome)

        await harness.settle(transition)

        info = await harness.info(attempt.id)
        assert (info.result, info.error) == (transition.result, transition.error)
        assert (info.retry_count, info.crash_count) == (
            transition.retry_count,
            transition.crash_count,
        )
        assert info.isolate is transition.isolate
        assert (info.lease_until, info.cancel_requested_at) == (None, None)
        assert (info.claim, info.started_at) == (attempt.claim, before.started_at)
        assert info.worker == (None if transition.only_if_expired else attempt.worker)

    @every_case
    async def test_only_an_end_is_dated(self, harness: Harness, case: Case) -> None:
        """seed:L8"""

        attempt = await harness.running(call(**case.call))
        await harness.advance(31)

        await harness.end(attempt, case.outcome)

        finished_at = (await harness.info(attempt.id)).finished_at
        if case.status.terminal:
            assert near(finished_at, await harness.now())
        else:
            assert finished_at is None

    @every_case
    async def test_an_event_row_is_written_where_the_row_cannot_tell(
        self, harness: Harness, case: Case
    ) -> None:
        """design 7.7"""
        attempt = await harness.running(call(**case.call))
        await harness.advance(31)
        await harness.end(attempt, case.outcome)

        timeline = await harness.call(harness.backend.timeline, attempt.id)

        notes = [entry for entry in timeline if entry.kind == case.note]
        assert len(notes) == (0 if case.note is None else 1)
        for entry in notes:
            assert (entry.attempt, entry.worker) == (1, attempt.worker)

    async def test_a_retry_is_ready_after_its_delay(self, harness: Harness) -> None:
        """promise:G9"""
        attempt = await harness.running()

        await harness.end(attempt, Failed(error=BOOM, delay=90.5))

        ready_at = (await harness.info(attempt.id)).ready_at
        assert near(ready_at, await harness.now() + timedelta(seconds=90.5))

    async def test_a_retry_waits_for_its_delay(self, harness: Harness) -> None:
        """promise:G7"""
        attempt = await harness.running()
        await harness.end(attempt, Failed(error=BOOM, delay=90.0))

        await harness.advance(60)
        assert (await harness.call(harness.backend.promote, 10)).moved == 0
        await harness.advance(60)
        assert (await harness.call(harness.backend.promote, 10)).moved == 1

        again = await harness.reclaim()
        assert (again.id, again.retry_count, again.number) == (attempt.id, 1, 2)

    async def test_a_zero_delay_is_ready_now_not_at_the_old_place(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.advance(10)

        await harness.end(attempt, Snoozed(0.0))

        assert near((await harness.info(attempt.id)).ready_at, await harness.now())

    async def test_without_a_delay_the_place_is_kept(self, harness: Harness) -> None:
        """promise:G14: interrupted by a shutdown, it does not go to the end of the queue."""
        attempt = await harness.running()
        await harness.advance(10)
        await harness.submit(call())

        await harness.end(attempt, Interrupted())

        assert (await harness.info(attempt.id)).ready_at == attempt.ready_at
        assert (await harness.claim(new_id()))[0].id == attempt.id

    async def test_a_success_clears_the_error_of_the_attempt_before(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.end(attempt, Failed(error=BOOM, delay=0.0))
        await harness.call(harness.backend.promote, 10)

        await harness.end(await harness.reclaim(), Succeeded("1"))

        info = await harness.info(attempt.id)
        assert (info.error, info.result, info.retry_count) == (None, "1", 1)

    async def test_retries_are_spent_one_by_one(self, harness: Harness) -> None:
        """promise:G8: max_retries 2 is three attempts, then the dead letter with the reason."""
        attempt = await harness.running(call(max_retries=2))
        numbers = [attempt.number]
        while (await harness.end(attempt, Failed(error=BOOM, delay=0.0))).status is Status.RETRYING:
            await harness.call(harness.backend.promote, 10)
            attempt = await harness.reclaim()
            numbers.append(attempt.number)

        info = await harness.info(attempt.id)
        assert numbers == [1, 2, 3]
        assert (info.status, info.retry_count, info.error) == (Status.DEAD_LETTER, 2, BOOM)

    async def test_hooks_are_stored_with_the_end(self, harness: Harness) -> None:
        """design 7.14: children in the settling transaction, claimable like any other."""
        policy = Policy(hooks=("on_dead_letter", "on_failure"))
        attempt = await harness.running(call(max_retries=0, policy=policy))

        await harness.end(attempt, Failed(error=BOOM))

        hooks = await harness.claim(new_id())
        assert [hook.type for hook in hooks] == [
            hook_type("work", "on_dead_letter"),
            hook_type("work", "on_failure"),
        ]
        assert {(hook.parent_id, hook.depth) for hook in hooks} == {(attempt.id, 1)}
        assert '"boom"' in hooks[0].payload

    async def test_a_late_outcome_that_nobody_took_back_is_kept(self, harness: Harness) -> None:
        """seed:R11: the lease has ended, but nobody else may have run it."""
        attempt = await harness.running()
        await harness.advance(3600)

        assert (await harness.end(attempt, Succeeded("1"))).verdict is Verdict.APPLIED

    async def test_settlements_answer_one_to_one(self, harness: Harness) -> None:
        """seed:B1"""

        worker = new_id()
        await harness.submit(*(call() for _ in range(4)))
        one, two, three, four = await harness.claim(worker)
        await harness.end(three, Succeeded("3"))
        transitions = [
            await harness.transition(four, Failed(error=BOOM, retryable=False)),
            await harness.transition(replace(two, claim=9), Succeeded("2")),
            await harness.transition(replace(one, id=new_id()), Succeeded("0")),
            await harness.transition(three, Succeeded("3")),
            await harness.transition(one, Succeeded("1")),
        ]

        settlements = await harness.settle(*transitions)

        assert [each.id for each in settlements] == [each.id for each in transitions]
        assert [(each.verdict, each.status) for each in settlements] == [
            (Verdict.APPLIED, Status.FAILED),
            (Verdict.LOST, Status.PROCESSING),
            (Verdict.LOST, None),
            (Verdict.ALREADY_MINE, Status.COMPLETED),
            (Verdict.APPLIED, Status.COMPLETED),
        ]

    async def test_a_large_batch_is_applied_whole(self, harness: Harness) -> None:
        worker = new_id()
        await harness.submit(*(call() for _ in range(300)))
        attempts = await harness.claim(worker, limit=300)
        transitions = [
            await harness.transition(attempt, Succeeded(str(number)))
            for number, attempt in enumerate(attempts)
        ]

        settlements = await harness.settle(*transitions)

        assert {each.verdict for each in settlements} == {Verdict.APPLIED}
        infos = await harness.call(harness.backend.get, [attempt.id for attempt in attempts])
        results = [infos[attempt.id].result for attempt in attempts]
        assert results == [str(number) for number in range(300)]

    async def test_settling_nothing_is_nothing(self, harness: Harness) -> None:
        assert await harness.settle() == []

    async def test_a_retry_beyond_all_years_is_due_in_the_last_one(self, harness: Harness) -> None:
        """It was half applied: counted, and still processing."""
        forever = Policy(retry=RetryPolicy(initial_delay=1e12, max_delay=1e12))
        worker = new_id()
        await harness.submit(call(policy=forever), call())
        attempts = await harness.claim(worker)
        retried, snoozed = [
            await harness.end(attempts[0], Failed(error=BOOM)),
            await harness.end(attempts[1], Snoozed(1e300)),
        ]

        assert (retried.status, snoozed.status) == (Status.RETRYING, Status.SCHEDULED)
        for attempt in attempts:
            assert (await harness.info(attempt.id)).ready_at == LAST
        assert await harness.kinds(attempts[0].id) == ["enqueued", "started", "failed"]

    async def test_a_hook_that_cannot_be_stored_leaves_all_as_it_was(
        self, harness: Harness
    ) -> None:
        attempt = await harness.running()
        before = await harness.info(attempt.id)
        hook = call(run_at=LAST + timedelta(days=1))
        failed = await harness.transition(attempt, Failed(error=BOOM))

        with pytest.raises(Unstorable):
            await harness.settle(replace(failed, hooks=(hook,)))

        assert await harness.info(attempt.id) == before

    async def test_a_batch_with_something_unstorable_is_applied_in_no_part(
        self, harness: Harness
    ) -> None:
        """design 7.2: the engine finds the culprit by halves, so nothing may be half done."""
        worker = new_id()
        await harness.submit(call(), call())
        good, bad = await harness.claim(worker)
        transitions = [
            await harness.transition(good, Succeeded("1")),
            await harness.transition(bad, Succeeded('"\ud800"')),
        ]

        with pytest.raises(Unstorable):
            await harness.settle(*transitions)

        held = await harness.call(harness.backend.held, worker)
        assert sorted(lease.id for lease in held) == sorted([good.id, bad.id])
        assert (await harness.settle(transitions[0]))[0].verdict is Verdict.APPLIED
