"""What each event measures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import msgspec
import pytest

from taskq import events
from taskq.errors import BackendError, BackendUnavailable
from taskq.metrics import COUNTERS, DURATIONS, Count, Duration, NoopMetrics, measures
from taskq.model import Activity, Attempt, ErrorInfo, ErrorKind, Priority

ID = UUID("0197f2a0-0000-7000-8000-00000000abcd")
NOW = datetime(2030, 1, 1, tzinfo=UTC)
ACTIVITY = Activity[object](
    id=ID, type="mail", queue="shop", payload='{"to": "ada"}', root_id=ID, origin_id=ID
)
ATTEMPT = Attempt(
    id=ID,
    worker=ID,
    claim=1,
    type="mail",
    queue="shop",
    payload='{"to": "ada"}',
    root_id=ID,
    origin_id=ID,
    created_at=NOW,
    ready_at=NOW,
    priority=Priority.HIGH,
)
HOOK = msgspec.structs.replace(ATTEMPT, type="mail:on_dead_letter")
ABOUT = {"queue": "shop", "type": "mail", "priority": "high"}
LOOPS = ("dispatcher", "ledger", "keeper", "promoter", "reaper", "slots")


def error(type: str = "ValueError", kind: ErrorKind = ErrorKind.ERROR) -> ErrorInfo:
    return ErrorInfo(type=type, message="a secret", kind=kind)


def ends(attempt: Attempt = ATTEMPT, why: ErrorInfo | None = None) -> Iterator[events.Event]:
    failure = error() if why is None else why
    times = {"attempt": attempt, "seconds": 2.0, "recording": 0.5}
    yield events.Completed(**times)
    yield events.Retrying(**times, error=failure, delay=1.0)
    yield events.Failed(**times, error=failure)
    yield events.DeadLettered(**times, error=failure)
    yield events.Cancelled(**times, error=failure)
    yield events.Snoozed(**times, delay=1.0)
    yield events.Unhandled(**times, delay=5.0)
    yield events.Interrupted(**times)
    yield events.ProcessDied(**times, error=error(kind=ErrorKind.CRASHED))
    yield events.OutcomeRefused(**times)


def every_event() -> Iterator[events.Event]:
    yield events.Enqueued(activity=ACTIVITY, id=ID, created=True)
    yield events.Enqueued(activity=ACTIVITY, id=ID, created=False)
    yield events.EnqueueFailed(activity=ACTIVITY, error=BackendUnavailable("away"))
    yield events.Started(attempt=ATTEMPT, waited=3.0, unclaimed=1.0)
    yield from ends()
    yield from ends(HOOK, error("TimeoutError", ErrorKind.TIMEOUT))
    yield from ends(why=error("taskq.errors.SerializationError", ErrorKind.RESULT))
    yield from ends(why=error("Expired", ErrorKind.EXPIRED))
    yield from ends(why=error("DeadlinePassed", ErrorKind.DEADLINE))
    yield events.HandedBack(attempt=ATTEMPT)
    yield events.LeaseLost(attempt=ATTEMPT)
    yield events.WorkerLost(attempt=ATTEMPT, error=error(kind=ErrorKind.CRASHED), dead=False)
    yield events.WorkerLost(attempt=ATTEMPT, error=error(kind=ErrorKind.CRASHED), dead=True)
    yield events.ThreadOverran(attempt=ATTEMPT)
    yield events.WorkerStarted(worker=ID, name="w", queues=("shop",), concurrency=10)
    yield events.WorkerStopping(worker=ID, grace=30.0)
    yield events.WorkerStopped(worker=ID)
    yield events.Claimed(worker=ID, limit=10, count=3, seconds=0.01)
    yield events.Saturated(worker=ID)
    yield events.PausesChanged(worker=ID, paused=(), resumed=())
    yield events.Promoted(worker=ID, count=2)
    yield events.Pruned(worker=ID, trees=0, count=0)
    yield events.Swept(worker=ID, count=0)
    yield events.OutcomesDelayed(worker=ID, count=4)
    yield events.OutcomesCaughtUp(worker=ID, count=4)
    for loop in LOOPS:
        yield events.BackgroundError(worker=ID, loop=loop, error=BackendUnavailable("away"))
    yield events.BackgroundError(worker=ID, loop="slots", error=RuntimeError("a secret"))
    yield events.BackgroundRecovered(worker=ID, loop="keeper", seconds=1.0)
    yield events.Deadlocked(
        worker=ID, handlers=(events.Blocked(id=ID, type="parent", awaits=(ID,)),)
    )


def names(event: events.Event) -> list[str]:
    return [measure.name for measure in measures(event)]


def concrete(kind: type[events.Event]) -> set[type[events.Event]]:
    below = kind.__subclasses__()
    return set().union(*map(concrete, below)) if below else {kind}


def test_every_event_there_is_is_looked_at_here() -> None:
    assert {type(event) for event in every_event()} == concrete(events.Event)


def test_every_name_is_measured_and_no_other() -> None:
    """seed:M2, M4, M5: the names that were declared are emitted, each of them."""
    found = [measure for event in every_event() for measure in measures(event)]

    assert {each.name for each in found if isinstance(each, Count)} == set(COUNTERS)
    assert {each.name for each in found if isinstance(each, Duration)} == set(DURATIONS)


def test_a_name_always_comes_with_the_same_labels() -> None:
    """seed:M6; some systems refuse a counter whose labels change."""
    labels: dict[str, set[tuple[str, ...]]] = {}
    for event in every_event():
        for measure in measures(event):
            labels.setdefault(measure.name, set()).add(tuple(sorted(measure.labels)))

    assert {name: found for name, found in labels.items() if len(found) > 1} == {}


def test_labels_hold_names_and_never_what_grows_without_bound() -> None:
    """seed:M6"""
    found = {
        value
        for event in every_event()
        for measure in measures(event)
        for value in measure.labels.values()
    }

    assert all(word not in value for value in found for word in (str(ID), "secret", "ada"))
    assert found >= {"shop", "mail", "high", "normal", "created", "duplicate", *LOOPS}


@pytest.mark.parametrize(
    ("type", "kind", "expected"),
    [
        ("ValueError", ErrorKind.ERROR, ["activity_panic"]),
        ("SystemExit", ErrorKind.ERROR, ["activity_panic"]),
        ("taskq.errors.RetryError", ErrorKind.ERROR, []),
        ("taskq.errors.ActivityFailed", ErrorKind.CHILD, []),
        ("TimeoutError", ErrorKind.TIMEOUT, ["activity_timeout"]),
        ("TypeError", ErrorKind.RESULT, ["result_store_error"]),
    ],
)
def test_a_failure_is_counted_by_its_cause_too(
    type: str, kind: ErrorKind, expected: list[str]
) -> None:
    event = events.Retrying(
        attempt=ATTEMPT, seconds=1.0, recording=0.0, error=error(type, kind), delay=1.0
    )
    durations = ["activity_execution_seconds", "activity_completion_persistence"]
    assert names(event) == ["activity_retry", *durations, *expected]


def test_durations_are_those_of_the_event_in_seconds() -> None:
    """seed:M1"""
    started = events.Started(attempt=ATTEMPT, waited=3.0, unclaimed=1.0)
    completed = events.Completed(attempt=ATTEMPT, seconds=2.0, recording=0.5)

    assert [each for event in (started, completed) for each in measures(event)] == [
        Count("activity_started", ABOUT),
        Duration("activity_queue_latency_seconds", ABOUT, 3.0),
        Duration("activity_claim_lag", ABOUT, 1.0),
        Count("activity_completed", ABOUT),
        Duration("activity_execution_seconds", {**ABOUT, "outcome": "completed"}, 2.0),
        Duration("activity_completion_persistence", ABOUT, 0.5),
    ]


def test_errors_of_the_store_are_told_from_others() -> None:
    def counted(problem: BaseException) -> list[str]:
        return names(events.BackgroundError(worker=ID, loop="reaper", error=problem))

    own = ["background_error", "reaper_error"]
    assert counted(RuntimeError("no")) == own
    assert counted(BackendError("no")) == [*own, "backend_error"]
    assert counted(BackendUnavailable("away")) == [*own, "backend_error", "storage_retry"]


def test_a_sink_that_does_nothing_takes_everything() -> None:
    """seed:M3"""
    sink = NoopMetrics()

    assert sink.inc_counter("activity_completed", 1) is None
    assert sink.observe_duration("activity_execution_seconds", 0.1, {"type": "mail"}) is None


def test_what_was_never_started_is_counted_and_ran_for_no_time_at_all() -> None:
    """An execution of 0 s would make the mean look better than it is."""
    late = ErrorInfo(type="Expired", message="", kind=ErrorKind.EXPIRED, attempts=0)
    event = events.Failed(attempt=ATTEMPT, seconds=0.0, recording=0.5, error=late)

    assert names(event) == [
        "activity_failed_non_retry",
        "activity_completion_persistence",
        "activity_expired",
    ]
