"""The tests that a backend must pass (design 9.2); needs pytest and anyio's plugin.

Write a subclass whose name starts with ``Test`` and give it one fixture, an empty store that is not
yet open and takes its time from ``clock``::

    class TestMyBackend(BackendConformance):
        @pytest.fixture
        def backend(self, clock: ManualClock) -> Store:
            return MyBackend(clock=clock)

``Fixtures`` says what a shared backend, or one with a clock of its own, gives besides. Tests of
what the backend does not declare in its ``capabilities`` are skipped, with the reason. Call
``pytest.register_assert_rewrite("taskq.testing.conformance")`` in a conftest for full messages.
"""

from __future__ import annotations

from taskq.testing.conformance.aging import AgingTests
from taskq.testing.conformance.bounds import BoundTests
from taskq.testing.conformance.cancel import CancelTests
from taskq.testing.conformance.claim import ClaimTests
from taskq.testing.conformance.dead_letters import DeadLetterTests
from taskq.testing.conformance.fences import FenceTests
from taskq.testing.conformance.filtered import FilterTests
from taskq.testing.conformance.fixtures import Fixtures
from taskq.testing.conformance.hand_back import HandBackTests
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.keys import KeyTests
from taskq.testing.conformance.leases import LeaseTests
from taskq.testing.conformance.limits import LimitTests
from taskq.testing.conformance.links import LinkTests
from taskq.testing.conformance.on_record import OnRecordTests
from taskq.testing.conformance.operator_commands import OperatorCommandTests
from taskq.testing.conformance.operator_retry import OperatorRetryTests
from taskq.testing.conformance.outcomes import OutcomeTests
from taskq.testing.conformance.progress import ProgressTests
from taskq.testing.conformance.promote import PromoteTests
from taskq.testing.conformance.pruning import DeleteTests, PruneTests, UniqueForTests
from taskq.testing.conformance.queues import PauseTests
from taskq.testing.conformance.reading import (
    ReadingTests,
    SeriesTests,
    StatsTests,
    TimelineTests,
    WorkerTests,
)
from taskq.testing.conformance.reap import ReapTests
from taskq.testing.conformance.schedules import ScheduleTests
from taskq.testing.conformance.searching import SearchTests
from taskq.testing.conformance.settle import SettleTests
from taskq.testing.conformance.sharing import OpeningTests, SharingTests
from taskq.testing.conformance.steps import OrphanTests, StepTests
from taskq.testing.conformance.submit import SubmitTests
from taskq.testing.conformance.text import TextTests
from taskq.testing.conformance.transactions import TransactionTests
from taskq.testing.conformance.trees import TreeCancelTests, TreeReadingTests
from taskq.testing.conformance.watches import WatchTests


class BackendConformance(
    OpeningTests,
    SubmitTests,
    KeyTests,
    LinkTests,
    ClaimTests,
    SettleTests,
    FenceTests,
    HandBackTests,
    LeaseTests,
    ReapTests,
    PromoteTests,
    CancelTests,
    TreeCancelTests,
    ProgressTests,
    StepTests,
    OrphanTests,
    LimitTests,
    OutcomeTests,
    WatchTests,
    ReadingTests,
    FilterTests,
    SearchTests,
    TreeReadingTests,
    StatsTests,
    TimelineTests,
    WorkerTests,
    SeriesTests,
    OperatorRetryTests,
    OperatorCommandTests,
    OnRecordTests,
    DeadLetterTests,
    DeleteTests,
    PruneTests,
    UniqueForTests,
    PauseTests,
    BoundTests,
    AgingTests,
    ScheduleTests,
    TextTests,
    SharingTests,
    TransactionTests,
    Fixtures,
):
    """Every test of the contract."""


__all__ = ("BackendConformance", "Fixtures", "Harness")
