"""The state machine: what follows from each outcome (seed:L1-L4, promise:G5, G8, G10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from taskq.hooks import with_hooks
from taskq.lifecycle import (
    RETRYABLE_BY_OPERATOR,
    TRANSITIONS,
    Cancelled,
    Crashed,
    Died,
    Expired,
    Failed,
    Interrupted,
    Note,
    Outcome,
    Overdue,
    Snoozed,
    Succeeded,
    TimedOut,
    decide,
    lateness,
)
from taskq.model import Attempt, ErrorInfo, ErrorKind, Policy, Priority, Status
from taskq.retry import RetryPolicy

ERROR = ErrorInfo(type="ValueError", message="no")
NOW = datetime(2026, 1, 2, tzinfo=UTC)
OUTCOMES: list[Outcome] = [
    Succeeded("1"),
    Failed(error=ERROR),
    Failed(error=ERROR, retryable=False),
    Failed(error=ERROR, delay=7.0),
    TimedOut(ERROR),
    Cancelled(),
    Died("ended"),
    Interrupted(),
    Snoozed(3.0),
    Crashed(),
    Expired(),
    Overdue(started=False),
    Overdue(started=True),
]


def attempt(**changes: Any) -> Attempt:
    plain = Attempt(
        id=UUID(int=1),
        worker=UUID(int=2),
        claim=7,
        type="send_email",
        queue="mail",
        payload='{"to":"a"}',
        root_id=UUID(int=1),
        origin_id=UUID(int=1),
        created_at=NOW,
        ready_at=NOW,
    )
    return replace(plain, **changes)


def test_every_state_is_in_the_table_and_only_terminal_ones_end_there() -> None:
    """seed:L1, seed:L4"""
    assert set(TRANSITIONS) == set(Status)
    assert {status for status in Status if status.terminal} == {
        Status.COMPLETED,
        Status.FAILED,
        Status.DEAD_LETTER,
        Status.CANCELLED,
    }
    assert set(TRANSITIONS[Status.COMPLETED]) == set()


def test_an_operator_may_retry_what_ended_badly() -> None:
    assert {Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED} == RETRYABLE_BY_OPERATOR


@pytest.mark.parametrize(
    "outcome",
    [Failed(error=ERROR), TimedOut(ERROR), Crashed()],
    ids=lambda each: type(each).__name__,
)
def test_without_dead_letters_what_is_exhausted_has_just_failed(outcome: Outcome) -> None:
    """seed:E27"""
    policy = Policy(dead_letter=False, hooks=("on_dead_letter", "on_failure"))

    ended = decide(attempt(max_retries=0, max_crashes=1, policy=policy), outcome)

    assert ended.status is Status.FAILED
    assert ended.error is not None and ended.error.kind is ErrorKind.RETRIES_EXHAUSTED
    assert ended.hook_names == ("on_failure",)
    kept = decide(attempt(max_retries=0, max_crashes=1), outcome)
    assert (kept.status, kept.fingerprint) == (Status.DEAD_LETTER, ended.fingerprint)


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda each: type(each).__name__)
def test_what_failed_has_a_cause_and_nothing_else(outcome: Outcome) -> None:
    """seed:R18"""
    transition = decide(attempt(), outcome)

    ended_badly = transition.status in (Status.FAILED, Status.DEAD_LETTER)
    assert (transition.fingerprint is not None) is ended_badly


def test_every_state_that_is_not_an_end_can_be_cancelled() -> None:
    """promise:G10"""
    for status in Status:
        if not status.terminal:
            assert Status.CANCELLED in TRANSITIONS[status]


attempts = st.builds(
    attempt,
    retry_count=st.integers(0, 5),
    crash_count=st.integers(0, 2),
    max_retries=st.none() | st.integers(0, 5),
    max_crashes=st.integers(1, 5),
    isolate=st.booleans(),
    policy=st.builds(
        Policy,
        retry_on_timeout=st.booleans(),
        hooks=st.sampled_from([(), ("on_dead_letter",), ("on_dead_letter", "on_failure")]),
    ),
)
outcomes = st.sampled_from(OUTCOMES)


@given(attempts, outcomes, st.floats(0, 1))
def test_whatever_is_decided_is_in_the_table(
    attempt: Attempt, outcome: Outcome, chance: float
) -> None:
    """seed:L3"""

    transition = decide(attempt, outcome, chance=chance)
    assert transition.status in TRANSITIONS[Status.PROCESSING]
    assert (transition.id, transition.worker, transition.claim) == (
        attempt.id,
        attempt.worker,
        attempt.claim,
    )


@given(attempts, outcomes)
def test_every_transition_that_is_not_an_end_gives_way_to_an_accepted_cancel(
    attempt: Attempt, outcome: Outcome
) -> None:
    """promise:G10"""
    transition = decide(attempt, outcome)
    expected = None if transition.status.terminal else Status.CANCELLED
    assert transition.if_cancel_requested is expected


@given(attempts, outcomes)
def test_budgets_never_shrink_and_grow_by_one_of_one_kind_at_most(
    attempt: Attempt, outcome: Outcome
) -> None:
    """promise:G8"""
    transition = decide(attempt, outcome)
    retries = transition.retry_count - attempt.retry_count
    crashes = transition.crash_count - attempt.crash_count
    assert (retries, crashes) in {(0, 0), (1, 0), (0, 1)}


@given(attempts, outcomes)
def test_only_a_completed_transition_carries_a_result_and_only_others_an_error(
    attempt: Attempt, outcome: Outcome
) -> None:
    transition = decide(attempt, outcome)
    assert (transition.result is not None) == (transition.status is Status.COMPLETED)
    if transition.status.terminal:
        assert (transition.error is None) == (transition.status is Status.COMPLETED)


def test_a_result_completes() -> None:
    transition = decide(attempt(), Succeeded('"id"'))
    assert (transition.status, transition.result) == (Status.COMPLETED, '"id"')


@pytest.mark.parametrize(("count", "delay"), [(0, 1.0), (1, 2.0), (2, 4.0)])
def test_a_failure_is_retried_after_the_policys_delay(count: int, delay: float) -> None:
    transition = decide(attempt(retry_count=count), Failed(error=ERROR))
    assert transition.status is Status.RETRYING
    assert (transition.retry_count, transition.delay) == (count + 1, delay)
    assert transition.note is Note.FAILED


def test_max_retries_counts_retries_after_the_first_run() -> None:
    """D1: max_retries=3 is four runs. seed:Q3, seed:R4"""
    assert decide(attempt(retry_count=2), Failed(error=ERROR)).status is Status.RETRYING
    assert decide(attempt(retry_count=3), Failed(error=ERROR)).status is Status.DEAD_LETTER


def test_max_retries_zero_dead_letters_an_ordinary_exception_at_once() -> None:
    transition = decide(attempt(max_retries=0), Failed(error=ERROR))
    assert (transition.status, transition.retry_count) == (Status.DEAD_LETTER, 0)


def test_max_retries_none_is_unlimited() -> None:
    """D2, seed:Q3"""
    transition = decide(attempt(max_retries=None, retry_count=10_000), Failed(error=ERROR))
    assert (transition.status, transition.delay) == (Status.RETRYING, 3600.0)


def test_a_failure_may_bring_its_own_delay() -> None:
    assert decide(attempt(), Failed(error=ERROR, delay=0.25)).delay == 0.25


def test_a_failure_not_to_be_retried_ends_failed_whatever_is_left() -> None:
    """seed:R12"""
    transition = decide(attempt(), Failed(error=ERROR, retryable=False))
    assert (transition.status, transition.delay) == (Status.FAILED, None)


def test_a_timeout_is_retried_like_a_failure() -> None:
    """seed:R10, D10"""
    transition = decide(attempt(), TimedOut(ERROR))
    assert (transition.status, transition.note) == (Status.RETRYING, Note.TIMED_OUT)


def test_a_timeout_that_is_not_to_be_retried_ends_failed() -> None:
    transition = decide(attempt(policy=Policy(retry_on_timeout=False)), TimedOut(ERROR))
    assert transition.status is Status.FAILED


def test_retries_used_up_by_timeouts_dead_letter() -> None:
    """bug:B49"""
    assert decide(attempt(retry_count=3), TimedOut(ERROR)).status is Status.DEAD_LETTER


def test_an_interruption_counts_nothing_and_keeps_the_place() -> None:
    """promise:G14, bug:B84"""
    transition = decide(attempt(retry_count=2, crash_count=1), Interrupted())
    assert transition.status is Status.PENDING
    assert (transition.retry_count, transition.crash_count, transition.delay) == (2, 1, None)


def test_a_snooze_waits_and_counts_nothing() -> None:
    transition = decide(attempt(retry_count=2), Snoozed(9.0))
    assert (transition.status, transition.delay, transition.retry_count) == (
        Status.SCHEDULED,
        9.0,
        2,
    )


def test_a_crash_goes_back_to_its_place_and_costs_a_crash_but_no_retry() -> None:
    """D13, bug:B45"""
    transition = decide(attempt(retry_count=1), Crashed())
    assert transition.status is Status.PENDING
    assert (transition.retry_count, transition.crash_count, transition.delay) == (1, 1, None)
    assert transition.only_if_expired


def test_the_last_crash_but_one_asks_for_isolation() -> None:
    assert not decide(attempt(), Crashed()).isolate
    assert decide(attempt(crash_count=1), Crashed()).isolate


def test_crashes_used_up_dead_letter() -> None:
    """promise:G8, bug:B45, bug:B52"""
    transition = decide(attempt(crash_count=2), Crashed())
    assert (transition.status, transition.crash_count) == (Status.DEAD_LETTER, 3)
    assert transition.error is not None
    assert transition.error.kind is ErrorKind.CRASHED


def test_a_death_that_its_worker_has_seen_counts_at_once_and_isolates_nothing() -> None:
    """Neither waits for a lease to end, nor asks for a last run alone: see Crashed."""
    again = decide(attempt(crash_count=1, retry_count=1), Died("was killed by SIGSEGV"))
    last = decide(attempt(crash_count=2), Died("ended with exit code 1"))

    assert (again.status, again.crash_count, again.retry_count) == (Status.PENDING, 2, 1)
    assert again.delay is None and not again.isolate and not again.only_if_expired
    assert last.status is Status.DEAD_LETTER and not last.only_if_expired
    assert again.error is not None and last.error is not None
    assert again.error.message == "its process was killed by SIGSEGV (2 of at most 3)"
    assert last.error.kind is ErrorKind.CRASHED


def test_isolation_lasts_until_the_activity_ends() -> None:
    for outcome in (Interrupted(), Snoozed(1.0), Failed(error=ERROR)):
        assert decide(attempt(crash_count=2, isolate=True), outcome).isolate


@pytest.mark.parametrize(
    ("outcome", "hooks"),
    [
        (Failed(error=ERROR), ("on_dead_letter", "on_failure")),
        (Failed(error=ERROR, retryable=False), ("on_failure",)),
        (Cancelled(), ()),
        (Succeeded("1"), ()),
    ],
)
def test_hooks_follow_dead_letters_and_failures_never_cancels(
    outcome: Outcome, hooks: tuple[str, ...]
) -> None:
    """seed:R14"""

    policy = Policy(hooks=("on_dead_letter", "on_failure"))
    transition = decide(attempt(policy=policy, max_retries=0), outcome)
    assert transition.hook_names == hooks


def test_hooks_become_children_with_the_real_counts() -> None:
    """seed:R13, D32"""
    policy = Policy(hooks=("on_dead_letter",))
    dying = attempt(
        policy=policy, retry_count=3, priority=Priority.HIGH, metadata='{"a":1}', crash_count=1
    )
    transition = with_hooks(
        decide(dying, Failed(error=ERROR)), dying, now=NOW, new_id=lambda: UUID(int=9)
    )
    (hook,) = transition.hooks
    assert (hook.type, hook.queue, hook.parent_id) == (
        "send_email:on_dead_letter",
        "mail",
        dying.id,
    )
    assert hook.depth == 1
    assert '"retry_count":3' in hook.payload
    assert '"metadata":{"a":1}' in hook.payload
    assert '"arguments":{"to":"a"}' in hook.payload


def test_a_hook_survives_a_payload_that_is_no_json() -> None:
    dying = attempt(policy=Policy(hooks=("on_failure",)), payload="not json")
    transition = decide(dying, Failed(error=ERROR, retryable=False))
    (hook,) = with_hooks(transition, dying, now=NOW, new_id=lambda: UUID(int=9)).hooks
    assert '"text":"not json"' in hook.payload


def test_the_policys_jitter_is_placed_by_chance() -> None:
    policy = Policy(retry=RetryPolicy(initial_delay=10, jitter=0.5))
    delays = [
        decide(attempt(policy=policy), Failed(error=ERROR), chance=chance).delay
        for chance in (0.0, 0.5, 1.0)
    ]
    assert delays == [5.0, 10.0, 15.0]


@pytest.mark.parametrize(
    ("expires", "deadline", "after", "expected"),
    [
        (None, None, 1e9, None),
        (5, None, 4.9, None),
        (5, None, 5.0, Expired()),
        (None, 5, 4.9, None),
        (None, 5, 5.0, Overdue(started=False)),
        (5, 5, 6.0, Expired()),
        (-1, None, 0.0, Expired()),
        (None, 0, 0.0, Overdue(started=False)),
    ],
)
def test_what_is_too_late_is_told_in_seconds_from_the_claim(
    expires: int | None, deadline: int | None, after: float, expected: Outcome | None
) -> None:
    def at(seconds: int | None) -> datetime | None:
        return None if seconds is None else NOW + timedelta(seconds=seconds)

    claimed = attempt(claimed_at=NOW, expires_at=at(expires), deadline_at=at(deadline))

    assert lateness(claimed, after=after) == expected


def test_where_the_store_does_not_say_when_it_was_claimed_nothing_is_too_late() -> None:
    assert lateness(attempt(expires_at=NOW, deadline_at=NOW), after=1e9) is None


@pytest.mark.parametrize(
    ("outcome", "status", "kind", "attempts"),
    [
        (Expired(), Status.CANCELLED, ErrorKind.EXPIRED, 2),
        (Overdue(started=False), Status.FAILED, ErrorKind.DEADLINE, 2),
        (Overdue(started=True), Status.FAILED, ErrorKind.DEADLINE, 3),
    ],
)
def test_what_is_too_late_ends_for_good(
    outcome: Outcome, status: Status, kind: ErrorKind, attempts: int
) -> None:
    """An attempt that never began is none: it is not counted."""
    late = attempt(
        retry_count=2,
        max_retries=None,
        policy=Policy(hooks=("on_dead_letter", "on_failure")),
        expires_at=NOW,
        deadline_at=NOW,
    )

    transition = decide(late, outcome)

    hooks = ("on_failure",) if status is Status.FAILED else ()
    assert transition.status is status
    assert (transition.hook_names, transition.note) == (hooks, None)
    assert transition.error is not None
    assert (transition.error.kind, transition.error.attempts) == (kind, attempts)
    assert str(NOW.date()) in transition.error.message
