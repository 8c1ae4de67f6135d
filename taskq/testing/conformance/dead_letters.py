"""dead_letters: what has failed, by cause."""

from __future__ import annotations

from functools import partial

from taskq.filtering.reading import narrowed, parsed
from taskq.lifecycle import Failed
from taskq.model import ErrorInfo, Status
from taskq.snapshot import Cause, Filter, Page
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call


async def fail(
    harness: Harness, message: str, *, type: str = "t", queue: str = "default", dead: bool = True
) -> None:
    """An activity that failed of this."""
    activity = call(type=type, queue=queue, max_retries=0, payload=f'{{"why":"{message}"}}')
    await harness.submit(activity)
    [attempt] = await harness.claim(activity.id, queues=(queue,))
    error = ErrorInfo(type="ValueError", message=message)
    await harness.end(attempt, Failed(error=error, retryable=dead))


async def causes(harness: Harness, text: str = "", **how: int) -> list[Cause]:
    """The causes of what matches."""
    wanted = narrowed(Filter(), parsed(text))
    return await harness.call(partial(harness.backend.dead_letters, wanted, **how))


class DeadLetterTests:
    """Groups of what failed. seed:R18"""

    async def test_they_are_grouped_by_what_they_have_in_common(self, harness: Harness) -> None:
        """seed:R18"""
        await fail(harness, "no such user 1")
        began = (await harness.call(harness.backend.list, Filter(), Page())).items[0].finished_at
        await harness.advance(60)
        await fail(harness, "no such user 2", queue="mail", dead=False)
        await fail(harness, "no such user 3", type="other")
        await fail(harness, "no such user 4")

        first, second = await causes(harness)

        assert (first.type, first.count, first.dead) == ("t", 3, 2)
        assert first.title == "ValueError: no such user <n>"
        assert first.queues == ("default", "mail")
        assert first.first == began and (first.last - first.first).total_seconds() >= 60
        example = await harness.info(first.example)
        assert example.fingerprint == first.fingerprint
        assert "no such user 4" in str(example.error)
        assert (second.type, second.count, second.capped) == ("other", 1, False)
        assert second.fingerprint != first.fingerprint

    async def test_a_filter_narrows_them(self, harness: Harness) -> None:
        await fail(harness, "no such user 1")
        await fail(harness, "no such user 2", queue="mail")
        await fail(harness, "bad row")

        assert [each.count for each in await causes(harness, "queue:mail")] == [1]
        assert [each.count for each in await causes(harness, "error:user")] == [2]
        assert [each.count for each in await causes(harness, 'args.why:"no such user 2"')] == [1]
        assert await causes(harness, "status:failed") == []
        digits = (await causes(harness))[0].fingerprint
        for text in (f"cause:{digits}", f"cause:{digits[:6]}"):
            assert [each.count for each in await causes(harness, text)] == [2]
            page = await harness.call(
                harness.backend.list, narrowed(Filter(), parsed(text)), Page()
            )
            assert {each.fingerprint for each in page.items} == {digits}
            assert len(page.items) == 2

    async def test_counts_stop_at_their_cap_and_groups_at_their_limit(
        self, harness: Harness
    ) -> None:
        for number in range(4):
            await fail(harness, f"no such user {number}")
        for _ in range(2):
            await fail(harness, "bad row")

        [group] = await causes(harness, cap=3, limit=1)
        assert (group.count, group.capped) == (3, True)
        [group] = await causes(harness, "error:such", cap=3)
        assert (group.count, group.capped) == (3, True)

    async def test_what_was_retried_or_ended_well_has_no_cause(self, harness: Harness) -> None:
        for status in (Status.COMPLETED, Status.CANCELLED):
            await harness.bring(call(), status)
        dead = await harness.bring(call(), Status.DEAD_LETTER)
        assert (await harness.info(dead)).fingerprint

        await harness.retry(dead)

        assert (await harness.info(dead)).fingerprint is None
        assert await causes(harness) == []
