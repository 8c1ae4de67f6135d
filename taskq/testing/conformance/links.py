"""Links: another parent's call is answered by an activity that is there already."""

from __future__ import annotations

from uuid import UUID

import pytest

from taskq.errors import IdempotencyConflict
from taskq.model import Activity, Attempt, OnDuplicate, Receipt, Status
from taskq.snapshot import TimelineEntry
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call, keyed, step


def child(of: Activity[object] | Attempt, key: str = "order-42", /) -> Activity[object]:
    """A call with a key that a handler of ``of`` makes."""
    return keyed(key, parent_id=of.id, root_id=of.root_id, origin_id=of.origin_id)


async def links(harness: Harness, id: UUID) -> list[TimelineEntry]:
    """The links in an activity's timeline."""
    timeline = await harness.call(harness.backend.timeline, id)
    return [entry for entry in timeline if entry.kind == "linked"]


async def linked(harness: Harness, id: UUID) -> list[object]:
    """The parents that an activity is linked to."""
    return [entry.detail["parent"] for entry in await links(harness, id)]


class LinkTests:
    """What another parent's call leaves behind (seed:I8, D25)."""

    async def test_another_parents_call_links_it_to_what_answers(self, harness: Harness) -> None:
        """seed:I8"""
        first, root = call(), call()
        second = call(parent_id=root.id, root_id=root.id)
        made = child(first)
        await harness.submit(first, root, second, made)

        before = await harness.now()
        assert await harness.submit(child(second)) == [Receipt(made.id, False)]
        after = await harness.now()

        [link] = await links(harness, made.id)
        assert link.detail == {"parent": str(second.id), "root": str(root.id)}
        assert (link.attempt, link.worker) == (None, None)
        assert before <= link.at <= after
        assert (await harness.info(made.id)).parent_id == first.id

    async def test_a_parents_call_links_it_to_what_no_parent_has_made(
        self, harness: Harness
    ) -> None:
        parent, made = call(), keyed()
        await harness.submit(parent, made)

        await harness.submit(child(parent))

        assert await linked(harness, made.id) == [str(parent.id)]

    async def test_what_has_ended_is_linked_like_what_runs(self, harness: Harness) -> None:
        parent = call(delay=60.0)
        await harness.submit(parent)
        made = await harness.bring(keyed(), Status.COMPLETED)
        info = await harness.info(made)
        await harness.advance(1)

        await harness.submit(child(parent))

        assert (await harness.kinds(made))[-2:] == ["completed", "linked"]
        assert await harness.info(made) == info

    async def test_the_same_parent_is_no_link(self, harness: Harness) -> None:
        """seed:I8"""
        parent = call()
        made = child(parent)
        await harness.submit(parent, made)

        await harness.submit(child(parent))

        assert await linked(harness, made.id) == []

    async def test_a_call_without_a_parent_is_no_link(self, harness: Harness) -> None:
        """seed:I8, D25: outside of a handler, or ``as_root``."""
        parent = call()
        made = child(parent)
        await harness.submit(parent, made)

        await harness.submit(keyed())

        assert await linked(harness, made.id) == []

    async def test_a_handlers_call_that_it_answers_itself_is_no_link(
        self, harness: Harness
    ) -> None:
        itself = keyed()
        await harness.submit(itself)

        assert await harness.submit(child(itself)) == [Receipt(itself.id, False)]

        assert await linked(harness, itself.id) == []

    async def test_what_is_made_anew_is_linked_to_nobody(self, harness: Harness) -> None:
        first, second = call(), call()
        made = child(first)
        again = keyed("order-42", OnDuplicate.ALLOW_REUSE, parent_id=second.id, root_id=second.id)
        await harness.submit(first, second, made)

        await harness.submit(again)

        assert await linked(harness, made.id) == []
        assert await linked(harness, again.id) == []

    async def test_a_step_found_again_is_no_link(self, harness: Harness) -> None:
        attempt = await harness.running()
        charge = step(attempt)
        await harness.submit(charge)

        assert await harness.submit(step(attempt)) == [Receipt(charge.id, False)]

        assert await linked(harness, charge.id) == []

    async def test_each_parent_is_linked_once_however_often_it_asks(self, harness: Harness) -> None:
        """seed:I8: also when it runs again, or a reply was lost."""
        first, *others = call(), call(), call(), call()
        made = child(first)
        await harness.submit(first, made, *others)

        for parent in (*others, *others):
            again = child(parent)
            await harness.submit(again)
            await harness.submit(again)

        assert await linked(harness, made.id) == [str(each.id) for each in others]

    async def test_a_batch_links_what_it_shares_with_others(self, harness: Harness) -> None:
        first, second = call(), call()
        old, new = child(first, "old"), child(first, "new")
        await harness.submit(first, second, old)

        receipts = await harness.submit(
            new,
            child(first, "new"),
            child(second, "new"),
            child(second, "old"),
            child(second, "old"),
            call(),
        )

        assert [each.created for each in receipts] == [True, False, False, False, False, True]
        assert await linked(harness, new.id) == [str(second.id)]
        assert await linked(harness, old.id) == [str(second.id)]

    async def test_a_batch_that_is_refused_links_nothing(self, harness: Harness) -> None:
        """promise:G2"""
        parent, made = call(), keyed()
        await harness.submit(parent, made)
        refused = keyed(on_duplicate=OnDuplicate.NO_REUSE)

        with pytest.raises(IdempotencyConflict):
            await harness.submit(child(parent), refused)

        assert await linked(harness, made.id) == []
