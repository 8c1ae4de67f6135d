"""The faulty store of the tests is itself a store, and fails as it is told."""

from __future__ import annotations

import pytest

from taskq.backends import Store
from taskq.backends.memory import MemoryBackend
from taskq.errors import BackendUnavailable, SchemaError
from taskq.lifecycle import Succeeded, Verdict
from taskq.model import Receipt
from taskq.testing import ManualClock
from taskq.testing.conformance import Fixtures, Harness
from taskq.testing.conformance.hand_back import HandBackTests
from taskq.testing.conformance.leases import LeaseTests
from taskq.testing.conformance.reading import ReadingTests
from taskq.testing.conformance.samples import call
from tests.faulty import FaultyBackend


class TestFaulty(HandBackTests, LeaseTests, ReadingTests, Fixtures):
    """Without faults it changes nothing; with one it does the deed or does not."""

    @pytest.fixture
    def backend(self, clock: ManualClock) -> Store:
        """Over memory."""
        return FaultyBackend(MemoryBackend(clock))

    async def test_before_the_deed_nothing_is_done(
        self, harness: Harness, backend: FaultyBackend
    ) -> None:
        activity = call()
        backend.fail("submit", after=False)

        with pytest.raises(BackendUnavailable):
            await harness.submit(activity)

        assert await harness.call(backend.get, [activity.id]) == {}

    async def test_after_the_deed_only_the_reply_is_lost(
        self, harness: Harness, backend: FaultyBackend
    ) -> None:
        activity = call()
        backend.fail("submit", after=True)
        with pytest.raises(BackendUnavailable):
            await harness.submit(activity)

        assert await harness.submit(activity) == [Receipt(activity.id, True)]
        attempt = await harness.reclaim()
        backend.fail("settle", after=True)
        with pytest.raises(BackendUnavailable):
            await harness.end(attempt, Succeeded("1"))

        assert (await harness.end(attempt, Succeeded("1"))).verdict is Verdict.ALREADY_MINE

    async def test_it_fails_as_often_as_told_in_order(
        self, harness: Harness, backend: FaultyBackend
    ) -> None:
        backend.fail("held", after=False, times=2)
        backend.fail("held", after=False, error=SchemaError("too new"))
        errors: list[type[Exception]] = []
        for _ in range(4):
            try:
                await harness.call(backend.held, call().id)
            except (BackendUnavailable, SchemaError) as error:
                errors.append(type(error))

        assert errors == [BackendUnavailable, BackendUnavailable, SchemaError]
        assert (backend.calls["held"], backend.pending("held")) == (4, 0)

    async def test_mended_it_fails_no_more(self, harness: Harness, backend: FaultyBackend) -> None:
        backend.fail("claim", after=False, times=100)
        backend.mend()

        assert await harness.claim(call().id) == []

    def test_a_method_that_is_none_is_refused(self, backend: FaultyBackend) -> None:
        with pytest.raises(AttributeError):
            backend.fail("sumbit", after=True)
