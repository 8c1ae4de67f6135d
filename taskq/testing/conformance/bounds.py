"""Bounded queues: room, refusals, evictions."""

from __future__ import annotations

import anyio
import pytest

from taskq.backends import Topic
from taskq.backends.bounding import LARGE
from taskq.errors import QueueFull
from taskq.lifecycle import Failed
from taskq.model import Activity, Bound, ErrorKind, Overflow, Status
from taskq.testing.conformance.harness import Harness, eventually
from taskq.testing.conformance.samples import DAY, call, child, error, keyed

TWO = Bound(2, Overflow.ERROR)
NEWEST = Bound(2, Overflow.DROP_OLDEST)


async def statuses(harness: Harness, *activities: Activity[object]) -> list[Status]:
    """Their states."""
    return [await harness.status(activity.id) for activity in activities]


class BoundTests:
    """seed:E25"""

    async def test_a_full_queue_refuses_a_call_and_says_how_full_it_is(
        self, harness: Harness
    ) -> None:
        """What is scheduled or to be retried waits too; what runs or has ended does not."""
        await harness.running(call(bound=TWO))
        retrying = await harness.running(call("again", bound=TWO))
        await harness.end(retrying, Failed(error=error(), delay=DAY))
        await harness.submit(call(delay=DAY, bound=TWO))
        late = call(bound=TWO)

        with pytest.raises(QueueFull, match="queue 'default' is full: 2 wait") as refused:
            await harness.submit(late)

        full = refused.value
        assert (full.queue, full.bound, full.waiting) == ("default", 2, 2)
        assert late.id not in await harness.call(harness.backend.get, [late.id])
        await harness.submit(call(queue="other", bound=TWO), call())  # another one, and no bound

    async def test_a_batch_has_room_as_a_whole_or_is_refused(self, harness: Harness) -> None:
        await harness.submit(call(bound=TWO))
        one, two = call(bound=TWO), call(bound=TWO)

        with pytest.raises(QueueFull):
            await harness.submit(call(queue="other", bound=TWO), one, two)

        assert not await harness.call(harness.backend.get, [one.id, two.id])
        await harness.submit(one)

    async def test_a_large_bound_is_as_exact(self, harness: Harness) -> None:
        """Though not every call is counted for."""
        large = Bound(LARGE, Overflow.ERROR)
        await harness.submit(*(call() for _ in range(LARGE - 20)))
        for _ in range(18):
            await harness.submit(call(bound=large))

        with pytest.raises(QueueFull):
            await harness.submit(*(call(bound=large) for _ in range(3)))
        await harness.submit(*(call(bound=large) for _ in range(2)))
        with pytest.raises(QueueFull):
            await harness.submit(call(bound=large))

    async def test_what_is_stored_already_needs_no_room(self, harness: Harness) -> None:
        """A repeated call, and one whose idempotency key gives an existing activity."""
        first, second = call(bound=TWO), keyed(bound=TWO)
        await harness.submit(first, second)

        [again, same] = await harness.submit(first, keyed(bound=TWO))

        assert (again.id, again.created) == (first.id, True)
        assert (same.id, same.created) == (second.id, False)
        with pytest.raises(QueueFull):
            await harness.submit(keyed("another", bound=TWO))

    async def test_a_child_needs_no_room_and_takes_some(self, harness: Harness) -> None:
        parent = await harness.running(call("parent"))
        for bound in (TWO, NEWEST, Bound(2)):
            await harness.submit(child(parent, bound=bound))

        with pytest.raises(QueueFull):
            await harness.submit(call(bound=TWO))

    async def test_the_oldest_roots_make_room_and_whoever_awaits_them_is_told(
        self, harness: Harness
    ) -> None:
        parent = await harness.running(call("parent"))
        kept = child(parent)
        old, later = call(bound=NEWEST), call(delay=DAY, bound=NEWEST)
        await harness.submit(old)
        await harness.submit(later)
        _, hints = await harness.watch(Topic.DONE)

        await harness.submit(kept)  # three wait now: more than the bound, by a child
        new = call(bound=NEWEST)
        await harness.submit(new)

        waiting = [Status.SCHEDULED, Status.PENDING, Status.PENDING]
        assert await statuses(harness, old, later, kept, new) == [Status.CANCELLED, *waiting]
        ended = (await harness.info(old.id)).error
        assert ended is not None
        assert (ended.kind, ended.type) == (ErrorKind.EVICTED, "Evicted")
        assert "'default' was full" in ended.message
        await eventually(lambda: any(hint.ids and old.id in hint.ids for hint in hints))

    async def test_what_an_evicted_one_has_made_is_cancelled_with_it(
        self, harness: Harness
    ) -> None:
        parent = await harness.running(call("parent", bound=NEWEST))
        below = child(parent, queue="other")
        await harness.submit(below)
        await harness.end(parent, Failed(error=error(), delay=DAY))
        await harness.submit(call(bound=NEWEST), call(bound=NEWEST))

        assert await harness.status(parent.id) is Status.CANCELLED
        assert await harness.status(below.id) is Status.CANCELLED

    async def test_where_only_children_wait_none_of_them_is_evicted(self, harness: Harness) -> None:
        parent = await harness.running(call("parent"))
        children = [child(parent), child(parent)]
        await harness.submit(*children)

        with pytest.raises(QueueFull):
            await harness.submit(call(bound=NEWEST))

        assert await statuses(harness, *children) == [Status.PENDING] * 2

    @pytest.mark.parametrize("overflow", [Overflow.ERROR, Overflow.DROP_OLDEST])
    async def test_the_bound_is_exact_whatever_is_stored_at_once(
        self, harness: Harness, overflow: Overflow
    ) -> None:
        bound = Bound(5, overflow)
        refused: list[QueueFull] = []

        async def produce(activities: list[Activity[object]]) -> None:
            try:
                await harness.submit(*activities)
            except QueueFull as error:
                refused.append(error)

        async with anyio.create_task_group() as group:
            for number in range(12):
                batch = [call(bound=bound) for _ in range(1 + number % 2)]
                group.start_soon(produce, batch)

        counts = (await harness.call(harness.backend.stats, ())).by_status
        assert counts[Status.PENDING] == 5
        assert bool(refused) is (overflow is Overflow.ERROR)
        assert counts[Status.CANCELLED] == (0 if overflow is Overflow.ERROR else 13)
