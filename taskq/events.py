"""What listeners may see: one frozen event for each thing that happened.

Events are published after the fact (after the store's commit where there is one), on the thread
where it happened. An exception in a listener is counted and reported, never spreads.
"""

from __future__ import annotations

from typing import Final, Protocol
from uuid import UUID

from msgspec import Struct

from taskq.model import Activity, Attempt, ErrorInfo
from taskq.pausing import Pause


class Event(Struct, frozen=True, kw_only=True):
    """Base of every event."""


class Enqueued(Event, frozen=True, kw_only=True, gc=False):
    """A call was stored by this process, or found to exist already (``created`` False)."""

    activity: Activity[object]
    id: UUID
    created: bool


class EnqueueFailed(Event, frozen=True, kw_only=True):
    """A call could not be stored by this process; ``error`` is why, before it was translated.

    One event for each activity of the call. After a store that did not answer, it may have been
    stored all the same.
    """

    activity: Activity[object]
    error: BaseException


class AttemptEvent(Event, frozen=True, kw_only=True, gc=False):
    """Base of the events about one attempt in this worker."""

    attempt: Attempt


class Started(AttemptEvent, frozen=True, kw_only=True):
    """A handler is about to run. ``waited`` is seconds from ready to start, of which the first
    ``unclaimed`` were before this worker had claimed it."""

    waited: float
    unclaimed: float


class Finished(AttemptEvent, frozen=True, kw_only=True):
    """Base of the events about the recorded end of an attempt. ``seconds`` is how long it ran,
    ``recording`` how long it took from its end until the store had answered for it."""

    seconds: float
    recording: float


class Completed(Finished, frozen=True, kw_only=True):
    """The result is stored."""


class Retrying(Finished, frozen=True, kw_only=True):
    """The attempt failed and will be retried in ``delay`` seconds."""

    error: ErrorInfo
    delay: float


class Failed(Finished, frozen=True, kw_only=True):
    """The activity ended ``failed``."""

    error: ErrorInfo


class DeadLettered(Finished, frozen=True, kw_only=True):
    """The activity ended ``dead_letter``."""

    error: ErrorInfo


class Cancelled(Finished, frozen=True, kw_only=True):
    """The activity ended ``cancelled`` while this worker held it; ``error`` says by what."""

    error: ErrorInfo


class Snoozed(Finished, frozen=True, kw_only=True):
    """The handler asked to run again in ``delay`` seconds."""

    delay: float


class Unhandled(Finished, frozen=True, kw_only=True):
    """This worker has no handler for its type; it was put back for ``delay`` seconds (seed:W21)."""

    delay: float


class Interrupted(Finished, frozen=True, kw_only=True):
    """Shutdown stopped the attempt; it went back to pending with nothing counted."""


class ProcessDied(Finished, frozen=True, kw_only=True):
    """The attempt's own process ended without a word; the activity is pending again, its
    ``crash_count`` one higher. ``error`` is what was recorded."""

    error: ErrorInfo


class OutcomeRefused(Finished, frozen=True, kw_only=True):
    """The lease no longer held when the outcome was to be recorded; it was dropped."""


class HandedBack(AttemptEvent, frozen=True, kw_only=True):
    """Claimed but never started here; it went back to pending with nothing counted."""


class LeaseLost(AttemptEvent, frozen=True, kw_only=True):
    """Its lease is lost, or could not be renewed in time: its handler was told to stop and has
    ended, or it was never started."""


class WorkerLost(AttemptEvent, frozen=True, kw_only=True):
    """This worker's reaper took back an activity whose worker was lost.

    ``error`` is what was recorded; ``dead`` says whether the activity ended in ``dead_letter``.
    """

    error: ErrorInfo
    dead: bool


class ThreadOverran(AttemptEvent, frozen=True, kw_only=True):
    """A sync handler is past its timeout; its thread keeps its slot until it ends."""


class WorkerEvent(Event, frozen=True, kw_only=True):
    """Base of the events about a worker's own life."""

    worker: UUID


class WorkerStarted(WorkerEvent, frozen=True, kw_only=True):
    """The worker's row is written and it begins to claim."""

    name: str
    queues: tuple[str, ...]
    concurrency: int


class WorkerStopping(WorkerEvent, frozen=True, kw_only=True):
    """No further claim. Running handlers have ``grace`` seconds."""

    grace: float


class WorkerStopped(WorkerEvent, frozen=True, kw_only=True):
    """Everything is written and the worker's row is gone, or the time for that was up."""


class Claimed(WorkerEvent, frozen=True, kw_only=True):
    """The store answered a claim of at most ``limit`` with ``count``, after ``seconds``."""

    limit: int
    count: int
    seconds: float


class Saturated(WorkerEvent, frozen=True, kw_only=True):
    """Every slot is taken, so nothing is claimed until one is free."""


class PausesChanged(WorkerEvent, frozen=True, kw_only=True):
    """Of the queues and types that the worker serves, ``paused`` are those of which it begins
    nothing any more, ``resumed`` those that it takes up again. Running handlers go on."""

    paused: tuple[Pause, ...]
    resumed: tuple[Pause, ...]

    def __str__(self) -> str:
        told = [
            f"{pause.kind} {pause.name!r} is paused by {pause.by}"
            f"{f' ({pause.reason})' if pause.reason else ''}: nothing of it is begun"
            for pause in self.paused
        ]
        told += [f"{pause.kind} {pause.name!r} goes on" for pause in self.resumed]
        return "; ".join(told)


class Promoted(WorkerEvent, frozen=True, kw_only=True):
    """The promoter looked for what is due, and ``count`` became pending."""

    count: int


class Swept(WorkerEvent, frozen=True, kw_only=True):
    """The reaper looked for leases that have ended, and took back ``count``."""

    count: int


class Pruned(WorkerEvent, frozen=True, kw_only=True):
    """The pruner deleted ``trees``, of ``count`` activities in all."""

    trees: int
    count: int


class OutcomesDelayed(WorkerEvent, frozen=True, kw_only=True):
    """The store did not take ``count`` outcomes; they are kept and tried again."""

    count: int


class OutcomesCaughtUp(WorkerEvent, frozen=True, kw_only=True):
    """``count`` of those that were delayed have been answered for."""

    count: int


OPENING: Final = "open"
"""The ``loop`` of a BackgroundError of a worker that cannot open its store yet."""


class BackgroundError(WorkerEvent, frozen=True, kw_only=True):
    """A background loop met an error and goes on after a pause. ``loop`` names it."""

    loop: str
    error: BaseException


class BackgroundRecovered(WorkerEvent, frozen=True, kw_only=True):
    """A background loop makes progress again, ``seconds`` after its first error."""

    loop: str
    seconds: float


class Blocked(Struct, frozen=True, kw_only=True):
    """A handler that keeps its slot while it waits for other activities."""

    id: UUID
    type: str
    awaits: tuple[UUID, ...]


class Deadlocked(WorkerEvent, frozen=True, kw_only=True):
    """Every slot is held by a handler that waits for an activity that none is left to run.

    Only with ``suspend_on_await=False``. Told again every half minute while it lasts.
    """

    handlers: tuple[Blocked, ...]

    def __str__(self) -> str:
        first = self.handlers[0]
        types = ", ".join(sorted({handler.type for handler in self.handlers}))
        return (
            f"deadlock: all {len(self.handlers)} slots are held by handlers of {types} that wait"
            f" for activities that no slot is left to run; {first.type} {first.id} waits for"
            f" {', '.join(map(str, first.awaits))}. Set suspend_on_await=True, or give the"
            " worker more slots than handlers that wait"
        )


class Listener(Protocol):
    """Sees events; metrics, logging and tracing are listeners."""

    def on_event(self, event: Event) -> None:
        """Must be quick: it runs where the event happened."""
        ...
