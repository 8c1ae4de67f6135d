"""watch: hints that something may have changed (design 7.8)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from taskq.backends import Hint, Topic
from taskq.identifiers import new_id
from taskq.lifecycle import Crashed, Failed, Interrupted, Outcome, Snoozed, Succeeded
from taskq.model import Policy, Status
from taskq.testing.conformance.harness import Harness, eventually
from taskq.testing.conformance.samples import DAY, call, error


class WatchTests:
    """Every change that somebody may wait for is hinted at."""

    @pytest.mark.parametrize("delay", [None, DAY], ids=["pending", "scheduled"])
    async def test_a_submit_is_hinted_as_ready(self, harness: Harness, delay: float | None) -> None:
        _, hints = await harness.watch(Topic.READY)

        await harness.submit(call(delay=delay))

        await eventually(lambda: mentions(hints, Topic.READY))
        assert all(hint.ids is None for hint in hints)

    @pytest.mark.parametrize(
        "outcome",
        [Failed(error=error()), Interrupted(), Snoozed(60.0), Crashed()],
        ids=lambda outcome: type(outcome).__name__,
    )
    async def test_what_is_to_run_again_is_hinted_as_ready(
        self, harness: Harness, outcome: Outcome
    ) -> None:
        attempt = await harness.running()
        await harness.advance(31)
        _, hints = await harness.watch(Topic.READY)

        await harness.end(attempt, outcome)

        await eventually(lambda: mentions(hints, Topic.READY))

    async def test_a_promotion_is_hinted_as_ready(self, harness: Harness) -> None:
        await harness.submit(call(delay=10.0))
        await harness.advance(20)
        _, hints = await harness.watch(Topic.READY)

        await harness.call(harness.backend.promote, 10)

        await eventually(lambda: mentions(hints, Topic.READY))

    async def test_a_hand_back_is_hinted_as_ready(self, harness: Harness) -> None:
        attempt = await harness.running()
        _, hints = await harness.watch(Topic.READY)

        await harness.hand_back(attempt.worker, attempt.lease)

        await eventually(lambda: mentions(hints, Topic.READY))

    async def test_an_operators_retry_is_hinted_as_ready(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.FAILED)
        _, hints = await harness.watch(Topic.READY)

        await harness.retry(id)

        await eventually(lambda: mentions(hints, Topic.READY))

    async def test_a_hook_is_hinted_as_ready(self, harness: Harness) -> None:
        """design 7.14"""
        attempt = await harness.running(call(policy=Policy(hooks=("on_failure",))))
        _, hints = await harness.watch(Topic.READY)

        await harness.end(attempt, Failed(error=error(), retryable=False))

        await eventually(lambda: mentions(hints, Topic.READY))

    @pytest.mark.parametrize(
        "outcome",
        [Succeeded("1"), Failed(error=error(), retryable=False)],
        ids=lambda outcome: type(outcome).__name__,
    )
    async def test_an_end_is_hinted_as_done(self, harness: Harness, outcome: Outcome) -> None:
        attempt = await harness.running()
        _, hints = await harness.watch(Topic.DONE)

        await harness.end(attempt, outcome)

        await eventually(lambda: mentions(hints, Topic.DONE, attempt.id))

    async def test_the_outcome_is_there_when_the_hint_is(self, harness: Harness) -> None:
        """seed:W13"""

        attempt = await harness.running()
        _, hints = await harness.watch(Topic.DONE)
        await harness.end(attempt, Succeeded("1"))

        await eventually(lambda: mentions(hints, Topic.DONE, attempt.id))

        assert attempt.id in await harness.call(harness.backend.outcomes, [attempt.id])

    async def test_a_cancel_of_what_waits_is_hinted_as_done(self, harness: Harness) -> None:
        activity = call()
        await harness.submit(activity)
        _, hints = await harness.watch(Topic.DONE)

        await harness.cancel(activity.id)

        await eventually(lambda: mentions(hints, Topic.DONE, activity.id))

    async def test_a_cancelled_hand_back_is_hinted_as_done(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.cancel(attempt.id)
        _, hints = await harness.watch(Topic.DONE)

        await harness.hand_back(attempt.worker, attempt.lease)

        await eventually(lambda: mentions(hints, Topic.DONE, attempt.id))

    async def test_a_cancel_of_what_runs_is_hinted_as_cancel(self, harness: Harness) -> None:
        """promise:G10"""
        attempt = await harness.running()
        _, hints = await harness.watch(Topic.CANCEL)

        await harness.cancel(attempt.id)

        await eventually(lambda: mentions(hints, Topic.CANCEL, attempt.id))

    async def test_only_the_topics_asked_for_are_hinted(self, harness: Harness) -> None:
        _, hints = await harness.watch(Topic.DONE)
        attempt = await harness.running()
        await harness.cancel(attempt.id)

        await harness.end(attempt, Succeeded("1"))

        await eventually(lambda: mentions(hints, Topic.DONE, attempt.id))
        assert {hint.topic for hint in hints} == {Topic.DONE}

    async def test_every_watch_is_told(self, harness: Harness) -> None:
        _, one = await harness.watch(Topic.READY, Topic.DONE)
        _, two = await harness.watch(Topic.READY)

        await harness.submit(call())

        await eventually(lambda: mentions(one, Topic.READY) and mentions(two, Topic.READY))

    async def test_a_closed_watch_is_told_nothing(self, harness: Harness) -> None:
        closed, silent = await harness.watch(Topic.READY, Topic.DONE, Topic.CANCEL)
        await harness.call(closed.close)
        before = list(silent)
        _, hints = await harness.watch(Topic.READY)

        await harness.submit(call())

        await eventually(lambda: mentions(hints, Topic.READY))
        assert silent == before

    async def test_closing_a_watch_twice_is_nothing(self, harness: Harness) -> None:
        closed, _ = await harness.watch(Topic.READY)
        _, hints = await harness.watch(Topic.READY)

        await harness.call(closed.close)
        await harness.call(closed.close)

        await harness.submit(call())
        await eventually(lambda: mentions(hints, Topic.READY))

    async def test_watching_goes_on_after_a_hint(self, harness: Harness) -> None:
        _, hints = await harness.watch(Topic.DONE)
        await harness.submit(*(call() for _ in range(3)))
        for attempt in await harness.claim(new_id()):
            await harness.end(attempt, Succeeded("1"))
            await eventually(lambda id=attempt.id: mentions(hints, Topic.DONE, id))
            hints.clear()


def mentions(hints: Sequence[Hint], topic: Topic, id: UUID | None = None) -> bool:
    """Whether a hint of this topic came, and may mean this activity."""
    return any(
        hint.topic is topic and (id is None or hint.ids is None or id in hint.ids) for hint in hints
    )
