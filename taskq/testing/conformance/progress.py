"""report_progress: fenced by the claim, kept until something newer is said."""

from __future__ import annotations

from datetime import UTC, datetime

from taskq.backends import ProgressReport
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Succeeded
from taskq.model import Attempt, Lease
from taskq.progress import Progress
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call, error

AT = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


def said(done: float) -> Progress:
    """Progress of this much."""
    return Progress(done=done, at=AT)


class ProgressTests:
    """What running attempts say about themselves."""

    async def report(self, harness: Harness, attempt: Attempt, *progress: Progress) -> None:
        """As the attempt's worker does."""
        reports = [ProgressReport(attempt.lease, each) for each in progress]
        await harness.call(harness.backend.report_progress, attempt.worker, reports)

    async def test_it_is_read_as_it_was_said(self, harness: Harness) -> None:
        attempt = await harness.running()
        assert (await harness.info(attempt.id)).progress is None
        whole = Progress(done=3, total=10.5, note='größer; "3" of 10\n', at=AT)

        await self.report(harness, attempt, whole)

        assert (await harness.info(attempt.id)).progress == whole

    async def test_the_latest_counts(self, harness: Harness) -> None:
        attempt = await harness.running()

        await self.report(harness, attempt, said(1), said(2))
        await self.report(harness, attempt, said(4), said(3))

        assert (await harness.info(attempt.id)).progress == said(3)

    async def test_many_activities_are_written_at_once(self, harness: Harness) -> None:
        worker = new_id()
        await harness.submit(*(call() for _ in range(20)))
        attempts = await harness.claim(worker)
        reports = [ProgressReport(each.lease, said(place)) for place, each in enumerate(attempts)]

        await harness.call(harness.backend.report_progress, worker, reports)

        for place, each in enumerate(attempts):
            assert (await harness.info(each.id)).progress == said(place)

    async def test_who_has_lost_the_lease_writes_nothing(self, harness: Harness) -> None:
        """promise:G6"""
        first = await harness.running()
        await harness.hand_back(first.worker, first.lease)
        await self.report(harness, first, said(1))
        assert (await harness.info(first.id)).progress is None
        second = await harness.reclaim(worker=first.worker)
        await self.report(harness, second, said(2))

        await self.report(harness, first, said(3))
        stranger = [ProgressReport(second.lease, said(4))]
        await harness.call(harness.backend.report_progress, new_id(), stranger)

        assert (await harness.info(first.id)).progress == said(2)

    async def test_who_has_ended_writes_nothing(self, harness: Harness) -> None:
        attempt = await harness.running()
        await self.report(harness, attempt, said(1))
        await harness.end(attempt, Succeeded("1"))

        await self.report(harness, attempt, said(2))

        assert (await harness.info(attempt.id)).progress == said(1)

    async def test_it_outlives_a_retry_until_something_newer_is_said(
        self, harness: Harness
    ) -> None:
        attempt = await harness.running()
        await self.report(harness, attempt, said(1))
        await harness.end(attempt, Failed(error=error(), delay=0.0))
        await harness.call(harness.backend.promote, 10)

        again = await harness.reclaim()

        assert (await harness.info(attempt.id)).progress == said(1)
        await self.report(harness, again, said(2))
        assert (await harness.info(attempt.id)).progress == said(2)

    async def test_an_operators_retry_forgets_it(self, harness: Harness) -> None:
        attempt = await harness.running()
        await self.report(harness, attempt, said(1))
        await harness.end(attempt, Failed(error=error(), retryable=False))

        await harness.retry(attempt.id)

        assert (await harness.info(attempt.id)).progress is None

    async def test_nothing_and_nobody_are_no_trouble(self, harness: Harness) -> None:
        nothing: list[ProgressReport] = []
        await harness.call(harness.backend.report_progress, new_id(), nothing)
        unknown = [ProgressReport(Lease(new_id(), 1), said(1))]
        await harness.call(harness.backend.report_progress, new_id(), unknown)
