"""What this worker holds: every activity claimed and not yet settled or handed back.

Changed on the engine's event loop; the keeper reads it beside the store, on another thread. Each
single step on a dict or an attribute is atomic, and the keeper works on a copy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol
from uuid import UUID

import anyio

from taskq.context import Context
from taskq.engine.running.limit import TimeLimit
from taskq.model import Attempt, Lease

MOST_LET_GO = 1000
"""Activities remembered as let go."""


class Stop(StrEnum):
    """Why an attempt was told to stop."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    SHUTDOWN = "shutdown"
    LEASE_LOST = "lease_lost"


class Waiting(Protocol):
    """A handler's place among those that wait; see ``seat``."""

    def hurry(self) -> None:
        """It was told to stop, and has to unwind."""
        ...

    def thread_ended(self) -> bool:
        """A thread of it has ended; whether that had given up its permit."""
        ...

    def close(self) -> None:
        """The handler is over."""
        ...


class Held:
    """One claimed activity, from its claim until its outcome is settled.

    Times are the clock's monotonic seconds. ``renewed_at`` is from before the call that claimed or
    renewed it, so its lease cannot have ended before ``renewed_at`` + lease. ``received_at`` is
    when the claim's reply came, ``forsaken_at`` from when it is no longer to be renewed. ``elder``
    is an earlier attempt of the same activity that may still be running here (fault:A4).
    ``threads`` counts the threads that run it, ``task`` identifies the task that runs its handler.
    ``seat`` is there once its handler has waited for other activities; while ``suspended`` it has
    no slot. ``seated_at`` is when it got the slot that it has, ``resumed`` whether it had one
    before. ``reason`` is why it was told to stop first; ``limit`` bounds its running time.
    """

    __slots__ = (
        "_gone",
        "attempt",
        "context",
        "delayed",
        "elder",
        "finished",
        "forsaken_at",
        "limit",
        "reason",
        "received_at",
        "renewed_at",
        "resumed",
        "seat",
        "seated_at",
        "started_at",
        "suspended",
        "task",
        "threads",
        "waited",
    )

    def __init__(self, attempt: Attempt, *, claimed_at: float, received_at: float) -> None:
        self.attempt = attempt
        self.renewed_at = claimed_at
        self.received_at = received_at
        self.started_at: float | None = None
        self.forsaken_at = math.inf
        self.waited = 0.0
        self.delayed = False
        self.context: Context | None = None
        self.limit: TimeLimit | None = None
        self.seat: Waiting | None = None
        self.reason: Stop | None = None
        self.elder: Held | None = None
        self.threads = 0
        self.suspended = False
        self.resumed = False
        self.seated_at = math.inf
        self.task = 0
        self.finished = False
        self._gone: anyio.Event | None = None

    @property
    def running(self) -> bool:
        """Whether its handler is running, as far as anybody here waits for it."""
        return self.started_at is not None and not self.finished

    @property
    def lease_lost(self) -> bool:
        """Whether it was told that its lease is lost or ends."""
        return self.reason is Stop.LEASE_LOST

    @property
    def told_to_stop(self) -> bool:
        """Whether its handler is to unwind, for whatever reason."""
        over = self.limit is not None and self.limit.scope.cancel_called
        return over or self.reason is not None

    def begin(self, now: float, *, grace: float) -> None:
        """Its handler starts. Not renewed once it is ``grace`` past its timeout (fault:C4)."""
        self.started_at = self.seated_at = now
        if self.attempt.timeout is not None:
            self.forsaken_at = now + self.attempt.timeout + grace

    def pause(self) -> None:
        """What passes now is no running time of its handler; the lease is kept."""
        if self.limit is not None:
            self.limit.pause()
            self.forsaken_at = math.inf

    def resume(self, now: float, *, grace: float) -> None:
        """The pause is over; another may go on."""
        if self.limit is not None and self.limit.resume():
            self.forsaken_at = now + self.limit.left + grace

    def stop(self, reason: Stop) -> None:
        """Tell it to stop, on the engine's event loop.

        An async handler is cancelled. A thread can only look at ``Context.cancelled``; nobody waits
        for it any longer at a shutdown.
        """
        if self.finished:
            return
        if self.reason is None:
            self.reason = reason
        if self.context is not None:
            self.context.mark_cancelled()
        if self.limit is not None and (self.threads == 0 or reason is Stop.SHUTDOWN):
            self.limit.scope.cancel()
        if self.seat is not None:
            self.seat.hurry()

    def finish(self) -> None:
        """Its handler will not run, or no longer runs (a thread may be left)."""
        self.finished = True
        self.limit = None
        self.elder = None
        self.notify()

    def notify(self) -> None:
        """Wake whoever waits for it to be gone."""
        if self._gone is not None:
            self._gone.set()

    async def gone(self) -> None:
        """Wait until its handler no longer runs and every thread has ended."""
        while not self.finished or self.threads:
            if self._gone is None or self._gone.is_set():
                self._gone = anyio.Event()
            await self._gone.wait()


class Holdings:
    """All that is held, by activity. ``lease`` is the length of a claim in seconds.

    ``margin`` is the last part of a lease, in which nothing is started or left running.
    """

    def __init__(self, lease: float) -> None:
        self.lease = lease
        self.margin = lease / 10
        self._held: dict[UUID, Held] = {}
        self._let_go: dict[UUID, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __bool__(self) -> bool:
        return bool(self._held)

    def all(self) -> list[Held]:
        """Everything held now; from any thread."""
        return list(self._held.copy().values())

    def take(
        self, attempts: Iterable[Attempt], *, claimed_at: float, received_at: float
    ) -> list[Held]:
        """Enter freshly claimed attempts.

        An earlier claim of the same activity has lost its lease; it is told so.
        """
        taken: list[Held] = []
        for attempt in attempts:
            held = Held(attempt, claimed_at=claimed_at, received_at=received_at)
            elder = self._held.get(attempt.id)
            if elder is not None and not elder.finished:
                held.elder = elder
                elder.stop(Stop.LEASE_LOST)
            self._held[attempt.id] = held
            taken.append(held)
        return taken

    def release(self, held: Held) -> None:
        """It is settled or handed back."""
        if self._held.get(held.attempt.id) is held:
            del self._held[held.attempt.id]

    def let_go(self, held: Held) -> None:
        """It was started here and cannot be settled: its lease is left to end."""
        self.release(held)
        self._let_go[held.attempt.id] = held.attempt.claim
        while len(self._let_go) > MOST_LET_GO:
            del self._let_go[next(iter(self._let_go))]

    def holds(self, lease: Lease) -> bool:
        """Whether this very claim is held."""
        held = self._held.get(lease.id)
        return held is not None and held.attempt.claim == lease.claim

    def has_let_go(self, lease: Lease) -> bool:
        """Whether this very claim was started here and then let go."""
        return self._let_go.get(lease.id) == lease.claim

    def stop(self, ids: Iterable[UUID], reason: Stop) -> None:
        """Tell those of these activities that are held to stop; on the engine's event loop."""
        for id in ids:
            held = self._held.get(id)
            if held is not None:
                held.stop(reason)

    def due_for_renewal(self, now: float, *, older_than: float) -> list[Held]:
        """Those not renewed for ``older_than`` seconds whose lease is still to be kept."""
        return [
            held
            for held in self.all()
            if now - held.renewed_at >= older_than and now < held.forsaken_at
        ]

    def startable(self, held: Held, now: float) -> bool:
        """Whether its lease surely lasts long enough to start it (fault:A5)."""
        return held.reason is None and now < self.end_of(held)

    def end_of(self, held: Held) -> float:
        """When it must no longer run: before its lease can have ended."""
        return held.renewed_at + self.lease - self.margin
