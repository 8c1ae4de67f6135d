"""What readers see: snapshots of activities, workers and queues, and how to ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct, field

from taskq.filtering.terms import Term
from taskq.model import ErrorInfo, Priority, Status
from taskq.progress import Progress
from taskq.redaction import Quiet
from taskq.reserved import RESERVED


class ActivityInfo(Quiet, frozen=True, kw_only=True):
    """A snapshot of one activity. Times are aware UTC, durations seconds.

    ``payload`` and ``result`` are JSON texts as stored; ``metadata`` and ``tags`` are decoded.
    ``ready_at`` is when it became or will become claimable; ``started_at`` when its latest attempt
    was claimed; ``finished_at`` when it ended; ``lease_until`` is set while it is processing.
    ``worker`` is the worker that holds it or settled it last. ``progress`` is what its handler
    reported last, in this attempt or an earlier one. ``generation`` counts the roots since
    ``origin_id``. ``step`` is its name among its parent's children. It must have started by
    ``expires_at`` (None once it has run) and ended, with its whole tree, by ``deadline_at``.
    ``fingerprint`` is the cause of what ended failed or dead_letter, see ``Cause``.
    """

    id: UUID
    type: str
    queue: str
    status: Status
    priority: Priority
    payload: str
    result: str | None
    error: ErrorInfo | None
    fingerprint: str | None = None
    retry_count: int
    crash_count: int
    max_retries: int | None
    max_crashes: int
    timeout: float | None
    created_at: datetime
    ready_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    lease_until: datetime | None
    cancel_requested_at: datetime | None
    worker: UUID | None
    claim: int
    isolate: bool
    parent_id: UUID | None
    root_id: UUID
    origin_id: UUID
    depth: int
    generation: int = 0
    step: str | None = None
    expires_at: datetime | None = None
    deadline_at: datetime | None = None
    idempotency_key: str | None
    source: str | None
    correlation_id: str | None
    user_id: str | None
    progress: Progress | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def attempts(self) -> int:
        """How many attempts have begun."""
        if self.status.terminal:
            if self.started_at is None:
                return 0
            return self.error.attempts if self.error else self.retry_count + self.crash_count + 1
        running = 1 if self.status is Status.PROCESSING else 0
        return self.retry_count + self.crash_count + running


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """One thing that happened to an activity, oldest first in a timeline.

    ``kind`` is one of: enqueued, scheduled, started, completed, failed, timed_out, dead_letter,
    cancelled (derived from the activity's own row), or a ``lifecycle.Note`` (from an event row).
    """

    at: datetime
    kind: str
    attempt: int | None = None
    worker: UUID | None = None
    detail: Mapping[str, object] = field(default_factory=dict[str, object])


class TreeNode(Struct, frozen=True, kw_only=True):
    """An activity in its tree, ``level`` generations below the root that is shown (0 for it).

    ``orphan``: its parent is not there, deleted or cut off, so that it stands below the root.
    """

    info: ActivityInfo
    level: int
    orphan: bool = False


class Tree(Struct, frozen=True, kw_only=True):
    """All activities with one root, depth first, siblings in the order in which they were made.

    ``cut``: there are more, younger ones. The root itself may be missing from ``nodes``: deleted.
    """

    root_id: UUID
    nodes: tuple[TreeNode, ...]
    cut: bool = False


class WorkerInfo(Struct, frozen=True, kw_only=True):
    """A running worker: one engine in one process, with a fresh id for each start.

    ``types`` empty means every type. ``slots_used`` counts attempts running now, ``suspended``
    those that wait for others without a slot (seed:S16; with one, where suspension is off),
    ``threads_stuck`` threads that outlived their timeout and still hold a slot. ``seen_at`` is its
    latest heartbeat.
    """

    id: UUID
    name: str
    host: str
    pid: int
    queues: tuple[str, ...]
    types: tuple[str, ...]
    concurrency: int
    slots_used: int
    threads_stuck: int
    state: str
    version: str
    async_backend: str
    started_at: datetime
    seen_at: datetime
    suspended: int = 0

    def serves(self, queue: str, type: str) -> bool:
        """Whether it takes activities of this queue and type. Every worker takes taskq's own."""
        if queue in RESERVED and type in RESERVED:
            return True
        return queue in self.queues and (not self.types or type in self.types)


class Stats(Struct, frozen=True, kw_only=True):
    """Counts over all activities, or over the queues that were asked for.

    ``by_status`` has every status; counts are exact up to ``cap`` and stop there. ``by_priority``
    counts pending ones (seed:O2). ``oldest_pending`` is the age in seconds of the pending activity
    that has been ready longest. ``by_queue`` counts those not ended, by queue. ``workers``,
    ``slots`` and ``slots_used`` count live workers.
    """

    by_status: Mapping[Status, int]
    by_priority: Mapping[Priority, int]
    by_queue: Mapping[str, int]
    oldest_pending: float | None
    workers: int
    slots: int
    slots_used: int
    cap: int

    def capped(self, status: Status) -> bool:
        """Whether there may be more than the count says."""
        return self.by_status[status] >= self.cap


class UnservedType(Struct, frozen=True, kw_only=True):
    """A queue and type that no live worker serves, and how many activities wait there.

    ``waiting`` counts pending, scheduled and retrying ones.
    """

    queue: str
    type: str
    waiting: int


class Cause(Struct, frozen=True, kw_only=True):
    """What activities of one task have failed of, and how many: they ended dead_letter or failed.

    ``fingerprint`` is what they have in common, see ``taskq.fingerprint``; ``title`` says it to
    people. ``count`` is exact below ``cap`` and stops there; then ``queues``, ``first`` and
    ``last`` (when they ended, aware UTC) are those of the newest ``cap`` ones. ``dead`` of them
    ended dead_letter. ``example`` is the newest.
    """

    fingerprint: str
    type: str
    title: str
    queues: tuple[str, ...]
    count: int
    dead: int
    first: datetime
    last: datetime
    example: UUID
    cap: int

    @property
    def capped(self) -> bool:
        """Whether there may be more than the count says."""
        return self.count >= self.cap


class Filter(Struct, frozen=True, kw_only=True):
    """Which activities to list. Empty fields do not restrict; several fields must all hold.

    ``types`` entries ending in ``*`` match by prefix. ``where`` has what else must hold, see
    ``filtering.terms``; ``filtering.matching.matches`` says what each term means.
    """

    statuses: tuple[Status, ...] = ()
    queues: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    priorities: tuple[Priority, ...] = ()
    parent_id: UUID | None = None
    root_id: UUID | None = None
    roots_only: bool = False
    correlation_id: str | None = None
    user_id: str | None = None
    source: str | None = None
    fingerprint: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    where: tuple[Term, ...] = ()


class Page(Struct, frozen=True, kw_only=True):
    """A slice of a list, newest first (by id; ids grow with time).

    ``limit`` 1–1000. ``before`` is the cursor: only activities whose id is lower.
    """

    limit: int = 50
    before: UUID | None = None


class ActivityPage(Struct, frozen=True, kw_only=True):
    """The answer to a list: ``next`` is the cursor of the following page, None at the end."""

    items: tuple[ActivityInfo, ...]
    next: UUID | None


SPANS: tuple[int, ...] = (60, 600)
"""For how many seconds each there are buckets: coarse ones, so that a day is few of them."""


class Bucket(Struct, frozen=True, kw_only=True, gc=False):
    """Some time of one queue, type and outcome, summed over all workers.

    It begins with ``minute`` (aware UTC) and lasts ``span`` seconds, one of SPANS: what ended then
    is in a bucket of each.

    ``waits`` and ``runs`` count activities by how long they waited and ran: entry i counts those
    below ``HISTOGRAM_BOUNDS[i]`` seconds and not below the bound before; the last counts the rest.
    """

    minute: datetime
    span: int = 60
    queue: str
    type: str
    outcome: str
    count: int
    waits: tuple[int, ...]
    runs: tuple[int, ...]


HISTOGRAM_BOUNDS: tuple[float, ...] = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0, 3600.0)
"""Upper bounds in seconds of the histograms in ``Bucket``; one more entry counts what is longer."""
