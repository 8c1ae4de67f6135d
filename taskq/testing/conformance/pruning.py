"""delete and prune: trees go whole, with their keys and events, or not at all; keys that expire."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import pytest

from taskq.audit import AuditEntry, Command
from taskq.backends import Deletion, Mark, Pruned, Topic
from taskq.errors import ConfigurationError
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, Verdict
from taskq.model import Activity, Attempt, OnDuplicate, Receipt, Status
from taskq.testing.conformance.harness import Harness, eventually
from taskq.testing.conformance.samples import DAY, call, child, keyed

ADA = Command(actor="ada", reason="tidying")
DAYS = {Status.COMPLETED: 7 * DAY}


async def delete(harness: Harness, *ids: UUID, command: Command = ADA) -> dict[UUID, Deletion]:
    """Delete these."""
    return dict(await harness.call(partial(harness.backend.delete, ids, command=command)))


async def passed(
    harness: Harness,
    rules: dict[Status, float] = DAYS,
    *,
    limit: int = 100,
    dry_run: bool = False,
    command: Command | None = None,
) -> list[Pruned]:
    """One whole pass, batch by batch."""
    batches: list[Pruned] = []
    after: Mark | None = None
    while not batches or after is not None:
        batch = await harness.call(
            partial(
                harness.backend.prune,
                rules,
                limit=limit,
                after=after,
                dry_run=dry_run,
                command=command,
            )
        )
        batches.append(batch)
        after, command = batch.next, None
    return batches


async def prune(
    harness: Harness, rules: dict[Status, float] = DAYS, *, dry_run: bool = False
) -> tuple[int, int]:
    """How many trees, of how many activities in all, one whole pass deletes."""
    batches = await passed(harness, rules, dry_run=dry_run)
    return sum(each.trees for each in batches), sum(each.activities for each in batches)


async def left(harness: Harness, *ids: UUID) -> set[UUID]:
    """Which of these are still there."""
    return set(await harness.call(harness.backend.get, ids))


async def ended(harness: Harness, activity: Activity[object]) -> Attempt:
    """Run an activity to its end."""
    attempt = await harness.running(activity)
    await harness.end(attempt, Succeeded("null"))
    return attempt


async def audited(harness: Harness) -> list[AuditEntry]:
    """What the record holds, newest first."""
    return await harness.call(harness.backend.audit)


class DeleteTests:
    """One tree, or none of it."""

    async def test_a_tree_that_has_ended_goes_whole(self, harness: Harness) -> None:
        root = await ended(harness, call())
        below = await ended(harness, child(root))
        lowest = await ended(harness, child(below))

        assert await delete(harness, root.id, new_id()) == {
            root.id: Deletion(Status.COMPLETED, deleted=3)
        }

        everything = (root.id, below.id, lowest.id)
        assert await left(harness, *everything) == set()
        assert [await harness.kinds(id) for id in everything] == [[], [], []]
        assert await harness.call(harness.backend.outcomes, everything) == dict.fromkeys(everything)

    async def test_one_above_something_that_lives_is_left(self, harness: Harness) -> None:
        """A tree of which a part would be left would leave strangers."""
        root = await ended(harness, call())
        below = await ended(harness, child(root))
        alive = child(below)
        await harness.submit(alive)

        assert await delete(harness, root.id) == {root.id: Deletion(Status.COMPLETED, alive=1)}
        assert await left(harness, root.id, below.id, alive.id) == {root.id, below.id, alive.id}

        await harness.cancel(alive.id)
        assert (await delete(harness, root.id))[root.id].deleted == 3

    @pytest.mark.parametrize("status", [Status.PENDING, Status.PROCESSING], ids=str)
    async def test_one_that_has_not_ended_is_left(self, harness: Harness, status: Status) -> None:
        id = await harness.bring(call(), status)

        assert await delete(harness, id) == {id: Deletion(status, alive=1)}
        assert await harness.status(id) is status

    async def test_what_hangs_above_stays(self, harness: Harness) -> None:
        root = await harness.running()
        below = await ended(harness, child(root))

        assert (await delete(harness, below.id))[below.id].deleted == 1

        tree = await harness.call(harness.backend.tree, root.id)
        assert [node.info.id for node in tree.nodes] == [root.id]
        assert (await harness.end(root, Succeeded("1"))).verdict is Verdict.APPLIED

    async def test_one_asked_for_beside_its_child_counts_as_a_whole(self, harness: Harness) -> None:
        root = await ended(harness, call())
        below = await ended(harness, child(root))

        assert await delete(harness, below.id, root.id, root.id) == {
            root.id: Deletion(Status.COMPLETED, deleted=2),
            below.id: Deletion(Status.COMPLETED, deleted=1),
        }

    async def test_its_keys_are_free_again(self, harness: Harness) -> None:
        """D23"""
        await harness.bring(made := keyed(), Status.COMPLETED)
        await delete(harness, made.id)

        again = keyed(on_duplicate=OnDuplicate.NO_REUSE)

        assert await harness.submit(again) == [Receipt(again.id, True)]

    async def test_a_key_that_points_at_another_one_stays(self, harness: Harness) -> None:
        """D23"""
        await harness.bring(first := keyed(), Status.COMPLETED)
        second = keyed(on_duplicate=OnDuplicate.ALLOW_REUSE)
        await harness.submit(second)

        await delete(harness, first.id)

        assert await harness.submit(keyed()) == [Receipt(second.id, False)]

    async def test_a_late_outcome_is_lost(self, harness: Harness) -> None:
        """promise:G5"""
        attempt = await ended(harness, call())
        await delete(harness, attempt.id)

        settlement = await harness.end(attempt, Succeeded("2"))

        assert (settlement.verdict, settlement.status) == (Verdict.LOST, None)

    async def test_those_who_wait_are_told(self, harness: Harness) -> None:
        attempt = await ended(harness, call())
        watch, hints = await harness.watch(Topic.DONE)
        await delete(harness, attempt.id)

        await eventually(lambda: any(not h.ids or attempt.id in h.ids for h in hints))

        await harness.call(watch.close)

    async def test_a_delete_is_recorded_and_done_once(self, harness: Harness) -> None:
        command = Command(actor="ada", reason="tidying", id=new_id())
        first = await ended(harness, call())
        await delete(harness, first.id, first.id, command=command)
        second = await ended(harness, call())

        assert await delete(harness, second.id, command=command) == {
            second.id: Deletion(Status.COMPLETED)
        }
        assert await delete(harness) == {}

        [entry] = await audited(harness)
        assert (entry.actor, entry.reason, entry.action) == ("ada", "tidying", "delete")
        assert (entry.target, entry.detail) == (str(first.id), {"ids": [str(first.id)]})

    async def test_what_waits_is_claimed_past_a_deleted_one(self, harness: Harness) -> None:
        """A cancel leaves places behind in the lines of those that wait."""
        for delay in (None, 5.0):
            made = call(delay=delay, expires_in=8.0)
            await harness.submit(made)
            await harness.cancel(made.id)
            await delete(harness, made.id)
        await harness.advance(10)

        assert (await harness.call(harness.backend.promote, 10)).moved == 0
        assert await harness.claim_overdue() == []
        assert (await harness.running()).claim == 1


class PruneTests:
    """Retention: nothing goes that no rule lets go (seed:B8, N13)."""

    async def test_what_has_ended_long_enough_ago_goes(self, harness: Harness) -> None:
        """seed:N13"""
        old = await ended(harness, keyed())
        await harness.advance(7 * DAY)
        young = await ended(harness, call())

        assert await prune(harness) == (1, 1)
        assert await left(harness, old.id, young.id) == {young.id}
        assert await harness.kinds(old.id) == []
        assert (await harness.submit(again := keyed())) == [Receipt(again.id, True)]

    async def test_a_status_without_a_rule_stays(self, harness: Harness) -> None:
        """seed:B8, seed:B18"""
        dead = await harness.bring(call(), Status.DEAD_LETTER)
        waiting = await harness.bring(call(), Status.SCHEDULED)
        await harness.advance(365 * DAY)

        assert await prune(harness) == (0, 0)
        assert await prune(harness, {}) == (0, 0)
        assert await left(harness, dead, waiting) == {dead, waiting}

    async def test_trees_go_whole(self, harness: Harness) -> None:
        """seed:N13"""
        root = await ended(harness, call())
        await harness.advance(5 * DAY)
        below = await ended(harness, child(root))
        await harness.advance(5 * DAY)
        assert await prune(harness) == (0, 0)

        await harness.advance(2 * DAY)

        assert await prune(harness) == (1, 2)
        assert await left(harness, root.id, below.id) == set()

    async def test_each_of_a_tree_must_have_outlived_its_own_rule(self, harness: Harness) -> None:
        root = await ended(harness, call())
        below = await harness.bring(child(root), Status.FAILED)
        await harness.advance(8 * DAY)

        assert await prune(harness) == (0, 0)
        both = DAYS | {Status.FAILED: 9 * DAY}
        assert await prune(harness, both) == (0, 0)
        assert await left(harness, root.id, below) == {root.id, below}
        await harness.advance(DAY)
        assert await prune(harness, both) == (1, 2)

    async def test_what_was_left_without_its_parent_goes_by_itself(self, harness: Harness) -> None:
        """A handler that outlived its lease made it when its parent was deleted already."""
        root = await ended(harness, call())
        await delete(harness, root.id)
        stranger = await ended(harness, child(root))
        await harness.advance(7 * DAY)

        assert await prune(harness) == (1, 1)
        assert await left(harness, stranger.id) == set()

    async def test_batches_take_turns_until_nothing_is_left(self, harness: Harness) -> None:
        made = [call(queue=queue) for queue in ("a", "b", "b", "b", "c")]
        await harness.submit(*made)
        await harness.cancel(*(each.id for each in made))
        rules = {Status.CANCELLED: 0.0, Status.COMPLETED: 0.0}

        batches = await passed(harness, rules, limit=2)

        assert max(each.trees for each in batches) == 2
        assert sum(each.trees for each in batches) == 5
        assert await left(harness, *(each.id for each in made)) == set()

    async def test_a_dry_run_counts_and_deletes_nothing(self, harness: Harness) -> None:
        root = await ended(harness, call())
        await ended(harness, child(root))
        await harness.advance(8 * DAY)

        assert await prune(harness, dry_run=True) == (1, 2)
        assert await left(harness, root.id) == {root.id}

    @pytest.mark.parametrize("rules", [{Status.PENDING: 1.0}, {Status.FAILED: -1.0}], ids=str)
    async def test_what_has_not_ended_is_never_asked_for(
        self, harness: Harness, rules: dict[Status, float]
    ) -> None:
        with pytest.raises(ConfigurationError, match=r"never deleted|at least 0"):
            await prune(harness, rules)

    async def test_an_operators_prune_is_recorded_once(self, harness: Harness) -> None:
        command = Command(actor="ada", id=new_id())
        await passed(harness, command=command)
        old = await ended(harness, call())
        await harness.advance(8 * DAY)

        assert sum(each.trees for each in await passed(harness, command=command)) == 0
        assert await left(harness, old.id) == {old.id}
        [entry] = await audited(harness)
        assert (entry.action, entry.detail) == ("prune", {"rules": {"completed": 7 * DAY}})

    async def test_a_prune_that_is_asked_for_again_goes_on(self, harness: Harness) -> None:
        """Its first answer was lost, and the rest is still to do."""
        command = Command(actor="ada", id=new_id())
        made = [call() for _ in range(5)]
        await harness.submit(*made)
        await harness.cancel(*(each.id for each in made))
        rules = {Status.CANCELLED: 0.0}
        prune = partial(harness.backend.prune, rules, limit=2, command=command)
        assert (await harness.call(prune)).trees == 2

        again = await passed(harness, rules, limit=2, command=command)

        assert again[0].trees == 0 and sum(each.trees for each in again) == 1
        assert len(await audited(harness)) == 1


class UniqueForTests:
    """A key that is free again after a time, whatever its activity does (design 2.2)."""

    @pytest.mark.parametrize("on_duplicate", list(OnDuplicate), ids=str)
    async def test_an_expired_key_is_free_though_its_activity_lives(
        self, harness: Harness, on_duplicate: OnDuplicate
    ) -> None:
        """D23"""
        first = keyed(unique_for=60.0)
        await harness.submit(first)
        await harness.advance(50)
        assert await harness.submit(keyed(unique_for=60.0)) == [Receipt(first.id, False)]
        await harness.advance(11)  # what was answered has not made it last longer

        again = keyed(on_duplicate=on_duplicate, payload='{"n":1}', unique_for=60.0)

        assert await harness.submit(again) == [Receipt(again.id, True)]
        same = keyed(payload='{"n":1}')
        assert await harness.submit(same) == [Receipt(again.id, False)]
        assert await left(harness, first.id) == {first.id}

    async def test_a_batch_frees_what_has_expired_too(self, harness: Harness) -> None:
        await harness.submit(first := keyed("a", unique_for=60.0), kept := keyed("b"))
        await harness.advance(61)

        again = [keyed("a", unique_for=5.0), keyed("b"), keyed("a")]

        assert await harness.submit(*again) == [
            Receipt(again[0].id, True),
            Receipt(kept.id, False),
            Receipt(again[0].id, False),
        ]
        await harness.advance(6)
        last = keyed("a", OnDuplicate.NO_REUSE)
        assert await harness.submit(last) == [Receipt(last.id, True)]
        assert await left(harness, first.id, again[0].id) == {first.id, again[0].id}

    async def test_a_key_that_is_pointed_elsewhere_lasts_as_the_new_call_says(
        self, harness: Harness
    ) -> None:
        await harness.submit(keyed(unique_for=60.0))
        await harness.submit(newest := keyed(on_duplicate=OnDuplicate.ALLOW_REUSE))
        await harness.advance(DAY)

        assert await harness.submit(keyed()) == [Receipt(newest.id, False)]

    async def test_a_call_that_is_repeated_finds_itself(self, harness: Harness) -> None:
        """promise:G3"""
        made = keyed(unique_for=60.0)
        await harness.submit(made)
        await harness.advance(61)

        assert await harness.submit(made) == [Receipt(made.id, True)]

    async def test_expired_keys_are_swept_away(self, harness: Harness) -> None:
        made = [keyed(str(number), unique_for=60.0 + number) for number in range(3)]
        await harness.submit(*made, kept := keyed("kept"))
        await harness.advance(61.5)

        sweeps = [await harness.call(harness.backend.sweep_keys, limit) for limit in (1, 10, 10)]

        assert sweeps == [1, 1, 0]
        assert await harness.submit(keyed("2"), keyed("kept")) == [
            Receipt(made[2].id, False),
            Receipt(kept.id, False),
        ]
