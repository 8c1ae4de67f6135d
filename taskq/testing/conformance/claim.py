"""claim: what is given to whom, in which order."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from taskq.identifiers import new_id
from taskq.model import Attempt, Policy, Priority, Status
from taskq.retry import RetryPolicy
from taskq.testing.conformance.harness import Harness, ids, near
from taskq.testing.conformance.samples import DAY, call


class ClaimTests:
    """Order, filters, isolation, exclusion."""

    async def test_an_attempt_carries_everything_that_was_submitted(self, harness: Harness) -> None:
        """seed:B6"""

        policy = Policy(
            retry=RetryPolicy(0.5, 3.0, 60.0, 0.0),
            retry_on_timeout=False,
            on_child_failure="retry",
            hooks=("on_dead_letter", "on_failure"),
        )
        activity = call(
            "billing.charge:v2",
            payload='{"cents":100}',
            root_id=new_id(),
            origin_id=new_id(),
            parent_id=new_id(),
            depth=2,
            priority=Priority.CRITICAL,
            max_retries=None,
            max_crashes=7,
            timeout=0.25,
            policy=policy,
            metadata='{"a":[1,null]}',
            tags='{"team":"red"}',
            source="api",
            correlation_id="corr-1",
            user_id="user-1",
        )
        worker = new_id()
        await harness.submit(activity)

        [attempt] = await harness.claim(worker)

        info = await harness.info(activity.id)
        assert attempt == Attempt(
            id=activity.id,
            worker=worker,
            claim=1,
            type="billing.charge:v2",
            queue="default",
            payload='{"cents":100}',
            root_id=activity.root_id,
            origin_id=activity.origin_id,
            created_at=info.created_at,
            ready_at=info.ready_at,
            parent_id=activity.parent_id,
            depth=2,
            priority=Priority.CRITICAL,
            max_retries=None,
            max_crashes=7,
            timeout=0.25,
            policy=policy,
            metadata='{"a":[1,null]}',
            tags='{"team":"red"}',
            source="api",
            correlation_id="corr-1",
            user_id="user-1",
            claimed_at=info.started_at,
        )

    async def test_a_plain_attempt_has_the_defaults(self, harness: Harness) -> None:
        activity = call()
        attempt = await harness.running(activity)

        assert (attempt.max_retries, attempt.max_crashes, attempt.timeout) == (3, 3, 300.0)
        assert (attempt.policy, attempt.priority) == (Policy(), Priority.NORMAL)
        assert (attempt.metadata, attempt.tags, attempt.source) == (None, None, None)
        assert (attempt.parent_id, attempt.depth, attempt.root_id) == (None, 0, activity.id)
        assert isinstance(attempt.priority, Priority)

    async def test_no_timeout_stays_none(self, harness: Harness) -> None:
        assert (await harness.running(call(timeout=None))).timeout is None

    async def test_a_claim_takes_a_lease(self, harness: Harness) -> None:
        """promise:G6"""
        worker = new_id()
        activity = call()
        await harness.submit(activity)
        await harness.advance(10)

        await harness.claim(worker, lease=45.0)

        now = await harness.now()
        info = await harness.info(activity.id)
        assert (info.status, info.worker, info.claim) == (Status.PROCESSING, worker, 1)
        assert near(info.started_at, now)
        assert info.started_at is not None and info.lease_until is not None
        assert abs((info.lease_until - info.started_at).total_seconds() - 45.0) < 0.01

    async def test_the_claim_number_grows_with_every_claim(self, harness: Harness) -> None:
        worker = new_id()
        attempt = await harness.running(worker=worker)
        for expected in (1, 2, 3):
            assert attempt.claim == expected
            await harness.hand_back(worker, attempt.lease)
            attempt = await harness.reclaim(worker=worker)

    async def test_what_is_claimed_is_not_given_again(self, harness: Harness) -> None:
        """promise:G6"""
        worker = new_id()
        await harness.submit(call(), call())

        assert len(await harness.claim(worker)) == 2
        assert await harness.claim(worker) == []
        assert await harness.claim(new_id()) == []

    @pytest.mark.parametrize(
        "status", [each for each in Status if each is not Status.PENDING], ids=str
    )
    async def test_only_pending_activities_are_given(
        self, harness: Harness, status: Status
    ) -> None:
        """promise:G7"""
        await harness.bring(call(), status)

        assert await harness.claim(new_id()) == []
        assert await harness.claim(new_id(), limit=1, alone=True) == []

    async def test_a_higher_priority_goes_first(self, harness: Harness) -> None:
        """promise:G15, seed:P1, seed:P6"""
        order = [Priority.NORMAL, Priority.CRITICAL, Priority.LOW, Priority.HIGH]
        await harness.submit(*(call(priority=priority) for priority in order))

        attempts = await harness.claim(new_id())

        assert [attempt.priority for attempt in attempts] == sorted(order, reverse=True)

    async def test_inside_a_priority_the_sooner_ready_goes_first(self, harness: Harness) -> None:
        """promise:G15: first in, first out by ready time; a due one stands where it was due.

        seed:P4
        """
        due = call(delay=10.0)
        await harness.submit(due)
        await harness.advance(20)
        late = call()
        await harness.submit(late)
        await harness.call(harness.backend.promote, 10)

        assert ids(await harness.claim(new_id())) == [due.id, late.id]

    async def test_at_the_same_ready_time_the_lower_id_goes_first(self, harness: Harness) -> None:
        when = await harness.now()
        activities = [call(run_at=when) for _ in range(20)]
        await harness.submit(*reversed(activities))

        assert ids(await harness.claim(new_id())) == [each.id for each in activities]

    async def test_priority_beats_ready_time_beats_id(self, harness: Harness) -> None:
        """seed:P3"""

        now = await harness.now()
        low = call(priority=Priority.LOW, run_at=now)
        await harness.advance(10)
        second = call(run_at=await harness.now())
        first = call(run_at=now)
        urgent = call(priority=Priority.HIGH, run_at=await harness.now())
        await harness.submit(low, second, first, urgent)

        expected = [urgent.id, first.id, second.id, low.id]
        assert ids(await harness.claim(new_id())) == expected

    async def test_the_order_holds_across_queues_and_types(self, harness: Harness) -> None:
        when = await harness.now()
        activities = [
            call(type, queue=queue, priority=priority, run_at=when)
            for priority in (Priority.HIGH, Priority.NORMAL)
            for type, queue in [("b", "two"), ("a", "one"), ("b", "one"), ("a", "two")]
        ]
        await harness.submit(*activities)
        expected = [each.id for each in activities]

        got = await harness.claim(new_id(), queues=("two", "one"), types=("a", "b"), limit=3)
        got += await harness.claim(new_id(), queues=("one", "two"), limit=100)

        assert ids(got) == expected

    async def test_only_the_queues_asked_for_are_served(self, harness: Harness) -> None:
        one, two, three = (call(queue=queue) for queue in ("one", "two", "three"))
        await harness.submit(one, two, three)

        assert ids(await harness.claim(new_id(), queues=("three", "one", "none"))) == [
            one.id,
            three.id,
        ]

    async def test_no_queue_gets_nothing(self, harness: Harness) -> None:
        await harness.submit(call())

        assert await harness.claim(new_id(), queues=()) == []

    async def test_a_queue_named_twice_gives_each_once(self, harness: Harness) -> None:
        activity = call()
        await harness.submit(activity)

        got = await harness.claim(new_id(), queues=("default",) * 2, types=("work",) * 2)

        assert ids(got) == [activity.id]

    async def test_only_the_types_asked_for_are_given(self, harness: Harness) -> None:
        """promise:G4: an unknown type waits, visible, and is never discarded (design 7.3)."""
        a, b, c = call("a"), call("b"), call("c")
        await harness.submit(a, b, c)

        assert ids(await harness.claim(new_id(), types=("c", "a", "nosuch"))) == [a.id, c.id]
        assert await harness.status(b.id) is Status.PENDING

    async def test_no_type_gets_nothing_and_none_gets_all(self, harness: Harness) -> None:
        await harness.submit(call("a"), call("b"))

        assert await harness.claim(new_id(), types=()) == []
        assert len(await harness.claim(new_id(), types=None)) == 2

    async def test_many_types_are_served_in_one_order(self, harness: Harness) -> None:
        activities = [call(f"type-{number % 40}") for number in range(120)]
        await harness.submit(*activities)
        types = tuple(f"type-{number}" for number in range(30))

        got = await harness.claim(new_id(), types=types, limit=50)

        wanted = [each.id for each in activities if each.type in types]
        assert ids(got) == wanted[:50]

    async def test_a_limit_is_kept_and_the_rest_stays(self, harness: Harness) -> None:
        activities = [call() for _ in range(5)]
        await harness.submit(*activities)

        assert ids(await harness.claim(new_id(), limit=2)) == [each.id for each in activities[:2]]
        assert ids(await harness.claim(new_id(), limit=2)) == [each.id for each in activities[2:4]]
        assert ids(await harness.claim(new_id(), limit=2)) == [activities[4].id]

    async def test_isolated_ones_are_passed_over(self, harness: Harness) -> None:
        """promise:G8: what may take its neighbours with it never runs beside them."""
        isolated = call(max_crashes=1, priority=Priority.CRITICAL)
        plain = call()
        await harness.submit(isolated, plain)

        assert ids(await harness.claim(new_id())) == [plain.id]
        assert await harness.claim(new_id()) == []

    async def test_alone_gives_only_isolated_ones(self, harness: Harness) -> None:
        first, second = call(max_crashes=1), call(max_crashes=1)
        await harness.submit(call(), first, second)

        [attempt] = await harness.claim(new_id(), limit=1, alone=True)

        assert (attempt.id, attempt.isolate) == (first.id, True)
        assert ids(await harness.claim(new_id(), limit=1, alone=True)) == [second.id]
        assert await harness.claim(new_id(), limit=1, alone=True) == []

    async def test_alone_heeds_queues_and_types(self, harness: Harness) -> None:
        here = call("a", max_crashes=1)
        await harness.submit(replace(call("a", max_crashes=1), queue="other"), here)
        await harness.submit(call("b", max_crashes=1))

        assert await harness.claim(new_id(), types=("c",), limit=1, alone=True) == []
        got = await harness.claim(new_id(), types=("a",), limit=1, alone=True)
        assert ids(got) == [here.id]

    async def test_a_backlog_that_is_not_due_or_not_wanted_is_passed_by(
        self, harness: Harness
    ) -> None:
        await harness.submit(*(call(delay=DAY) for _ in range(300)))
        await harness.submit(*(call("other", priority=Priority.HIGH) for _ in range(300)))
        wanted = call()
        await harness.submit(wanted)

        assert ids(await harness.claim(new_id(), types=("work",), limit=1)) == [wanted.id]

    @pytest.mark.parametrize("children", [False, True], ids=["any", "children"])
    async def test_concurrent_claims_are_disjoint_and_complete(
        self, harness: Harness, children: bool
    ) -> None:
        """promise:G6: 200 activities, 8 workers at once; none twice, none left."""
        parent = new_id() if children else None
        activities = [
            call(f"type-{number % 3}", queue=f"q{number % 2}", parent_id=parent, depth=number % 5)
            for number in range(200)
        ]
        await harness.submit(*activities)
        taken: list[Attempt] = []

        async def drain() -> None:
            worker = new_id()
            places: dict[str, Any] = {"queues": ("q0", "q1"), "children": children}
            while attempts := await harness.claim(worker, limit=7, **places):
                taken.extend(attempts)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(drain)

        assert len(taken) == 200
        assert sorted(ids(taken)) == sorted(each.id for each in activities)

    @pytest.mark.parametrize("types", [None, ("work",)], ids=["any type", "one type"])
    async def test_the_deepest_of_all_queues_are_given_first(
        self, harness: Harness, types: tuple[str, ...] | None
    ) -> None:
        """design 7.10: whichever queue is named first; priority, ready time and id come after."""
        root = call("work")
        below: dict[str, Any] = {"parent_id": root.id, "root_id": root.id}
        places = [("default", 1), ("b", 3), ("default", 2), ("b", 1), ("default", 3), ("b", 2)]
        made = [call("work", queue=queue, depth=depth, **below) for queue, depth in places]
        urgent = call("work", queue="b", depth=2, priority=Priority.HIGH, **below)
        await harness.submit(root, *made, urgent)
        order = [made[1], made[4], urgent, made[2], made[5], made[0], made[3]]

        taken: list[Attempt] = []
        for _ in range(4):
            taken += await harness.claim(
                new_id(), limit=2, queues=("default", "b", "none"), types=types, children=True
            )

        assert ids(taken) == [each.id for each in order]

    async def test_children_are_given_the_deepest_first(self, harness: Harness) -> None:
        """design 7.10: at ``max_suspended`` a worker begins only what others wait for."""
        root = call("work", priority=Priority.CRITICAL)
        shallow = call("work", parent_id=root.id, root_id=root.id, depth=1, priority=Priority.HIGH)
        deep = call("work", parent_id=shallow.id, root_id=root.id, depth=2)
        urgent = call(
            "work", parent_id=shallow.id, root_id=root.id, depth=2, priority=Priority.HIGH
        )
        other = call("other", parent_id=shallow.id, root_id=root.id, depth=3)
        elsewhere = call("work", queue="elsewhere", parent_id=shallow.id, root_id=root.id, depth=1)
        await harness.submit(root, shallow, deep, urgent, other, elsewhere)
        places: dict[str, Any] = {
            "queues": ("default", "elsewhere"),
            "types": ("work",),
            "children": True,
        }

        first = await harness.claim(new_id(), limit=2, **places)
        rest = await harness.claim(new_id(), **places)
        any_type = await harness.claim(new_id(), children=True)
        none = await harness.claim(new_id(), **places)

        assert ids(first) == [urgent.id, deep.id]
        assert ids(rest) == [shallow.id, elsewhere.id]
        assert ids(any_type) == [other.id]
        assert none == []
        assert [each.claim for each in (*first, *rest, *any_type)] == [1] * 5
        assert ids(await harness.claim(new_id())) == [root.id]
