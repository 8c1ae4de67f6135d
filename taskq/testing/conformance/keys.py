"""submit with idempotency keys: who gets a new activity, and who gets the one that is there."""

from __future__ import annotations

import anyio
import pytest

from taskq.errors import IdempotencyConflict
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded
from taskq.model import OnDuplicate, Receipt, Status
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import DAY, call, keyed

ALLOW = OnDuplicate.ALLOW_REUSE
EXISTING = OnDuplicate.RETURN_EXISTING
ON_FAILURE = OnDuplicate.ALLOW_REUSE_ON_FAILURE
NO_REUSE = OnDuplicate.NO_REUSE

ENDED_BADLY = {Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED}
OTHER = '{"n":2}'
"""A payload that is not the default one."""

every_status = pytest.mark.parametrize("status", list(Status), ids=str)
sharing = pytest.mark.parametrize("on_duplicate", [EXISTING, ON_FAILURE], ids=str)


class KeyTests:
    """The four behaviours (seed:I2-I5, D22; design 2.2)."""

    @every_status
    async def test_return_existing_answers_the_holder_in_every_state(
        self, harness: Harness, status: Status
    ) -> None:
        """promise:G3, seed:I3: a key outlives its activity's end."""
        holder = await harness.bring(keyed(), status)

        duplicate = keyed(on_duplicate=EXISTING)

        assert await harness.submit(duplicate) == [Receipt(holder, False)]
        assert await harness.call(harness.backend.get, [duplicate.id]) == {}

    @every_status
    async def test_allow_reuse_always_makes_a_new_one(
        self, harness: Harness, status: Status
    ) -> None:
        """seed:I2"""
        await harness.bring(keyed(), status)
        duplicate = keyed(on_duplicate=ALLOW)

        assert await harness.submit(duplicate) == [Receipt(duplicate.id, True)]
        assert await harness.status(duplicate.id) is Status.PENDING

    @every_status
    async def test_allow_reuse_on_failure_asks_how_the_holder_ended(
        self, harness: Harness, status: Status
    ) -> None:
        """seed:I4"""
        holder = await harness.bring(keyed(), status)
        duplicate = keyed(on_duplicate=ON_FAILURE)

        [receipt] = await harness.submit(duplicate)

        new = status in ENDED_BADLY
        assert receipt == Receipt(duplicate.id if new else holder, new)

    @every_status
    async def test_no_reuse_is_a_conflict_that_names_the_holder(
        self, harness: Harness, status: Status
    ) -> None:
        """seed:I5"""
        holder = await harness.bring(keyed(), status)
        duplicate = keyed(on_duplicate=NO_REUSE)

        with pytest.raises(IdempotencyConflict) as caught:
            await harness.submit(duplicate)

        assert caught.value.existing == holder
        assert await harness.call(harness.backend.get, [duplicate.id]) == {}

    @pytest.mark.parametrize("on_duplicate", list(OnDuplicate), ids=str)
    async def test_a_free_key_makes_a_new_one(
        self, harness: Harness, on_duplicate: OnDuplicate
    ) -> None:
        activity = keyed(on_duplicate=on_duplicate)

        assert await harness.submit(activity) == [Receipt(activity.id, True)]

    @sharing
    async def test_other_arguments_are_a_conflict(
        self, harness: Harness, on_duplicate: OnDuplicate
    ) -> None:
        """design 2.2"""
        holder = await harness.bring(keyed(), Status.PENDING)

        with pytest.raises(IdempotencyConflict) as caught:
            await harness.submit(keyed(on_duplicate=on_duplicate, payload=OTHER))

        assert caught.value.existing == holder

    @sharing
    async def test_other_arguments_are_shared_when_asked(
        self, harness: Harness, on_duplicate: OnDuplicate
    ) -> None:
        holder = await harness.bring(keyed(), Status.PENDING)
        duplicate = keyed(on_duplicate=on_duplicate, check_arguments=False, payload=OTHER)

        assert await harness.submit(duplicate) == [Receipt(holder, False)]
        assert (await harness.info(holder)).payload == "{}"

    @pytest.mark.parametrize(
        ("on_duplicate", "status"), [(ALLOW, Status.PENDING), (ON_FAILURE, Status.FAILED)]
    )
    async def test_a_new_activity_may_have_other_arguments(
        self, harness: Harness, on_duplicate: OnDuplicate, status: Status
    ) -> None:
        await harness.bring(keyed(), status)
        duplicate = keyed(on_duplicate=on_duplicate, payload=OTHER)

        assert await harness.submit(duplicate) == [Receipt(duplicate.id, True)]

    @pytest.mark.parametrize(
        ("on_duplicate", "status"), [(ALLOW, Status.PENDING), (ON_FAILURE, Status.FAILED)]
    )
    async def test_a_reused_key_points_at_the_newest(
        self, harness: Harness, on_duplicate: OnDuplicate, status: Status
    ) -> None:
        await harness.bring(keyed(), status)
        newest = keyed(on_duplicate=on_duplicate, payload=OTHER)
        await harness.submit(newest)

        assert await harness.submit(keyed(payload=OTHER)) == [Receipt(newest.id, False)]
        with pytest.raises(IdempotencyConflict):
            await harness.submit(keyed(payload="{}"))

    async def test_a_key_counts_inside_its_queue_and_type(self, harness: Harness) -> None:
        """seed:I1"""

        activities = [keyed(), keyed(queue="mail"), keyed(type="other"), keyed(key="order-43")]

        receipts = await harness.submit(*activities)

        assert receipts == [Receipt(activity.id, True) for activity in activities]

    async def test_without_a_key_nothing_is_shared(self, harness: Harness) -> None:
        keyed_one, plain, same = keyed(), call(), call()

        receipts = await harness.submit(keyed_one, plain, same)

        assert [receipt.created for receipt in receipts] == [True] * 3

    async def test_the_same_key_in_one_batch_is_folded_to_the_first(self, harness: Harness) -> None:
        first = keyed()
        receipts = await harness.submit(first, keyed(), keyed(on_duplicate=ON_FAILURE))

        assert receipts == [Receipt(first.id, True)] + [Receipt(first.id, False)] * 2
        assert len(await harness.claim(new_id())) == 1

    async def test_allow_reuse_in_one_batch_is_folded_in_order(self, harness: Harness) -> None:
        first, second, third = keyed(), keyed(on_duplicate=ALLOW), keyed()

        receipts = await harness.submit(first, second, third)

        assert receipts == [
            Receipt(first.id, True),
            Receipt(second.id, True),
            Receipt(second.id, False),
        ]

    async def test_a_key_freed_by_failure_is_taken_once_in_a_batch(self, harness: Harness) -> None:
        await harness.bring(keyed(), Status.FAILED)
        first, second = keyed(on_duplicate=ON_FAILURE), keyed(on_duplicate=ON_FAILURE)

        receipts = await harness.submit(first, second)

        assert receipts == [Receipt(first.id, True), Receipt(first.id, False)]

    async def test_answers_keep_their_positions(self, harness: Harness) -> None:
        """bug:B127: five calls, two of them taken, five answers in order."""
        taken = [await harness.bring(keyed(key), Status.SCHEDULED) for key in ("b", "d")]
        batch = [keyed(key) for key in ("e", "d", "c", "b", "a")]

        receipts = await harness.submit(*batch)

        assert receipts == [
            Receipt(batch[0].id, True),
            Receipt(taken[1], False),
            Receipt(batch[2].id, True),
            Receipt(taken[0], False),
            Receipt(batch[4].id, True),
        ]

    async def test_one_conflict_stores_nothing_of_the_batch(self, harness: Harness) -> None:
        """design 2: one round trip, all or nothing. seed:I9"""
        holder = await harness.bring(keyed("taken"), Status.PENDING)
        plain, free = call(), keyed("free")
        with pytest.raises(IdempotencyConflict):
            await harness.submit(plain, free, keyed("taken", NO_REUSE), call())

        assert await harness.call(harness.backend.get, [plain.id, free.id]) == {}
        again = keyed("free", NO_REUSE)
        assert await harness.submit(again) == [Receipt(again.id, True)]
        assert await harness.submit(keyed("taken")) == [Receipt(holder, False)]

    @pytest.mark.parametrize(
        ("on_duplicate", "payload"), [(NO_REUSE, "{}"), (EXISTING, OTHER)], ids=str
    )
    async def test_a_conflict_inside_the_batch_stores_nothing(
        self, harness: Harness, on_duplicate: OnDuplicate, payload: str
    ) -> None:
        first = keyed()
        with pytest.raises(IdempotencyConflict) as caught:
            await harness.submit(first, keyed(on_duplicate=on_duplicate, payload=payload))

        assert caught.value.existing == first.id
        assert await harness.call(harness.backend.get, [first.id]) == {}

    @pytest.mark.parametrize("on_duplicate", list(OnDuplicate), ids=str)
    async def test_a_repeated_submit_is_no_duplicate(
        self, harness: Harness, on_duplicate: OnDuplicate
    ) -> None:
        """promise:G3: its reply was lost; the holder is the call itself."""
        activity = keyed(on_duplicate=on_duplicate)
        first = await harness.submit(activity)

        assert await harness.submit(activity) == first == [Receipt(activity.id, True)]
        assert len(await harness.claim(new_id())) == 1

    async def test_a_repeated_submit_answers_also_after_the_end(self, harness: Harness) -> None:
        activity = keyed(on_duplicate=ON_FAILURE)
        await harness.bring(activity, Status.FAILED)

        assert await harness.submit(activity) == [Receipt(activity.id, True)]
        assert await harness.status(activity.id) is Status.FAILED

    async def test_a_repeated_submit_does_not_take_the_key_back(self, harness: Harness) -> None:
        first, second = keyed(), keyed(on_duplicate=ALLOW)
        await harness.submit(first)
        await harness.submit(second)

        assert await harness.submit(first) == [Receipt(first.id, True)]
        assert await harness.submit(keyed()) == [Receipt(second.id, False)]

    async def test_a_repeated_batch_answers_as_before(self, harness: Harness) -> None:
        batch = [keyed("a"), keyed("a"), keyed("b"), call()]
        first = await harness.submit(*batch)

        assert await harness.submit(*batch) == first

    @pytest.mark.parametrize("on_duplicate", [EXISTING, ON_FAILURE, NO_REUSE], ids=str)
    async def test_of_fifty_at_once_one_is_created(
        self, harness: Harness, on_duplicate: OnDuplicate
    ) -> None:
        """promise:G3, fault:F1: one id, one row, and every caller learns it. seed:I6"""
        receipts: list[Receipt] = []
        existing: list[object] = []

        async def submit() -> None:
            try:
                receipts.extend(await harness.submit(keyed(on_duplicate=on_duplicate)))
            except IdempotencyConflict as conflict:
                existing.append(conflict.existing)

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(submit)

        [created] = [receipt.id for receipt in receipts if receipt.created]
        assert {receipt.id for receipt in receipts} | set(existing) == {created}
        assert len(receipts) + len(existing) == 50
        assert [attempt.id for attempt in await harness.claim(new_id())] == [created]

    async def test_batches_with_their_keys_in_any_order_do_not_block_each_other(
        self, harness: Harness
    ) -> None:
        names = [f"key-{number}" for number in range(10)]
        receipts: list[Receipt] = []

        async def submit(order: list[str]) -> None:
            receipts.extend(await harness.submit(*(keyed(name) for name in order)))

        async with anyio.create_task_group() as tasks:
            for turn in range(10):
                order = names[turn:] + names[:turn]
                tasks.start_soon(submit, order)
                tasks.start_soon(submit, order[::-1])

        assert sum(receipt.created for receipt in receipts) == 10
        assert len({receipt.id for receipt in receipts}) == 10

    @pytest.mark.parametrize(
        "key", ["", " ", "ключ-🔑", "a" * 200, "'; drop table x; --", "%s {} :a"], ids=repr
    )
    async def test_any_text_is_a_key(self, harness: Harness, key: str) -> None:
        """fault:F5"""
        activity = keyed(key)
        await harness.submit(activity)

        assert await harness.submit(keyed(key)) == [Receipt(activity.id, False)]
        assert (await harness.info(activity.id)).idempotency_key == key

    @pytest.mark.parametrize("near", ["Order-42", "order-42 ", "order\N{HYPHEN}42"], ids=repr)
    async def test_keys_that_look_alike_are_not_the_same(self, harness: Harness, near: str) -> None:
        """fault:F5"""
        one, other = keyed("order-42"), keyed(near)

        assert [receipt.created for receipt in await harness.submit(one, other)] == [True, True]

    async def test_a_scheduled_holder_is_shared_too(self, harness: Harness) -> None:
        holder = keyed(delay=DAY)
        await harness.submit(holder)

        assert await harness.submit(keyed()) == [Receipt(holder.id, False)]
        assert await harness.status(holder.id) is Status.SCHEDULED

    async def test_a_shared_activity_ends_once_for_all(self, harness: Harness) -> None:
        attempt = await harness.running(keyed())
        await harness.end(attempt, Succeeded("1"))

        [receipt] = await harness.submit(keyed())
        outcomes = await harness.call(harness.backend.outcomes, [receipt.id])

        ended = outcomes[attempt.id]
        assert ended is not None and ended.result == "1"

    async def test_an_operators_retry_keeps_the_key(self, harness: Harness) -> None:
        holder = await harness.bring(keyed(), Status.FAILED)
        await harness.retry(holder)

        assert await harness.submit(keyed(on_duplicate=ON_FAILURE)) == [Receipt(holder, False)]
