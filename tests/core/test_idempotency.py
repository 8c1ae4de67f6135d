"""Who gets an idempotency key (seed:I1-I5, D22)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from taskq.errors import IdempotencyConflict
from taskq.idempotency import Holder, Resolution, key_hash, resolve, step_hash
from taskq.model import Idempotency, OnDuplicate, Status

OLD, NEW = UUID(int=1), UUID(int=2)
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def wanted(on_duplicate: OnDuplicate, *, check: bool = True) -> Idempotency:
    return Idempotency(
        key="k", hash=b"h", digest=b"d", on_duplicate=on_duplicate, check_arguments=check
    )


def holder(status: Status, *, same: bool = True, created: datetime = NOW) -> Holder:
    return Holder(id=OLD, status=status, created_at=created, same_arguments=same)


@pytest.mark.parametrize("status", Status)
def test_allow_reuse_always_creates(status: Status) -> None:
    """seed:I2"""
    answer = resolve(NEW, wanted(OnDuplicate.ALLOW_REUSE), holder(status, same=False))
    assert answer is Resolution.CREATE


@pytest.mark.parametrize("status", Status)
def test_return_existing_returns_whatever_the_state(status: Status) -> None:
    """seed:I3"""
    answer = resolve(NEW, wanted(OnDuplicate.RETURN_EXISTING), holder(status))
    assert answer is Resolution.RETURN


@pytest.mark.parametrize("status", Status)
def test_allow_reuse_on_failure_creates_only_after_a_bad_end(status: Status) -> None:
    """seed:I4, D22"""
    answer = resolve(NEW, wanted(OnDuplicate.ALLOW_REUSE_ON_FAILURE), holder(status))
    bad = status in {Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED}
    assert answer is (Resolution.CREATE if bad else Resolution.RETURN)


@pytest.mark.parametrize("status", Status)
def test_no_reuse_is_a_conflict_that_names_the_holder(status: Status) -> None:
    """seed:I5"""
    with pytest.raises(IdempotencyConflict, match=str(OLD)) as caught:
        resolve(NEW, wanted(OnDuplicate.NO_REUSE), holder(status))
    assert caught.value.existing == OLD


@pytest.mark.parametrize(
    "on_duplicate", [OnDuplicate.RETURN_EXISTING, OnDuplicate.ALLOW_REUSE_ON_FAILURE]
)
def test_other_arguments_under_one_key_are_a_conflict(on_duplicate: OnDuplicate) -> None:
    with pytest.raises(IdempotencyConflict, match="other arguments"):
        resolve(NEW, wanted(on_duplicate), holder(Status.PENDING, same=False))


def test_other_arguments_can_be_ignored() -> None:
    answer = resolve(
        NEW,
        wanted(OnDuplicate.RETURN_EXISTING, check=False),
        holder(Status.PENDING, same=False),
    )
    assert answer is Resolution.RETURN


@pytest.mark.parametrize("on_duplicate", OnDuplicate)
def test_a_repeated_call_finds_itself(on_duplicate: OnDuplicate) -> None:
    """A submit whose reply was lost is simply made again (promise:G3)."""
    answer = resolve(OLD, wanted(on_duplicate), holder(Status.COMPLETED))
    assert answer is Resolution.RETURN


def test_a_keys_scope_is_queue_and_type() -> None:
    """seed:I1"""
    hashes = {
        key_hash("a", "b", "k"),
        key_hash("a", "c", "k"),
        key_hash("b", "b", "k"),
        key_hash("a", "b", "l"),
    }
    assert len(hashes) == 4
    assert all(len(hash) == 32 for hash in hashes)


STEP = Idempotency(
    key="charge",
    hash=b"h",
    digest=b"d",
    on_duplicate=OnDuplicate.ALLOW_REUSE_ON_FAILURE,
    step_of=UUID(int=3),
    renew_before=NOW,
)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_a_step_that_ended_badly_is_renewed_only_if_it_is_older_than_the_parents_new_run(
    status: Status, seconds: int
) -> None:
    """design 7.10: made at or after that instant, only a crash or a hand-back lies between."""
    made = NOW + timedelta(seconds=seconds)

    answer = resolve(NEW, STEP, holder(status, created=made))

    bad = status in {Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED}
    assert answer is (Resolution.CREATE if bad and seconds < 0 else Resolution.RETURN)


def test_a_conflict_of_a_step_names_step_and_parent() -> None:
    with pytest.raises(IdempotencyConflict) as caught:
        resolve(NEW, STEP, holder(Status.COMPLETED, same=False))

    assert f"the step 'charge' of activity {STEP.step_of} was used" in str(caught.value)
    assert caught.value.existing == OLD


def test_a_steps_hash_is_that_of_no_key_and_of_no_other_step() -> None:
    """No queue's name is empty, so no caller's key can be taken for a step."""
    parent, other = UUID(int=3), UUID(int=4)
    hashes = [
        step_hash(parent, "a"),
        step_hash(parent, "b"),
        step_hash(other, "a"),
        key_hash("step", str(parent), "a"),
        key_hash("default", "step", "a"),
    ]

    assert len(set(hashes)) == len(hashes)
    assert {len(each) for each in hashes} == {32}


def test_a_step_is_shown_as_no_key() -> None:
    assert STEP.shown is None
    assert wanted(OnDuplicate.NO_REUSE).shown == "k"
