"""Metrics: a listener that turns events into counters and durations, for a sink of one's own.

``TaskQ(listeners=[MetricsListener(sink)])`` is all there is to it. The names are those of the
systems that taskq re-creates, without their prefixes and suffixes (seed:M2, seed:M4, seed:M5); a
sink adds what its system wants, for example ``taskq_`` and ``_total``. ``COUNTERS`` and
``DURATIONS`` are all names there are, each with its meaning; one name always comes with the same
labels (seed:M6). No label ever holds an id, a message or an argument: ``queue`` and ``type`` take
the values that the program gives them, the others a few fixed ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from taskq import events
from taskq.errors import BackendError, BackendUnavailable
from taskq.hooks import hook_type
from taskq.model import Activity, Attempt, ErrorInfo, ErrorKind

COUNTERS: Mapping[str, str] = {
    "activity_enqueued": "calls stored; outcome: created, or duplicate of an idempotency key",
    "activity_enqueue_error": "calls that could not be stored; error: the exception's class",
    "activity_started": "attempts whose handler was called",
    "activity_completed": "activities that ended completed",
    "activity_retry": "attempts that failed and are retried",
    "activity_failed_non_retry": "activities that ended failed",
    "activity_dead_lettered": "activities that ended dead_letter",
    "activity_cancelled": "activities that ended cancelled while a worker held them",
    "activity_timeout": "attempts that ran longer than their timeout, whatever came of it",
    "activity_expired": "activities that ended cancelled, as they had not started by `expires`",
    "activity_overdue": "activities that ended failed by their `deadline`",
    "activity_panic": "attempts whose handler raised anything but one of taskq's own errors",
    "activity_crashed": "attempts lost with their worker, as the reaper found them",
    "activity_snoozed": "attempts whose handler asked to run later",
    "activity_process_died": "attempts whose own process died, to be run again",
    "activity_interrupted": "attempts that a shutdown stopped and put back",
    "activity_handed_back": "activities claimed here, not started, and put back",
    "activity_handler_not_found": "activities claimed by a catch-all that has no handler for them",
    "activity_lost_completion": "outcomes that were refused, as their lease no longer held",
    "activity_thread_overran": "threads that ran past their timeout and keep a slot",
    "dead_letter_hook_panic": "failed attempts of an on_dead_letter hook",
    "claim_lost": "attempts that were stopped because their lease was lost",
    "result_store_error": "results that could not be stored, ever",
    "completion_error": "errors that the writing of outcomes met",
    "completion_pending_started": "outcomes that the store did not take at first",
    "completion_pending_finished": "of these, those that it has answered for since",
    "dequeue_error": "claims that failed",
    "heartbeat_failed": "heartbeats that failed",
    "scheduler_poll_error": "looks for due activities that failed",
    "reaper_error": "looks for ended leases that failed",
    "backend_error": "errors of the store that a loop met; loop: its name",
    "storage_retry": "of these, those after which the same is tried again as it stands",
    "background_error": "errors of any kind that a loop met; loop: its name",
    "scheduler_tick": "looks for due activities",
    "reaper_tick": "looks for ended leases",
    "worker_started": "workers that began to claim",
    "worker_stopped": "workers that stopped",
    "activity_pruned": "activities deleted because retention let them go; no labels",
    "worker_concurrency_saturated": "times that no slot was free to claim for",
}
"""Every counter. Those about activities carry ``queue``, ``type`` and ``priority``."""

DURATIONS: Mapping[str, str] = {
    "activity_execution_seconds": "how long an attempt ran; outcome: how that ended",
    "activity_queue_latency_seconds": "from ready to start",
    "activity_claim_lag": "from ready until a worker had claimed it",
    "activity_completion_persistence": "from the end of an attempt until that was recorded",
    "dequeue_roundtrip_seconds": "how long the store took to answer a claim",
}
"""Every duration, in seconds. Labels as above."""

Labels = Mapping[str, str]


class MetricsSink(Protocol):
    """Takes what is measured (seed:M1).

    Called on whatever thread the event happened, the worker's event loop mostly: be quick, and be
    safe for threads. An exception is counted and reported as any listener's, and spreads no
    further.
    """

    def inc_counter(self, name: str, n: int, labels: Labels | None = None) -> None:
        """Add ``n``, 1 or more, to the counter ``name``."""
        ...

    def observe_duration(self, name: str, seconds: float, labels: Labels | None = None) -> None:
        """Note that something took ``seconds``, 0.0 or more."""
        ...


class NoopMetrics:
    """Takes everything and keeps nothing (seed:M3)."""

    def inc_counter(self, name: str, n: int, labels: Labels | None = None) -> None:
        """Do nothing."""

    def observe_duration(self, name: str, seconds: float, labels: Labels | None = None) -> None:
        """Do nothing."""


class Count(Struct, frozen=True):
    """``n`` more of a counter."""

    name: str
    labels: Labels
    n: int = 1


class Duration(Struct, frozen=True):
    """Something took so many seconds."""

    name: str
    labels: Labels
    seconds: float


Measure = Count | Duration


class MetricsListener:
    """Gives a sink every counter and duration of ``COUNTERS`` and ``DURATIONS`` as it happens."""

    def __init__(self, sink: MetricsSink) -> None:
        self._sink = sink

    def on_event(self, event: events.Event) -> None:
        """Pass on what the event measures."""
        for measure in measures(event):
            match measure:
                case Count(name, labels, n):
                    self._sink.inc_counter(name, n, labels)
                case Duration(name, labels, seconds):
                    self._sink.observe_duration(name, seconds, labels)


def measures(event: events.Event) -> Iterator[Measure]:
    """What an event measures. Pure."""
    match event:
        case events.Enqueued(activity=activity, created=created):
            outcome = "created" if created else "duplicate"
            yield Count("activity_enqueued", {**_of(activity), "outcome": outcome})
        case events.EnqueueFailed(activity=activity, error=error):
            labels = {**_of(activity), "error": type(error).__name__}
            yield Count("activity_enqueue_error", labels)
        case events.Finished():
            yield from _end(event)
        case events.AttemptEvent():
            yield from _incident(event)
        case events.BackgroundError():
            yield from _trouble(event)
        case events.WorkerEvent():
            yield from _routine(event)
        case _:
            pass


_ENDS: Mapping[type[events.Finished], tuple[str, str]] = {
    events.Completed: ("activity_completed", "completed"),
    events.Retrying: ("activity_retry", "retrying"),
    events.Failed: ("activity_failed_non_retry", "failed"),
    events.DeadLettered: ("activity_dead_lettered", "dead_letter"),
    events.Cancelled: ("activity_cancelled", "cancelled"),
    events.Snoozed: ("activity_snoozed", "snoozed"),
    events.Unhandled: ("activity_handler_not_found", "unhandled"),
    events.Interrupted: ("activity_interrupted", "interrupted"),
    events.ProcessDied: ("activity_process_died", "crashed"),
    events.OutcomeRefused: ("activity_lost_completion", "refused"),
}
"""For each end of an attempt its counter, and its name as the label ``outcome``."""


def _end(event: events.Finished) -> Iterator[Measure]:
    labels = _of(event.attempt)
    counter, outcome = _ENDS[type(event)]
    yield Count(counter, labels)
    if isinstance(event, events.Unhandled):
        return
    if _ran(event):
        yield Duration("activity_execution_seconds", {**labels, "outcome": outcome}, event.seconds)
    yield Duration("activity_completion_persistence", labels, event.recording)
    if isinstance(event, (events.Retrying, events.Failed, events.DeadLettered, events.Cancelled)):
        yield from _failure(event.attempt, event.error)


def _ran(event: events.Finished) -> bool:
    """Not what was only claimed to be ended, as it was too late to start it."""
    if not isinstance(event, (events.Failed, events.Cancelled)):
        return True
    return event.error.attempts >= event.attempt.number


def _failure(attempt: Attempt, error: ErrorInfo) -> Iterator[Measure]:
    labels = _of(attempt)
    if error.kind is ErrorKind.TIMEOUT:
        yield Count("activity_timeout", labels)
    if error.kind is ErrorKind.EXPIRED:
        yield Count("activity_expired", labels)
    if error.kind is ErrorKind.DEADLINE:
        yield Count("activity_overdue", labels)
    if error.kind is ErrorKind.RESULT:
        yield Count("result_store_error", labels)
    if error.kind is ErrorKind.ERROR and not error.type.startswith("taskq."):
        yield Count("activity_panic", labels)
    if attempt.type.endswith(hook_type("", "on_dead_letter")):
        yield Count("dead_letter_hook_panic", labels)


def _incident(event: events.AttemptEvent) -> Iterator[Measure]:
    labels = _of(event.attempt)
    match event:
        case events.Started():
            yield Count("activity_started", labels)
            yield Duration("activity_queue_latency_seconds", labels, event.waited)
            yield Duration("activity_claim_lag", labels, event.unclaimed)
        case events.HandedBack():
            yield Count("activity_handed_back", labels)
        case events.LeaseLost():
            yield Count("claim_lost", labels)
        case events.ThreadOverran():
            yield Count("activity_thread_overran", labels)
        case events.WorkerLost():
            yield Count("activity_crashed", labels)
            if event.dead:
                yield Count("activity_dead_lettered", labels)
        case _:
            pass


_TROUBLE: Mapping[str, str] = {
    "dispatcher": "dequeue_error",
    "ledger": "completion_error",
    "keeper": "heartbeat_failed",
    "promoter": "scheduler_poll_error",
    "reaper": "reaper_error",
}
"""What an error is called, by the loop that met it."""


def _trouble(event: events.BackgroundError) -> Iterator[Measure]:
    labels = {"loop": event.loop}
    yield Count("background_error", labels)
    if event.loop in _TROUBLE:
        yield Count(_TROUBLE[event.loop], {})
    if isinstance(event.error, BackendError):
        yield Count("backend_error", labels)
    if isinstance(event.error, BackendUnavailable):
        yield Count("storage_retry", labels)


def _routine(event: events.WorkerEvent) -> Iterator[Measure]:
    match event:
        case events.Claimed():
            yield Duration("dequeue_roundtrip_seconds", {}, event.seconds)
        case events.Saturated():
            yield Count("worker_concurrency_saturated", {})
        case events.Promoted():
            yield Count("scheduler_tick", {})
        case events.Swept():
            yield Count("reaper_tick", {})
        case events.Pruned():
            yield Count("activity_pruned", {}, event.count)
        case events.OutcomesDelayed():
            yield Count("completion_pending_started", {}, event.count)
        case events.OutcomesCaughtUp():
            yield Count("completion_pending_finished", {}, event.count)
        case events.WorkerStarted():
            yield Count("worker_started", {})
        case events.WorkerStopped():
            yield Count("worker_stopped", {})
        case _:
            pass


def _of(activity: Activity[object] | Attempt) -> dict[str, str]:
    """The labels of everything about an activity."""
    return {
        "queue": activity.queue,
        "type": activity.type,
        "priority": activity.priority.name.lower(),
    }
