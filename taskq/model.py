"""The frozen nouns that pass between call-sites, engine and backends.

Those of which there are thousands are not tracked by the garbage collector (``gc=False``): they
hold values only, so that no cycle can go through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final, Generic, Literal, TypeVar
from uuid import UUID

from msgspec import Struct

from taskq.redaction import Quiet
from taskq.retry import RetryPolicy

R_co = TypeVar("R_co", covariant=True)

COUNTED_TO: Final = 1_000_000_000
"""Retries, crashes and generations are counted so far and no further: two of them and one more, an
attempt's number, fit into 32 bits, which is what databases keep them in."""

LONGEST_TEXT: Final = 1000
"""Characters of source, correlation_id, user_id and step at the most."""


class Priority(IntEnum):
    """Strict inside a queue: a higher one is always claimed first (seed:P1, D7)."""

    LOW = 1
    NORMAL = 2
    HIGH = 3
    CRITICAL = 4


class Status(StrEnum):
    """The states of an activity, spelled the same in database, API, filters and docs (seed:L1)."""

    PENDING = "pending"
    SCHEDULED = "scheduled"
    PROCESSING = "processing"
    RETRYING = "retrying"
    COMPLETED = "completed"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether an activity in this state has ended: only an operator can start it again."""
        return self in TERMINAL


TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED})


class OnDuplicate(StrEnum):
    """What a call with an idempotency key that is already taken gets (seed:I2–I5)."""

    ALLOW_REUSE = "allow_reuse"
    """Always a new activity; the key then points at it."""
    RETURN_EXISTING = "return_existing"
    """The existing activity's future, whatever its state. The default when a key is given."""
    ALLOW_REUSE_ON_FAILURE = "allow_reuse_on_failure"
    """A new activity if the earlier one ended failed, dead_letter or cancelled; else its future."""
    NO_REUSE = "no_reuse"
    """IdempotencyConflict."""


class ErrorKind(StrEnum):
    """Why an activity or an attempt did not end with a result."""

    ERROR = "error"
    """The handler raised."""
    TIMEOUT = "timeout"
    """The attempt ran longer than its timeout."""
    CRASHED = "crashed"
    """The worker was lost while it held the activity."""
    ARGUMENTS = "arguments"
    """The stored arguments do not fit the handler."""
    RESULT = "result"
    """The handler's result cannot be stored."""
    CHILD = "child"
    """An awaited child failed and the parent did not catch it."""
    CANCELLED = "cancelled"
    """Somebody cancelled it."""
    EXPIRED = "expired"
    """It had not started by its ``expires``."""
    DEADLINE = "deadline"
    """Its tree had not ended by its ``deadline``."""
    RETRIES_EXHAUSTED = "retries_exhausted"
    """No retry, or crash, was left, and it was not to become a dead letter (seed:E27)."""
    EVICTED = "evicted"
    """Its queue was full, and a newer one took its place."""


class ErrorInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recorded failure, as data: no class is ever imported or built from it (promise:G18).

    ``type`` is the exception's qualified name, ``traceback`` its text (cut to a limit),
    ``attempts`` the number of the attempt that recorded it (retry_count + crash_count + 1).
    """

    type: str
    message: str
    kind: ErrorKind = ErrorKind.ERROR
    traceback: str = ""
    attempts: int = 1


Hook = Literal["on_dead_letter", "on_failure"]


class Policy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ``decide`` needs beyond the budgets, stored with the activity as one JSON text.

    ``orphans``: whether a run after the first cancels the children that earlier ones left behind.
    ``hooks`` names the hooks that the task defines; they become activities of their own.
    ``timeout_includes_waits``: the timeout runs on while the handler waits for other activities
    (seed:S12, D19). ``dead_letter``: whether it ends ``dead_letter`` when its retries or crashes
    are exhausted; else ``failed``, kind ``retries_exhausted`` (seed:E27).
    """

    retry: RetryPolicy = RetryPolicy()
    retry_on_timeout: bool = True
    on_child_failure: Literal["fail", "retry"] = "fail"
    orphans: Literal["cancel", "keep"] = "cancel"
    hooks: tuple[Hook, ...] = ()
    timeout_includes_waits: bool = False
    dead_letter: bool = True


DEFAULT_POLICY = Policy()


class Idempotency(Struct, frozen=True, kw_only=True):
    """An idempotency key as the backend sees it, or the step of a parent, which is kept as one.

    ``hash`` is the SHA-256 of scope (queue, type) and key, 32 bytes; ``digest`` the SHA-256 of the
    canonical payload, 32 bytes; ``key`` the key's text, cut to 200 characters, for display only.
    A step has its name as ``key`` and its parent as ``step_of``; it is not shown as a key. With
    ALLOW_REUSE_ON_FAILURE and ``renew_before`` (aware, the store's clock), a holder that ended
    badly is replaced only if it was created before that instant. ``unique_for``: seconds, by the
    store's clock, from when the key is given to this call's activity until it is free again,
    whatever became of that one; None: no limit.
    """

    key: str
    hash: bytes
    digest: bytes
    on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING
    check_arguments: bool = True
    step_of: UUID | None = None
    renew_before: datetime | None = None
    unique_for: float | None = None

    @property
    def shown(self) -> str | None:
        """The key as readers see it; None for a step."""
        return self.key if self.step_of is None else None


class Overflow(StrEnum):
    """What a call gets whose queue is full (seed:E25)."""

    BLOCK = "block"
    """It waits for room, for ``enqueue_timeout`` at the most. In a transaction of the caller's:
    QueueFull."""
    ERROR = "error"
    """QueueFull."""
    DROP_OLDEST = "drop_oldest"
    """It takes the place of the oldest root that waits there, which ends ``cancelled``."""


class Bound(Struct, frozen=True):
    """How many activities may wait in a queue before ``overflow`` comes to pass."""

    most: int
    overflow: Overflow = Overflow.BLOCK


class Activity(Quiet, Generic[R_co], frozen=True, kw_only=True, gc=False):
    """One durable call, as the call-site made it; not necessarily stored yet.

    ``payload`` is the canonical JSON text of one object of named arguments; ``metadata`` and
    ``tags`` are JSON texts of objects, or None when empty. ``run_at`` (aware) or ``delay``
    (seconds, from the store's clock) postpone it; with neither it is pending at once.
    ``max_retries`` None is unlimited; ``timeout`` is seconds of running time, None for no limit.
    Roots have their own id as ``root_id`` and ``depth`` 0; ``origin_id`` stays the same across
    ``as_root``, and ``generation`` counts how often that made a new root. ``step`` is its name
    among its parent's children. It must have started by ``expires_at`` (aware) or ``expires_in``
    seconds after the call, by the store's clock, whichever is earlier; and ended, with its whole
    tree, by ``deadline_at`` or ``deadline_in`` likewise. ``bound`` is its queue's, as its producer
    knows it; it is not stored. Nor is ``inherits``: the fields that the call itself left unsaid, so
    that it has what its parent has.
    """

    id: UUID
    type: str
    queue: str
    payload: str
    root_id: UUID
    origin_id: UUID
    parent_id: UUID | None = None
    depth: int = 0
    generation: int = 0
    step: str | None = None
    priority: Priority = Priority.NORMAL
    max_retries: int | None = 3
    max_crashes: int = 3
    timeout: float | None = 300.0
    policy: Policy = DEFAULT_POLICY
    run_at: datetime | None = None
    delay: float | None = None
    expires_at: datetime | None = None
    expires_in: float | None = None
    deadline_at: datetime | None = None
    deadline_in: float | None = None
    metadata: str | None = None
    tags: str | None = None
    source: str | None = None
    correlation_id: str | None = None
    user_id: str | None = None
    idempotency: Idempotency | None = None
    bound: Bound | None = None
    inherits: tuple[str, ...] = ()

    @property
    def needs_room(self) -> bool:
        """Whether its queue may refuse it. A child is work of what has been accepted already: were
        it to wait for a place that only its parent's end makes free, it would wait for ever."""
        return self.bound is not None and self.parent_id is None

    @property
    def limited(self) -> bool:
        """Whether anything is said that most calls leave unsaid: a step, a generation, a limit."""
        return bool(
            self.step is not None
            or self.generation
            or self.expires_at is not None
            or self.expires_in is not None
            or self.deadline_at is not None
            or self.deadline_in is not None
        )


class Receipt(Struct, frozen=True, gc=False):
    """What ``submit`` answers for one activity: the id that holds the call, whether it is new."""

    id: UUID
    created: bool


class Lease(Struct, frozen=True, gc=False):
    """A worker's right to one claimed activity: ``claim`` fences every later write."""

    id: UUID
    claim: int


class Attempt(Quiet, frozen=True, kw_only=True, gc=False):
    """A claimed activity: everything that running it and deciding about it needs.

    ``worker`` and ``claim`` fence its outcome. ``isolate`` says that its next crash would be its
    last, so that it runs with nothing beside it. Times are aware UTC, all by the store's clock.
    ``claimed_at`` is when it was claimed, None where the store does not know; ``expires_at`` is
    None once it has started.
    """

    id: UUID
    worker: UUID
    claim: int
    type: str
    queue: str
    payload: str
    root_id: UUID
    origin_id: UUID
    created_at: datetime
    ready_at: datetime
    parent_id: UUID | None = None
    depth: int = 0
    generation: int = 0
    step: str | None = None
    priority: Priority = Priority.NORMAL
    retry_count: int = 0
    crash_count: int = 0
    max_retries: int | None = 3
    max_crashes: int = 3
    timeout: float | None = 300.0
    policy: Policy = DEFAULT_POLICY
    metadata: str | None = None
    tags: str | None = None
    source: str | None = None
    correlation_id: str | None = None
    user_id: str | None = None
    claimed_at: datetime | None = None
    expires_at: datetime | None = None
    deadline_at: datetime | None = None
    isolate: bool = False

    @property
    def expires_in(self) -> float | None:
        """Seconds from its claim until it must have started, by the store's clock; None: no limit.
        At or below 0 it is too late."""
        return _seconds(self.claimed_at, self.expires_at)

    @property
    def deadline_in(self) -> float | None:
        """Seconds from its claim until it must have ended, likewise."""
        return _seconds(self.claimed_at, self.deadline_at)

    @property
    def number(self) -> int:
        """The attempt's number as users see it, from 1: retry_count + crash_count + 1."""
        return self.retry_count + self.crash_count + 1

    @property
    def limited(self) -> bool:
        """Whether it has an ``expires_at`` or a ``deadline_at``."""
        return self.expires_at is not None or self.deadline_at is not None

    @property
    def lease(self) -> Lease:
        """The lease under which this attempt runs."""
        return Lease(self.id, self.claim)


def _seconds(since: datetime | None, until: datetime | None) -> float | None:
    return None if since is None or until is None else (until - since).total_seconds()


class Ended(Quiet, frozen=True, kw_only=True, gc=False):
    """How an activity ended: ``result`` is JSON text when completed, ``error`` is set otherwise."""

    status: Status
    result: str | None = None
    error: ErrorInfo | None = None


class DeadLetter(Quiet, frozen=True, kw_only=True):
    """What ``on_dead_letter`` and ``on_failure`` hooks receive (seed:R17, D32).

    ``arguments`` are the named arguments as plain JSON values; ``failed_at`` is aware UTC.
    """

    id: UUID
    type: str
    queue: str
    arguments: Mapping[str, object]
    error: ErrorInfo
    failed_at: datetime
    retry_count: int
    crash_count: int
    metadata: Mapping[str, object]
