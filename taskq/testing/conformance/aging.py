"""Claims in which waiting counts (D6)."""

from __future__ import annotations

from taskq.identifiers import new_id
from taskq.model import Priority
from taskq.testing.conformance.harness import Harness, ids
from taskq.testing.conformance.samples import call


class AgingTests:
    """One priority higher for each interval of waiting, in a claim that asks for it."""

    async def test_who_waits_rises_by_a_level_for_each_interval(self, harness: Harness) -> None:
        low = call(priority=Priority.LOW)
        await harness.submit(low)
        await harness.advance(25)
        normal, high = call(), call("other", priority=Priority.HIGH)
        critical = call(priority=Priority.CRITICAL)
        await harness.submit(normal, high, critical)

        attempts = await harness.claim(new_id(), aging=10.0)

        assert ids(attempts) == [critical.id, low.id, high.id, normal.id]

    async def test_nobody_rises_above_the_highest_and_the_longest_wait_goes_first(
        self, harness: Harness
    ) -> None:
        low = call(priority=Priority.LOW)
        await harness.submit(low)
        await harness.advance(10)
        critical = call(priority=Priority.CRITICAL)
        await harness.submit(critical)
        await harness.advance(10_000)

        attempts = await harness.claim(new_id(), types=("work",), limit=1, aging=10.0)
        attempts += await harness.claim(new_id(), types=("work",), limit=1, aging=10.0)

        assert ids(attempts) == [low.id, critical.id]
        assert attempts[0].priority is Priority.LOW

    async def test_without_it_nobody_rises(self, harness: Harness) -> None:
        low = call(priority=Priority.LOW)
        await harness.submit(low)
        await harness.advance(10_000)
        high = call(priority=Priority.HIGH)
        await harness.submit(high)

        assert ids(await harness.claim(new_id())) == [high.id, low.id]

    async def test_it_claims_what_any_claim_would(self, harness: Harness) -> None:
        """Of these queues and types only, over many of them, isolated ones by themselves."""
        types = tuple(f"type-{number}" for number in range(70))
        wanted = [call(type) for type in types]
        alone = call("type-1", max_crashes=1)
        await harness.submit(*wanted, alone, call("another"), call("type-1", queue="other"))

        assert await harness.claim(new_id(), types=("none",), aging=5.0) == []
        attempts = await harness.claim(new_id(), types=types, aging=5.0)
        isolated = await harness.claim(new_id(), types=types, limit=1, alone=True, aging=5.0)
        left = await harness.claim(new_id(), without=types, aging=5.0)

        assert set(ids(attempts)) == {activity.id for activity in wanted}
        assert ids(isolated) == [alone.id]
        assert [attempt.type for attempt in left] == ["another"]
