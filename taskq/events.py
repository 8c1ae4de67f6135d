"""What listeners may see: one frozen event for each thing that happened.

Events are published after the fact (after the store's commit where there is one), on the thread
where it happened. An exception in a listener is counted and reported, never spreads.
"""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from msgspec import Struct

from taskq.model import Activity, Attempt, ErrorInfo


class Event(Struct, frozen=True, kw_only=True):
    """Base of every event."""


class Enqueued(Event, frozen=True, kw_only=True):
    """A call was stored by this process, or found to exist already (``created`` False)."""

    activity: Activity[object]
    id: UUID
    created: bool


class AttemptEvent(Event, frozen=True, kw_only=True):
    """Base of the events about one attempt in this worker."""

    attempt: Attempt


class Started(AttemptEvent, frozen=True, kw_only=True):
    """A handler is about to run. ``waited`` is seconds from ready to start."""

    waited: float


class Finished(AttemptEvent, frozen=True, kw_only=True):
    """Base of the events about the recorded end of an attempt. ``seconds`` is how long it ran."""

    seconds: float


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
    """The activity ended ``cancelled`` while this worker held it."""


class Snoozed(Finished, frozen=True, kw_only=True):
    """The handler asked to run again in ``delay`` seconds."""

    delay: float


class Interrupted(Finished, frozen=True, kw_only=True):
    """Shutdown stopped the attempt; it went back to pending with nothing counted."""


class OutcomeRefused(Finished, frozen=True, kw_only=True):
    """The lease no longer held when the outcome was to be recorded; it was dropped."""


class HandedBack(AttemptEvent, frozen=True, kw_only=True):
    """Claimed but never started here; it went back to pending with nothing counted."""


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


class BackgroundError(WorkerEvent, frozen=True, kw_only=True):
    """A background loop met an error and goes on after a pause. ``loop`` names it."""

    loop: str
    error: BaseException


class Listener(Protocol):
    """Sees events; metrics, logging and tracing are listeners."""

    def on_event(self, event: Event) -> None:
        """Must be quick: it runs where the event happened."""
        ...
