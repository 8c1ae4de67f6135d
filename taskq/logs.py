"""Logging: the listener that turns events into log lines, and the two line formats of the CLI.

Nothing else in taskq logs. The logger is ``taskq``. A program that configures no logging sees its
warnings and errors on stderr, as Python's last resort has it.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from taskq import events
from taskq.clock import Clock, SystemClock
from taskq.context import current_or_none
from taskq.errors import BackendUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from taskq.events import Event, Listener
    from taskq.model import Attempt

logger = logging.getLogger("taskq")

FIELDS = ("activity", "type", "queue", "attempt", "worker")
"""What a line says about the activity it concerns, in this order."""


REMINDER = 30.0
"""Seconds after which a background loop that still fails in the same way is named again."""


class LoggingListener:
    """Writes a line for each event that a person may want to see: starts and ends at INFO, retries
    and refused outcomes at WARNING, failures, dead letters and background errors at ERROR, the rest
    at DEBUG. Each line carries ``FIELDS`` as attributes of the record.

    A loop that fails again and again in the same way is an ERROR at first and every ``REMINDER``
    seconds, and a line of its own at DEBUG each time; when it goes on, that is said at INFO.
    ``clock`` counts those seconds.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._said: dict[tuple[UUID, str], tuple[type[BaseException], float]] = {}

    def on_event(self, event: Event) -> None:
        """Write the event's line."""
        level, message = _line(event)
        if isinstance(event, events.BackgroundError) and self._just_said(event):
            level = logging.DEBUG
        elif isinstance(event, events.BackgroundRecovered):
            self._said.pop((event.worker, event.loop), None)
        if not message or not logger.isEnabledFor(level):
            return
        logger.log(level, message, extra=_extra(event), exc_info=_raised(event))

    def _just_said(self, event: events.BackgroundError) -> bool:
        now, failure = self._clock.monotonic(), type(event.error)
        before, at = self._said.get((event.worker, event.loop), (None, 0.0))
        if before is failure and now - at < REMINDER:
            return True
        self._said[event.worker, event.loop] = failure, now
        return False


def _raised(event: Event) -> BaseException | None:
    """The exception whose traceback helps. That a store is away is said without one."""
    if not isinstance(event, events.BackgroundError):
        return None
    return None if isinstance(event.error, BackendUnavailable) else event.error


def _line(event: Event) -> tuple[int, str]:
    """The level and the message for an event; no message where a line would be noise."""
    match event:
        case events.Enqueued():
            return logging.DEBUG, f"enqueued {event.activity.type}"
        case events.EnqueueFailed():
            return logging.DEBUG, f"could not store {event.activity.type}: {event.error}"
        case events.WorkerEvent():
            return _worker_line(event)
        case events.AttemptEvent():
            return _attempt_line(event)
        case _:
            return logging.DEBUG, type(event).__name__


def _worker_line(event: events.WorkerEvent) -> tuple[int, str]:
    match event:
        case events.WorkerStarted():
            queues = ", ".join(event.queues)
            return logging.INFO, (
                f"worker {event.name} started: {event.concurrency} slots, queues {queues}"
            )
        case events.WorkerStopping():
            return logging.INFO, f"stopping, handlers have {event.grace:g} s"
        case events.WorkerStopped():
            return logging.INFO, "stopped"
        case events.BackgroundError():
            return logging.ERROR, _background(event)
        case events.Deadlocked():
            return logging.ERROR, str(event)
        case events.BackgroundRecovered():
            return logging.INFO, f"{event.loop} works again, after {event.seconds:.3g} s"
        case events.Claimed() | events.Promoted() | events.Swept() | events.Pruned():
            return logging.DEBUG, _counted(event)
        case events.PausesChanged():
            return logging.WARNING if event.paused else logging.INFO, str(event)
        case events.OutcomesDelayed():
            return logging.WARNING, f"{event.count} outcomes could not be stored yet"
        case events.OutcomesCaughtUp():
            return logging.INFO, f"{event.count} delayed outcomes are stored"
        case _:
            return logging.DEBUG, type(event).__name__.lower()


def _background(event: events.BackgroundError) -> str:
    if event.loop == events.OPENING:
        return f"cannot open the database, trying again: {event.error}"
    return f"{event.loop} met an error and goes on: {event.error}"


def _counted(event: events.Claimed | events.Promoted | events.Swept | events.Pruned) -> str:
    if isinstance(event, events.Pruned):
        return f"pruned {event.count} activities in {event.trees} trees"
    return f"{type(event).__name__.lower()} {event.count}" if event.count else ""


def _attempt_line(event: events.AttemptEvent) -> tuple[int, str]:
    match event:
        case events.Started():
            return logging.DEBUG, f"started {event.attempt.type}"
        case events.Completed():
            return logging.INFO, f"completed {event.attempt.type} in {event.seconds:.3f} s"
        case events.Retrying():
            error = event.error
            return logging.WARNING, (
                f"failed {event.attempt.type}, retrying in {event.delay:.3g} s:"
                f" {error.type}: {error.message}"
            )
        case events.Failed():
            return logging.ERROR, _ended("failed", event)
        case events.DeadLettered():
            return logging.ERROR, _ended("dead-lettered", event)
        case events.OutcomeRefused():
            return logging.WARNING, (
                f"refused the outcome of {event.attempt.type}: its lease no longer held"
            )
        case events.ProcessDied():
            return logging.WARNING, f"crashed {event.attempt.type}: {event.error.message}"
        case events.WorkerLost():
            level = logging.ERROR if event.dead else logging.WARNING
            return level, f"took back {event.attempt.type}: {event.error.message}"
        case events.LeaseLost():
            return logging.WARNING, f"stopped {event.attempt.type}: its lease is lost"
        case events.Unhandled():
            return logging.INFO, (
                f"put back {event.attempt.type} for {event.delay:g} s: no handler here"
            )
        case events.ThreadOverran():
            return logging.WARNING, (
                f"the thread of {event.attempt.type} is past its timeout and keeps its slot"
            )
        case _:
            return logging.INFO, f"{type(event).__name__.lower()} {event.attempt.type}"


def _ended(how: str, event: events.Failed | events.DeadLettered) -> str:
    error = event.error
    return f"{how} {event.attempt.type}: {error.type}: {error.message}"


def _extra(event: Event) -> dict[str, object]:
    if isinstance(event, (events.Failed, events.DeadLettered)):
        return {**_about(event.attempt), "traceback": event.error.traceback}
    if isinstance(event, events.AttemptEvent):
        return _about(event.attempt)
    if isinstance(event, events.WorkerEvent):
        return {"worker": str(event.worker)}
    if isinstance(event, (events.Enqueued, events.EnqueueFailed)):
        id = event.id if isinstance(event, events.Enqueued) else event.activity.id
        return {
            "activity": str(id),
            "type": event.activity.type,
            "queue": event.activity.queue,
        }
    return {}


def _about(attempt: Attempt) -> dict[str, object]:
    return {
        "activity": str(attempt.id),
        "type": attempt.type,
        "queue": attempt.queue,
        "attempt": attempt.number,
        "worker": str(attempt.worker),
    }


class ContextFilter(logging.Filter):
    """Adds ``FIELDS`` of the running attempt to every record, also to those of user code.

    They replace a record's own attributes of these names; only taskq's lines may be about another
    activity than the one that runs.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields; never drops a record."""
        context = current_or_none()
        if context is None or (record.name == logger.name and hasattr(record, "activity")):
            return True
        record.activity = str(context.id)
        record.type = context.type
        record.queue = context.queue
        record.attempt = context.attempt
        record.worker = str(context.worker)
        return True


class PidFilter(logging.Filter):
    """Adds the process id to every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add it; never drops a record."""
        record.pid = record.process
        return True


class TextFormatter(logging.Formatter):
    """``2026-11-29 12:00:00.123 INFO taskq: completed … activity=… type=…``; control characters
    of messages are escaped, so that a payload cannot forge lines (threat:T15)."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, then the traceback where there is one."""
        at = datetime.fromtimestamp(record.created).isoformat(" ", timespec="milliseconds")
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{at} {record.levelname} {record.name}: {_escaped(_message(record))}{fields}"
        traceback = _traceback(self, record)
        return f"{line}\n{_escaped(traceback, keep=_LINES)}" if traceback else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line: at, level, logger, message, the fields, extra, traceback.

    ``extra`` holds what else the record was given, as JSON as far as it can be, else as text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the record holds."""
        content: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            **_fields(record),
        }
        if extra := _given(record):
            content["extra"] = extra
        if traceback := _traceback(self, record):
            content["traceback"] = traceback
        return json.dumps(_plain(content))


def configure(level: str, style: str, *, with_pid: bool = False) -> None:
    """For the CLI: send every record of at least ``level`` to stderr as ``text`` or ``json``.

    ``with_pid``: it is one of several processes, whose lines come together.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    handler.addFilter(ContextFilter())
    if with_pid:
        handler.addFilter(PidFilter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in ("alembic", "sqlalchemy", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def configured() -> tuple[str, str] | None:
    """The level and style that ``configure`` was last told; None if logging is set up otherwise."""
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler.formatter, JsonFormatter):
            return logging.getLevelName(root.level), "json"
        if isinstance(handler.formatter, TextFormatter):
            return logging.getLevelName(root.level), "text"
    return None


def deaf(location: str) -> None:
    """Say that hints of other processes do not arrive, and what helps."""
    logger.warning(
        "LISTEN does not work at %s: a pooler lends sessions for a transaction; work is found by"
        " polling. Set TASKQ_LISTEN=off, or give a URL that reaches the server itself",
        location,
    )


def signalled(name: str, *, first: bool, what: str = "handlers") -> None:
    """Say that a process was sent a signal, and what that means for what runs in it."""
    if first:
        logger.info("%s received: %s may end; a second signal stops them now", name, what)
    else:
        logger.info("%s received again: %s are stopped now", name, what)


def console_waits(why: str) -> None:
    """Say that the console has nothing to show yet."""
    logger.error("the console waits for its database: %s", why)


def console_ended(error: Exception) -> None:
    """Say that a worker goes on without its console."""
    logger.error("the console has ended, the worker goes on: %s", error, exc_info=error)


def fleet_started(count: int, health: str | None) -> None:
    """Say that worker processes are about to be started."""
    where = "" if health is None else f", health at {health}"
    logger.info("starting %d worker processes%s", count, where)


def member_ended(name: str, pid: int, code: int, pause: float) -> None:
    """Say that a worker process ended, and when another takes its place."""
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    logger.warning("%s, process %d, ended %s: another starts in %g s", name, pid, how, pause)


def member_not_started(number: int, error: OSError, pause: float) -> None:
    """Say that a worker process could not be started, and when that is tried again."""
    logger.error("worker %d could not be started: %s: again in %g s", number, error, pause)


def member_silent(name: str, pid: int, seconds: float) -> None:
    """Say that nothing is heard from a worker process, and what becomes of it."""
    logger.error(
        "%s, process %d, has said nothing for %g s, as when a handler in C holds the GIL:"
        " it is killed and replaced",
        name,
        pid,
        seconds,
    )


def member_misspoke(name: str, pid: int, error: Exception) -> None:
    """Say that what a worker process reports cannot be read, and what becomes of it."""
    logger.error(
        "%s, process %d, reports what cannot be read (%s): it is stopped and replaced. Was taskq"
        " upgraded meanwhile? Then start this command anew",
        name,
        pid,
        error,
    )


def threads_left(count: int) -> None:
    """Say that a worker's process ends while sync handlers still run."""
    logger.warning("sync handlers still run in %d threads: leaving them", count)


def blocking_delay(task: str, place: str) -> None:
    """Say once per call-site that ``adelay`` exists."""
    logger.info(
        "%s: %s.delay() blocks this event loop for one commit; adelay() does not", place, task
    )


def opened(location: str) -> None:
    """Say where activities are kept, when that is used for the first time."""
    logger.info("opened %s", location)


def priorities_are_off() -> None:
    """A priority was asked for, and ``priority_enabled`` is off."""
    logger.warning("a priority has no effect: priority_enabled is off, so every call is NORMAL")


def unfit_result(task: str, error: Exception) -> None:
    """Say that a stored result does not fit its task's return annotation."""
    logger.warning("the result of %s does not fit its return annotation: %s", task, error)


def still_waiting(message: str) -> None:
    """Say that something has been waited for a while, and why it may not come."""
    logger.warning("%s", message)


def stream_failed(error: Exception) -> None:
    """Say that the console's live stream broke off; its clients come again, and it begins anew."""
    logger.error("the console's live stream broke off: %s", error, exc_info=error)


def listener_failed(listener: Listener, event: Event, error: Exception) -> None:
    """Say that a listener raised."""
    logger.error(
        "listener %r raised on %s: %s", listener, type(event).__name__, error, exc_info=error
    )


def console_failed(method: str, path: str, error: Exception) -> None:
    """Say that the console could not answer a request, and why."""
    logger.error("console: %s %s failed: %r", method, path, error, exc_info=error)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What the record says about its activity, safe to print."""
    named = (*FIELDS, "pid")
    found = {name: getattr(record, name) for name in named if hasattr(record, name)}
    return {
        name: _escaped(value) if isinstance(value, str) else value for name, value in found.items()
    }


def _message(record: logging.LogRecord) -> str:
    """The record's message; also when its arguments do not fit, as the line matters more."""
    try:
        return record.getMessage()
    except Exception:
        return f"{_text(record.msg)} {_text(record.args)}"


def _given(record: logging.LogRecord) -> dict[str, object]:
    """What ``extra=`` brought besides the fields."""
    return {name: value for name, value in vars(record).items() if name not in _USUAL}


_USUAL = {
    *vars(logging.makeLogRecord({})),
    *FIELDS,
    "pid",
    "traceback",
    "taskName",
    "message",
    "asctime",
}


DEEPEST = 10
"""Levels of an extra's lists and dicts that are shown as such."""


def _plain(value: object, *, left: int = DEEPEST) -> object:
    """The value as JSON has it; what has no such form, or lies too deep, as text."""
    match value:
        case None | bool():
            return value
        case str():
            return _sound(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else repr(float(value))
        case dict() if left:
            items = cast("dict[object, object]", value).items()
            return {_text(key): _plain(inner, left=left - 1) for key, inner in items}
        case list() | tuple() if left:
            return [_plain(inner, left=left - 1) for inner in cast("Iterable[object]", value)]
        case _:
            return _text(value)


def _text(value: object) -> str:
    """The value as text, whatever its own methods do."""
    try:
        return _sound(str(value))
    except Exception as problem:
        return f"<its text could not be made: {type(problem).__name__}>"


def _sound(text: str) -> str:
    """Without lone surrogates, which are no Unicode."""
    return text.encode(errors="replace").decode()


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """The traceback of the exception that is being handled, or of one that was recorded."""
    if record.exc_info:
        return formatter.formatException(record.exc_info)
    return str(getattr(record, "traceback", "")).rstrip()


_LINES = "\n\t"
"""What is kept of a traceback besides printable characters."""


def _escaped(text: str, *, keep: str = "") -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode()
        for char in text
    )
