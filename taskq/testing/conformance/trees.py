"""Trees: cancelled as a whole, and read as a whole."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from taskq.backends import Cancellation, Topic
from taskq.identifiers import new_id
from taskq.lifecycle import (
    Cancelled,
    Crashed,
    Failed,
    Interrupted,
    Outcome,
    Snoozed,
    Succeeded,
)
from taskq.model import Activity, Attempt, Policy, Status
from taskq.testing.conformance.harness import Harness, eventually
from taskq.testing.conformance.samples import DAY, call, error

ENDED = [each for each in Status if each.terminal]
ENDS: dict[str, Outcome] = {
    "returned": Succeeded("1"),
    "cancelled": Cancelled(),
    "failed, retries left": Failed(error=error()),
    "failed for good": Failed(error=error(), retryable=False),
    "snoozed": Snoozed(5.0),
    "interrupted": Interrupted(),
}


def child(parent: Activity[object] | Attempt, /, **changes: object) -> Activity[object]:
    """A call that a handler of ``parent`` made."""
    return call(
        parent_id=parent.id,
        root_id=parent.root_id,
        origin_id=parent.origin_id,
        depth=parent.depth + 1,
        **changes,
    )


class TreeCancelTests:
    """Cancels of whole trees (promise:G10)."""

    async def test_all_that_waits_below_is_cancelled_at_once(self, harness: Harness) -> None:
        """promise:G10"""
        root = call()
        first, second = child(root), child(root, delay=DAY)
        grandchild = child(first)
        await harness.submit(root, first, second, grandchild)

        met = await harness.cancel_trees(root.id)

        assert met == {root.id: Cancellation(Status.PENDING, below=3)}
        for each in (root, first, second, grandchild):
            assert await harness.status(each.id) is Status.CANCELLED

    async def test_without_it_the_children_go_on(self, harness: Harness) -> None:
        root = call()
        below = child(root)
        await harness.submit(root, below)

        await harness.cancel(root.id)

        assert await harness.status(below.id) is Status.PENDING

    async def test_only_what_is_below_is_cancelled_not_the_rest_of_the_tree(
        self, harness: Harness
    ) -> None:
        root = call()
        asked, sibling = child(root), child(root)
        below = child(asked)
        stranger = call()
        await harness.submit(root, asked, sibling, below, stranger)

        assert (await harness.cancel_trees(asked.id))[asked.id].below == 1

        assert await harness.status(below.id) is Status.CANCELLED
        for each in (root, sibling, stranger):
            assert await harness.status(each.id) is Status.PENDING

    async def test_what_runs_below_is_asked_to_stop(self, harness: Harness) -> None:
        """promise:G10"""
        root = await harness.running()
        below = await harness.running(child(root))
        await harness.cancel(below.id)

        met = await harness.cancel_trees(root.id)

        assert met == {root.id: Cancellation(Status.PROCESSING, below=1)}
        for each in (root, below):
            assert await harness.call(harness.backend.cancel_requests, each.worker) == [each.id]
            assert (await harness.kinds(each.id)).count("cancel_requested") == 1

    @pytest.mark.parametrize("status", ENDED, ids=str)
    async def test_it_goes_on_below_what_has_ended(self, harness: Harness, status: Status) -> None:
        """promise:G10"""
        root = call()
        await harness.bring(root, status)
        middle = child(root)
        await harness.bring(middle, Status.COMPLETED)
        leaf = child(middle)
        await harness.submit(leaf)
        before = await harness.info(root.id)

        met = await harness.cancel_trees(root.id)

        assert met == {root.id: Cancellation(status, below=1)}
        assert met[root.id].accepted
        assert await harness.status(leaf.id) is Status.CANCELLED
        assert await harness.status(middle.id) is Status.COMPLETED
        assert await harness.info(root.id) == before

    async def test_nothing_left_alive_is_not_accepted(self, harness: Harness) -> None:
        root = call()
        await harness.bring(root, Status.COMPLETED)
        await harness.bring(child(root), Status.FAILED)

        met = await harness.cancel_trees(root.id)

        assert met == {root.id: Cancellation(Status.COMPLETED)}
        assert not met[root.id].accepted

    async def test_several_at_once_each_count_what_is_below_them(self, harness: Harness) -> None:
        root = call()
        middle = child(root)
        leaf = child(middle)
        other = call()
        await harness.submit(root, middle, leaf, other)

        met = await harness.cancel_trees(middle.id, root.id, other.id, new_id())

        assert {id: each.below for id, each in met.items()} == {
            root.id: 2,
            middle.id: 1,
            other.id: 0,
        }

    async def test_repeated_it_changes_nothing_more(self, harness: Harness) -> None:
        root = await harness.running()
        running, waiting = await harness.running(child(root)), child(root)
        await harness.submit(waiting)
        await harness.cancel_trees(root.id)
        before = [await harness.info(each.id) for each in (root, running, waiting)]
        await harness.advance(5)

        met = await harness.cancel_trees(root.id)

        assert met == {root.id: Cancellation(Status.PROCESSING, below=1)}
        assert [await harness.info(each.id) for each in (root, running, waiting)] == before

    @pytest.mark.parametrize("end", [*ENDS])
    async def test_what_a_running_one_still_makes_follows_at_its_end(
        self, harness: Harness, end: str
    ) -> None:
        """promise:G10: it had not heard of the cancel yet, and may end in any way."""
        root = await harness.running()
        await harness.cancel_trees(root.id)
        late = child(root)
        deep = child(late)
        await harness.submit(late, deep)

        await harness.end(root, ENDS[end])

        for each in (late, deep):
            assert await harness.status(each.id) is Status.CANCELLED

    async def test_what_a_running_one_made_follows_when_it_is_handed_back(
        self, harness: Harness
    ) -> None:
        """promise:G10"""
        root = await harness.running()
        await harness.cancel_trees(root.id)
        late = child(root)
        await harness.submit(late)

        await harness.hand_back(root.worker, root.lease)

        assert await harness.status(root.id) is Status.CANCELLED
        assert await harness.status(late.id) is Status.CANCELLED

    async def test_what_a_lost_worker_made_follows_when_it_is_taken_back(
        self, harness: Harness
    ) -> None:
        """promise:G10"""
        root = await harness.running()
        await harness.cancel_trees(root.id)
        late = child(root)
        await harness.submit(late)
        await harness.advance(60)

        [lost] = await harness.call(harness.backend.expired, 10)
        await harness.end(lost, Crashed())

        assert await harness.status(root.id) is Status.CANCELLED
        assert await harness.status(late.id) is Status.CANCELLED

    async def test_without_a_cancel_of_its_tree_a_cancelled_one_leaves_its_children(
        self, harness: Harness
    ) -> None:
        root = await harness.running()
        await harness.cancel(root.id)
        below = child(root)
        await harness.submit(below)

        await harness.end(root, Cancelled())

        assert await harness.status(below.id) is Status.PENDING

    async def test_the_hooks_of_one_that_failed_first_still_run(self, harness: Harness) -> None:
        """It ended by itself before it heard of the cancel, and its hooks are part of that end."""
        policy = Policy(hooks=("on_failure",))
        root = await harness.running(call(policy=policy))
        await harness.cancel_trees(root.id)

        await harness.end(root, Failed(error=error(), retryable=False))

        assert (await harness.reclaim()).type == "work:on_failure"

    async def test_an_operators_retry_starts_with_a_clean_row(self, harness: Harness) -> None:
        root = await harness.running()
        await harness.cancel_trees(root.id)
        await harness.end(root, Cancelled())
        await harness.retry(root.id)
        again = await harness.reclaim()
        below = child(root)
        await harness.submit(below)
        await harness.cancel(again.id)

        await harness.end(again, Cancelled())

        assert await harness.status(below.id) is Status.PENDING

    async def test_a_batch_that_holds_parent_and_child_leaves_nothing_alive(
        self, harness: Harness
    ) -> None:
        """promise:G10: the child was made after the cancel, and both end together."""
        root = await harness.running()
        await harness.cancel_trees(root.id)
        below = await harness.running(child(root))

        await harness.settle(
            await harness.transition(root, Interrupted()),
            await harness.transition(below, Failed(error=error())),
        )

        assert await harness.status(root.id) is Status.CANCELLED
        assert await harness.status(below.id) is Status.CANCELLED

    async def test_hints_tell_who_has_ended_and_who_is_to_stop(self, harness: Harness) -> None:
        root = await harness.running()
        waiting = child(root)
        await harness.submit(waiting)
        watch, hints = await harness.watch(Topic.DONE, Topic.CANCEL)

        await harness.cancel_trees(root.id)

        def told(topic: Topic, id: UUID) -> Callable[[], bool]:
            return lambda: any(
                each.topic is topic and (each.ids is None or id in each.ids) for each in hints
            )

        await eventually(told(Topic.DONE, waiting.id))
        await eventually(told(Topic.CANCEL, root.id))
        await harness.call(watch.close)

    async def test_a_loop_of_parents_ends(self, harness: Harness) -> None:
        """Only another program can store one."""
        one = call()
        other = call(parent_id=one.id, root_id=one.id)
        looped = call(parent_id=other.id, root_id=one.id)
        await harness.submit(other, looped)
        await harness.submit(
            Activity[object](
                id=one.id,
                type="work",
                queue="default",
                payload="{}",
                root_id=one.id,
                origin_id=one.id,
                parent_id=looped.id,
            )
        )

        met = await harness.cancel_trees(one.id)

        assert met == {one.id: Cancellation(Status.PENDING, below=2)}
        assert len((await harness.call(harness.backend.tree, one.id)).nodes) == 3


class TreeReadingTests:
    """``Inspector.tree`` (seed:B3)."""

    async def test_it_is_the_whole_tree_depth_first_whoever_is_asked_for(
        self, harness: Harness
    ) -> None:
        root = call()
        first, second = child(root), child(root)
        leaf = child(first)
        await harness.submit(call(), root, first, second, leaf, call())

        for asked in (root, leaf, second):
            tree = await harness.call(harness.backend.tree, asked.id)

            assert tree.root_id == root.id and not tree.cut
            assert [(node.info.id, node.level, node.orphan) for node in tree.nodes] == [
                (root.id, 0, False),
                (first.id, 1, False),
                (leaf.id, 2, False),
                (second.id, 1, False),
            ]
            assert tree.nodes[0].info == await harness.info(root.id)

    async def test_what_is_cut_off_is_said_and_the_one_asked_for_is_there(
        self, harness: Harness
    ) -> None:
        root = call()
        children = [child(root) for _ in range(5)]
        leaf = child(children[4])
        await harness.submit(root, *children, leaf)

        tree = await harness.limited_tree(leaf.id, 3)

        assert tree.cut
        assert [(node.info.id, node.orphan) for node in tree.nodes] == [
            (root.id, False),
            (children[0].id, False),
            (children[1].id, False),
            (leaf.id, True),
        ]
        assert not (await harness.limited_tree(leaf.id, 7)).cut

    async def test_it_is_read_though_a_parent_is_gone(self, harness: Harness) -> None:
        """What lost its parent stands below the root, and below a root that is gone too."""
        root, gone = call(), new_id()
        orphan = child(root, type="orphan")
        await harness.submit(root)
        await harness.submit(call(parent_id=gone, root_id=root.id, origin_id=root.id))
        lost = call(parent_id=gone, root_id=gone, origin_id=gone)
        below = child(lost)
        await harness.submit(orphan, lost, below)

        tree = await harness.call(harness.backend.tree, root.id)
        rootless = await harness.call(harness.backend.tree, below.id)

        assert [(node.level, node.orphan) for node in tree.nodes] == [
            (0, False),
            (1, False),
            (1, True),
        ]
        assert rootless == await harness.call(harness.backend.tree, gone)
        assert [(node.info.id, node.level, node.orphan) for node in rootless.nodes] == [
            (lost.id, 1, True),
            (below.id, 2, False),
        ]

    async def test_an_unknown_id_has_no_tree(self, harness: Harness) -> None:
        assert (await harness.call(harness.backend.tree, new_id())).nodes == ()
