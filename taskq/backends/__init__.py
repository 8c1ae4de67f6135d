"""The protocols between the engine, the call-sites, the readers and whatever keeps activities.

A backend keeps activities and decides nothing: no retry, no state, no hook. It is plain asyncio
code: every method runs on one event loop, the storage loop, in a thread of its own (see
``taskq.bridge``); a backend whose methods never suspend declares ``resident=False`` and is called
where the caller is. Every method is safe to repeat: ids are chosen by callers and claims are
numbered, so a call whose reply was lost can simply be made again.

Errors: ``BackendUnavailable`` when trying again may help, ``SchemaError`` when the tables are
wrong, ``Unstorable`` when a value is, another ``BackendError`` for the rest; never a driver's own
class, never with a password in the message.
``taskq.testing.conformance`` holds the tests that a backend must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from taskq.audit import Command
from taskq.backends.inspector import Inspector
from taskq.backends.operator import Operator
from taskq.backends.pruning import Deletion, Mark, Pruned, Pruner
from taskq.backends.queueing import QueueReader, Queues
from taskq.backends.reading import Readable, Reader
from taskq.backends.scheduling import Due, Fired, Place, ScheduleReader, Schedules
from taskq.backends.transactional import CallerTransaction, Enlisted, Transactional
from taskq.clock import Clock
from taskq.errors import BackendError
from taskq.lifecycle import Settlement, Transition
from taskq.model import Activity, Attempt, Ended, Lease, Receipt, Status
from taskq.progress import Progress
from taskq.snapshot import Bucket, WorkerInfo

__all__ = (
    "Backend",
    "CallerTransaction",
    "Cancellation",
    "Capabilities",
    "ClaimRequest",
    "Deletion",
    "Due",
    "Enlisted",
    "Fired",
    "Heartbeat",
    "Hint",
    "Inspector",
    "Mark",
    "Operator",
    "Place",
    "ProgressReport",
    "Promotion",
    "Pruned",
    "Pruner",
    "QueueReader",
    "Queues",
    "Readable",
    "Reader",
    "Renewal",
    "ScheduleReader",
    "Schedules",
    "Store",
    "Topic",
    "Transactional",
    "Watch",
    "from_url",
)


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a backend can do; tests require these by name, docs/backends.md has the table.

    ``durable``: what was stored survives every process. ``shared``: other processes see it.
    ``resident``: it needs the storage loop (it does I/O or suspends). ``transactional``: it can
    store calls in a transaction of their caller's, see ``Transactional``.
    """

    durable: bool
    shared: bool
    resident: bool
    transactional: bool = False


class Topic(StrEnum):
    """What a hint is about."""

    READY = "ready"
    """Activities may have become claimable, or a sooner due time was stored."""
    DONE = "done"
    """Activities may have ended."""
    CANCEL = "cancel"
    """Cancels may have been requested of running activities."""
    CONTROL = "control"
    """Queues or types may have been paused, or go on."""


class Hint(Struct, frozen=True):
    """Something may have changed. They may be missed, late or needless, and never replace a query.

    ``ids`` are the activities meant, None when any may be. READY hints carry None.
    """

    topic: Topic
    ids: frozenset[UUID] | None = None


class Watch(Protocol):
    """A running subscription to hints."""

    async def close(self) -> None:
        """End it. Safe to repeat."""
        ...


class ClaimRequest(Struct, frozen=True, kw_only=True):
    """What a worker asks for. ``types`` None is every type, but for those of ``without``; ``lease``
    is seconds, ``limit`` ≥ 1.

    ``alone`` asks for isolated activities only (then with limit 1); otherwise they are passed over.
    ``children`` asks for those only that have a parent, the deepest first (design 7.10).
    ``aging`` is the seconds after which an activity counts as one priority higher, see
    ``taskq.aging``; None: none does. It has no effect on children.
    """

    worker: UUID
    queues: tuple[str, ...]
    types: tuple[str, ...] | None
    limit: int
    lease: float
    alone: bool = False
    children: bool = False
    without: tuple[str, ...] = ()
    aging: float | None = None


class Heartbeat(Struct, frozen=True, kw_only=True):
    """What a worker reports each renewal: its row, the leases to renew, its counts since the last.

    ``buckets`` are to be added to ``taskq_rollup``; a repeated heartbeat with the same ``number``
    (growing by one) adds them only once.
    """

    worker: WorkerInfo
    leases: tuple[Lease, ...]
    lease: float
    number: int
    buckets: tuple[Bucket, ...] = ()


class Renewal(Struct, frozen=True, kw_only=True):
    """The answer: of the leases to renew, the activities that are no longer held, and those held
    whose cancel was requested.

    ``unreported`` is why the worker's row and the counts were not written, although the leases were
    renewed. BackendUnavailable: send the counts again; another error: the store refuses them.
    """

    lost: frozenset[UUID]
    cancelled: frozenset[UUID]
    unreported: BackendError | None = None


class Cancellation(Struct, frozen=True, gc=False):
    """What a cancel met: the activity's ``status`` before, and ``below``, how many activities of
    its tree that had not ended were cancelled with it or asked to stop (0 unless ``tree``)."""

    status: Status
    below: int = 0

    @property
    def accepted(self) -> bool:
        """Whether there was anything left to cancel."""
        return self.below > 0 or not self.status.terminal


class ProgressReport(Struct, frozen=True, gc=False):
    """How far the attempt under this lease has come."""

    lease: Lease
    progress: Progress


class Promotion(Struct, frozen=True, kw_only=True):
    """How many due activities became pending; seconds until the next one is due (None: none)."""

    moved: int
    next_due: float | None


class Backend(Protocol):
    """What the engine and the call-sites need of a store."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do. Constant."""
        ...

    @property
    def location(self) -> str:
        """Where it keeps things, for people: a URL without password, or an absolute path."""
        ...

    async def open(self) -> None:
        """Connect, check the schema (or set it up, where the backend does so itself).

        Safe to repeat; called before any other method, again after ``close``.
        """
        ...

    async def close(self) -> None:
        """Give back every connection and thread. Safe to repeat."""
        ...

    def after_fork(self) -> None:
        """In a forked child: forget inherited connections without closing them."""
        ...

    async def submit(self, activities: Sequence[Activity[object]]) -> list[Receipt]:
        """Store activities durably, all or none; receipts answer one to one.

        ``ready_at`` is ``run_at``, else now + ``delay``, else now, by the store's clock: in the
        future it makes the activity scheduled, else pending. ``isolate`` holds from the start where
        ``max_crashes`` is 1, since the next crash would be the last. An id that is there already is
        left as it is and counts as created (a repeated call). Keys follow
        ``taskq.idempotency.resolve``; the same key twice in a batch is folded in order. A root with
        a ``bound`` needs room, see ``taskq.backends.bounding``: exactly, whatever is stored at the
        same time. Raises IdempotencyConflict, QueueFull, BackendUnavailable, Unstorable when
        something in the batch never can be stored; nothing is stored then. A step's key is not
        shown as ``idempotency_key``. Limits are kept as instants: ``expires_at`` or now +
        ``expires_in``, whichever is earlier, likewise the deadline. A call with a parent that is
        answered by what another one has made, or none, links them: see ``taskq.backends.links``, in
        the same transaction.
        """
        ...

    async def claim(self, request: ClaimRequest) -> list[Attempt]:
        """Give up to ``limit`` pending activities of these queues and types to this worker.

        In order of priority (highest first; with ``aging`` the one that it has risen to), ready
        time, id; ``children`` before that by depth, the deepest first. Each gets status processing,
        claim number + 1 (1 after the highest that can be stored), started_at
        (``Attempt.claimed_at``) and lease_until = now + lease by the store's clock. Isolated ones
        are passed over, or with ``alone`` only they are given. An activity whose cancel is
        requested is never pending. Never returns one activity twice, whatever runs at the same
        time. Fewer than ``limit`` may be given though there are more: only none means that nothing
        is left but what others are just claiming.
        """
        ...

    async def claim_overdue(self, worker: UUID, limit: int, lease: float) -> list[Attempt]:
        """Give this worker what nobody is to start any more, so that it ends it: up to ``limit``
        activities that are pending, scheduled or retrying, of any queue and type, and whose
        ``expires_at`` or ``deadline_at`` is not after the store's now; in order of their ids.

        ``lease`` is seconds. Otherwise as ``claim``, which gives those of them that are pending
        too: who claims asks ``lifecycle.lateness`` before it starts anything.
        """
        ...

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        """Apply transitions, one transaction for all; settlements answer one to one.

        See ``Transition`` for when and how. A transition that is not applied is ALREADY_MINE when
        the row shows the same worker and claim and is not processing, else LOST; its hooks are not
        stored. They are applied in order: the same one twice is APPLIED, then ALREADY_MINE. Lease
        and cancel columns are cleared; ``worker`` stays, except that a transition with
        ``only_if_expired`` clears it (so that the lost worker's own outcome is LOST). A lease that
        has ended but that nobody took back still holds. Result and error become the transition's,
        also where it has none; ``if_cancel_requested`` puts ``lifecycle.cancelled_error`` instead.
        Where a cancel of its tree was accepted, whatever the activity has made since follows, as in
        ``cancel``: before its own end where ``status`` is cancelled or ``only_if_expired`` is set,
        so that nothing is lost in between, at the latest with the answer; not the hooks given here.
        An event row is written for ``note``. Raises Unstorable when the batch never can be stored
        (text with a lone surrogate or NUL, for example): nothing is applied then.
        """
        ...

    async def hand_back(self, worker: UUID, leases: Sequence[Lease]) -> None:
        """Return claimed but unstarted activities to pending at their old place; nothing counts.

        Those whose cancel was requested become cancelled, and their trees follow as in ``settle``.
        Leases that no longer hold are ignored.
        ``worker`` is cleared, so that an outcome under such a lease is LOST. Each returned one gets
        an event row.
        """
        ...

    async def held(self, worker: UUID) -> list[Lease]:
        """Every activity that is processing in this worker's name."""
        ...

    async def heartbeat(self, beat: Heartbeat) -> Renewal:
        """Renew leases to now + lease by the store's clock where (id, worker, claim) still holds
        (ended but not taken back still holds), write the worker's row with ``seen_at`` = now by the
        store's clock, add its counts; one transaction. What is wrong with that row or those counts,
        or another's lock on their tables, keeps no lease from being renewed: see ``Renewal``.

        Also deletes the rows of workers that were not seen for ``presence.FORGOTTEN_AFTER``
        seconds (an hour): those that were killed never retire.
        """
        ...

    async def cancel_requests(self, worker: UUID) -> list[UUID]:
        """Activities processing in this worker's name whose cancel was requested."""
        ...

    async def retire(self, worker: UUID) -> None:
        """Remove a worker's row (it has stopped)."""
        ...

    async def expired(self, limit: int) -> list[Attempt]:
        """Up to ``limit`` processing activities whose lease has ended by the store's clock, longest
        first, as their lost worker held them. Changes nothing."""
        ...

    async def promote(self, limit: int) -> Promotion:
        """Move up to ``limit`` scheduled and retrying activities that are due to pending, in order
        of their due time, which they keep as ready time."""
        ...

    async def cancel(
        self, ids: Sequence[UUID], *, tree: bool = False, command: Command | None = None
    ) -> Mapping[UUID, Cancellation]:
        """Request cancels. What is not running and not ended becomes cancelled at once; what is
        processing is flagged, with an event row; a flagged one stays as it is. Answers what each
        found activity was before; unknown ids are absent. Where the answer is lost it raises, and
        does not ask again by itself: that would find what the first request did.

        ``tree``: all that is below these by ``parent_id`` too, also below what has ended, in one
        transaction. What is flagged then remembers it: see ``settle``.

        ``command``: an operator asks, and it is recorded as ``Operator`` says; those named that had
        not ended get an event row CANCEL_REQUESTED with ``actor`` and ``reason``."""
        ...

    async def report_progress(self, worker: UUID, reports: Sequence[ProgressReport]) -> None:
        """Keep what attempts report, where (id, worker, claim) still holds the lease and the row is
        processing; elsewhere nothing is written. It stays when the attempt ends, until a later one
        reports or an operator retries. Of several reports of one lease the last one counts. It need
        not reach the disk."""
        ...

    async def cancel_children(self, parents: Collection[UUID]) -> list[UUID]:
        """Cancel, as ``cancel`` does with ``tree``, what is left of the children of these: what has
        not ended, except the hooks of their parent, its steps, and what has an idempotency key: a
        next run finds it again. Answers which, once each."""
        ...

    async def outcomes(self, ids: Collection[UUID]) -> Mapping[UUID, Ended | None]:
        """How activities ended. Those still on their way are absent; unknown ids map to None."""
        ...

    async def watch(self, topics: Collection[Topic], listener: Callable[[Hint], None]) -> Watch:
        """Call ``listener`` with hints until the watch is closed.

        The listener may be called on any thread, must be quick and must not raise. A backend whose
        connection breaks mends it by itself and then sends one hint with ``ids=None`` per topic.
        """
        ...


class Store(Backend, Inspector, Operator, Pruner, Queues, Schedules, Protocol):
    """A whole backend, as ``from_url`` gives it."""


def from_url(
    url: str,
    *,
    clock: Clock,
    lock_timeout: float = 3.0,
    schema: str | None = None,
    listen: bool = True,
) -> Store:
    """The backend for a database URL: ``postgresql://user:password@host/database``,
    ``sqlite:///path``, ``memory://``, or a scheme of the entry-point group ``taskq.backends`` (a
    callable of the URL).

    ``lock_timeout`` is seconds that one statement waits for locks; ``schema`` and ``listen`` are
    for PostgreSQL, see ``PostgresBackend``. Raises ConfigurationError for a
    URL that is malformed or whose scheme nobody serves; its message shows no password.
    """
    from taskq.backends.urls import open_url

    return open_url(url, clock=clock, lock_timeout=lock_timeout, schema=schema, listen=listen)
