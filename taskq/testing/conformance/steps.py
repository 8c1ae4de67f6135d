"""Steps: what a parent that runs again finds; and what it gets rid of (design 7.10)."""

from __future__ import annotations

from collections.abc import Mapping

import anyio
import pytest
from msgspec.structs import replace

from taskq.errors import IdempotencyConflict
from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Failed, Interrupted, Outcome, Snoozed
from taskq.model import Activity, Attempt, OnDuplicate, Policy, Receipt, Status
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import DAY, call, child, error, keyed, step

BAD = (Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED)
GOOD = tuple(status for status in Status if status not in BAD)
AGAIN: Mapping[str, Outcome] = {
    "crashed": Crashed(),
    "interrupted": Interrupted(),
    "failed": Failed(error=error(), delay=1.0),
    "snoozed": Snoozed(1.0),
}
ENDED_BADLY = [(Status.FAILED, how) for how in AGAIN] + [
    (Status.DEAD_LETTER, "failed"),
    (Status.CANCELLED, "failed"),
]
ON_PURPOSE = ("failed", "snoozed")


class StepTests:
    """A step is a key that belongs to a parent."""

    @pytest.mark.parametrize("how", ["crashed", "failed"])
    @pytest.mark.parametrize("status", GOOD, ids=str)
    async def test_a_step_that_lives_or_completed_is_found_again(
        self, harness: Harness, status: Status, how: str
    ) -> None:
        """design 7.10: however the parent comes to run again."""
        parent = await harness.running(call("parent"))
        made = await harness.bring(step(parent), status)

        again = await _again(harness, parent, AGAIN[how])

        assert await harness.submit(step(again)) == [Receipt(made, False)]

    @pytest.mark.parametrize(("status", "how"), ENDED_BADLY)
    async def test_a_step_that_ended_badly_is_replaced_when_the_parent_was_tried_again(
        self, harness: Harness, status: Status, how: str
    ) -> None:
        """design 7.10: and found when its worker was lost or stopped, which decides nothing."""
        parent = await harness.running(call("parent"))
        made = await harness.bring(step(parent), status)

        again = await _again(harness, parent, AGAIN[how])
        fresh = step(again)

        new = how in ON_PURPOSE
        assert await harness.submit(fresh) == [Receipt(fresh.id if new else made, new)]

    async def test_an_operators_retry_of_the_parent_replaces_a_failed_step(
        self, harness: Harness
    ) -> None:
        parent = await harness.running(call("parent"))
        await harness.bring(step(parent), Status.FAILED)
        await harness.end(parent, Failed(error=error(), retryable=False))
        await harness.advance(1)
        await harness.retry(parent.id)

        fresh = step(await harness.reclaim())

        assert await harness.submit(fresh) == [Receipt(fresh.id, True)]

    async def test_within_one_run_a_failed_step_is_found(self, harness: Harness) -> None:
        """The parent has seen it fail: making it anew would be a retry that nobody asked for."""
        parent = await harness.running(call("parent"))
        made = await harness.bring(step(parent), Status.FAILED)

        assert await harness.submit(step(parent)) == [Receipt(made, False)]

    async def test_a_replaced_step_is_the_one_that_is_found_from_then_on(
        self, harness: Harness
    ) -> None:
        parent = await harness.running(call("parent"))
        await harness.bring(step(parent), Status.FAILED)
        second = await _again(harness, parent, AGAIN["failed"])
        fresh = step(second)
        await harness.submit(fresh)

        third = await _again(harness, second, AGAIN["failed"])

        assert await harness.submit(step(third)) == [Receipt(fresh.id, False)]

    async def test_other_parents_and_other_names_are_other_steps(self, harness: Harness) -> None:
        one, two = await harness.running(call("parent")), await harness.running(call("parent"))
        steps = [step(one, "a"), step(one, "b"), step(two, "a")]

        assert await harness.submit(*steps) == [Receipt(each.id, True) for each in steps]

    async def test_the_same_step_twice_in_a_batch_is_one(self, harness: Harness) -> None:
        parent = await harness.running(call("parent"))
        first = step(parent)

        receipts = await harness.submit(first, step(parent))

        assert receipts == [Receipt(first.id, True), Receipt(first.id, False)]

    async def test_a_key_of_the_same_text_is_no_step(self, harness: Harness) -> None:
        parent = await harness.running(call("parent"))
        await harness.submit(keyed("charge"))
        wanted = step(parent, "charge")

        assert await harness.submit(wanted) == [Receipt(wanted.id, True)]

    async def test_a_step_is_shown_as_a_step_and_not_as_a_key(self, harness: Harness) -> None:
        parent = await harness.running(call("parent"))
        activity = step(parent, "charge ✓")
        await harness.submit(activity)

        info = await harness.info(activity.id)
        [attempt] = await harness.claim(new_id())

        assert (info.step, info.idempotency_key) == ("charge ✓", None)
        assert attempt.step == "charge ✓"

    @pytest.mark.parametrize("change", ["arguments", "type"])
    async def test_a_step_of_other_arguments_or_type_is_a_conflict_that_names_it(
        self, harness: Harness, change: str
    ) -> None:
        parent = await harness.running(call("parent"))
        made = step(parent)
        await harness.submit(made)
        other = (
            step(parent, payload='{"n":2}')
            if change == "arguments"
            else step(parent, "charge", "play")
        )

        with pytest.raises(IdempotencyConflict, match=f"step 'charge' of activity {parent.id}"):
            await harness.submit(other)

        assert other.idempotency is not None
        unchecked = replace(other.idempotency, check_arguments=False)
        assert await harness.submit(replace(other, idempotency=unchecked)) == [
            Receipt(made.id, False)
        ]

    async def test_of_many_at_once_one_makes_the_step(self, harness: Harness) -> None:
        """promise:G3: two runs of one parent, the lost one and the next, never make it twice."""
        parent = await harness.running(call("parent"))
        receipts: list[Receipt] = []

        async def make() -> None:
            receipts.extend(await harness.submit(step(parent)))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(make)

        assert len({receipt.id for receipt in receipts}) == 1
        assert sum(receipt.created for receipt in receipts) == 1


class OrphanTests:
    """cancel_children: what earlier runs left behind."""

    async def test_children_that_live_are_cancelled(self, harness: Harness) -> None:
        parent = await harness.running(call("parent"))
        waiting, later, running = child(parent), child(parent, delay=DAY), child(parent)
        held = await harness.running(running)
        await harness.submit(waiting, later)

        cancelled = await harness.cancel_children(parent.id)

        assert set(cancelled) == {waiting.id, later.id, running.id}
        assert len(cancelled) == 3
        assert await harness.status(waiting.id) is Status.CANCELLED
        assert await harness.status(later.id) is Status.CANCELLED
        asked = await harness.call(harness.backend.cancel_requests, held.worker)
        assert asked == [running.id]
        assert (await harness.kinds(running.id))[-1] == "cancel_requested"

    async def test_a_child_with_a_key_is_left_and_found_by_it(self, harness: Harness) -> None:
        """The next run makes it again, and has a use for it."""
        parent = await harness.running(call("parent"))
        made = _keyed_child(parent, keyed())
        other = _keyed_child(parent, keyed("order-43", OnDuplicate.ALLOW_REUSE))
        plain = child(parent)
        await harness.submit(made, other, plain)
        again = await _again(harness, parent, AGAIN["crashed"])

        assert await harness.cancel_children(again.id) == [plain.id]
        assert await harness.submit(_keyed_child(again, keyed())) == [Receipt(made.id, False)]
        assert [await harness.status(each.id) for each in (made, other)] == [Status.PENDING] * 2

    async def test_steps_hooks_roots_and_ended_ones_are_left(self, harness: Harness) -> None:
        parent = await harness.running(call("parent"))
        done = await harness.bring(child(parent), Status.COMPLETED)
        kept = [
            step(parent),
            child(parent, "parent:on_failure"),
            child(parent, "parent:on_dead_letter"),
            call(origin_id=parent.origin_id),
        ]
        await harness.submit(*kept)

        assert await harness.cancel_children(parent.id) == []
        assert [await harness.status(each.id) for each in kept] == [Status.PENDING] * 4
        assert await harness.status(done) is Status.COMPLETED

    async def test_what_these_made_goes_with_them_and_others_are_left(
        self, harness: Harness
    ) -> None:
        parent = await harness.running(call("parent"))
        middle = await harness.running(child(parent))
        below, other = child(middle), child(await harness.running(call("other")))
        await harness.submit(below, other)

        assert await harness.cancel_children(parent.id) == [middle.id]
        assert await harness.status(below.id) is Status.CANCELLED
        assert await harness.status(other.id) is Status.PENDING

    async def test_of_many_parents_each_and_of_unknown_ones_none(self, harness: Harness) -> None:
        parents = [await harness.running(call("parent")) for _ in range(3)]
        children = [child(parent) for parent in parents]
        await harness.submit(*children)

        found = await harness.cancel_children(parents[0].id, parents[1].id, parents[0].id, new_id())

        assert set(found) == {children[0].id, children[1].id}
        assert len(found) == 2
        assert await harness.status(children[2].id) is Status.PENDING
        assert await harness.cancel_children() == []

    async def test_whether_orphans_are_kept_is_stored(self, harness: Harness) -> None:
        attempt = await harness.running(call(policy=Policy(orphans="keep")))

        assert attempt.policy.orphans == "keep"
        assert (await harness.running(call())).policy.orphans == "cancel"


def _keyed_child(parent: Attempt, call: Activity[object]) -> Activity[object]:
    return replace(child(parent), idempotency=call.idempotency)


async def _again(harness: Harness, parent: Attempt, outcome: Outcome) -> Attempt:
    """End a run of the parent; its next one, which is the only thing to claim that is a parent."""
    await harness.advance(31)
    await harness.end(parent, outcome)
    await harness.advance(2)
    await harness.call(harness.backend.promote, 100)
    [again] = await harness.claim(new_id(), types=("parent",))
    return again
