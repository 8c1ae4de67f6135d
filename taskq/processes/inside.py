"""What runs in a process of a worker's: it imports what it is told to, then runs attempts.

It ends when it is told to, and at once when its worker is gone, whatever its handler does.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from contextvars import copy_context
from functools import partial
from types import FrameType
from typing import Any, Final, assert_never

from taskq import logs
from taskq.client import StoreClient
from taskq.clock import SystemClock
from taskq.context import Context, enter
from taskq.engine.running.failure import classify, describe, failed
from taskq.lifecycle import Failed, Snoozed
from taskq.model import Attempt, ErrorKind
from taskq.processes import wire
from taskq.processes.line import Line
from taskq.processes.proxy import ProcessClient
from taskq.processes.reference import found, import_main
from taskq.progress import progress_of
from taskq.registry import encoder
from taskq.task import Definition, Task

STOPPED: Final = 128 + signal.SIGTERM
"""The exit code of a process that was told to end."""

INTERVAL: Final = 0.1
"""Seconds between two words about an attempt's progress at the least."""

_F_SETSIG: Final = 10
"""Linux: which signal tells of a pipe (``fcntl.h``)."""


def main(pipe: int, lifeline: int) -> None:
    """Serve the worker at the other end of these file descriptors until told to end."""
    _die_with(lifeline)
    for inherited in (pipe, lifeline):
        os.set_inheritable(inherited, False)
    line = Line(socket.socket(fileno=pipe))
    _heed_signals(line)
    prepare = line.hear()
    if not isinstance(prepare, wire.Prepare):
        raise AssertionError(f"the first message must be Prepare, not {prepare!r}")
    if not _prepared(line, prepare):
        sys.exit(1)
    line.listen()
    while True:
        work = line.next()
        match work:
            case wire.Run():
                line.say(_done(line, work))
                _flush()
            case wire.Greet():
                line.say(_greeted(line, work))
            case _:
                assert_never(work)


def _die_with(lifeline: int) -> None:
    """Have the kernel kill this process, and the others of its group, when the worker's end of a
    pipe is closed: the thread that reads from the worker would not come to it while the handler is
    in C and holds the GIL."""
    if sys.platform == "linux":
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)


def _heed_signals(line: Line) -> None:
    """Only the worker decides when it ends: a SIGTERM to a whole service is for the worker, which
    lets handlers go on for its grace. What a handler forks or starts heeds signals as ever."""

    def on_term(_number: int, _frame: FrameType | None) -> None:
        if line.stopped:
            sys.exit(STOPPED)

    signal.signal(signal.SIGTERM, on_term)
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    os.register_at_fork(after_in_child=_heed_as_ever)


def _heed_as_ever() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _prepared(line: Line, prepare: wire.Prepare) -> bool:
    """Import the task's module, and say how that went."""
    sys.argv[:] = prepare.arguments
    if prepare.logs is not None:
        logs.configure(*prepare.logs, with_pid=True)
    try:
        if prepare.main is not None:
            import_main(prepare.main)
        found(prepare.module, prepare.name)
    except BaseException as error:
        line.say(wire.Broken(describe(error, prepare.attempt, kind=ErrorKind.ERROR)))
        return False
    line.say(wire.Ready())
    return True


def _greeted(line: Line, greet: wire.Greet) -> wire.Ready | wire.Unfit:
    """Whether the task can be had here. Nobody is told why not: a fresh process tries it again, and
    says so if it is the task's own fault."""
    try:
        found(greet.module, greet.name)
    except BaseException:
        if line.stopped:
            raise
        return wire.Unfit()
    return wire.Ready()


def _done(line: Line, run: wire.Run) -> wire.Done:
    """Run one attempt."""
    try:
        task = found(run.module, run.name)
        owner = _through(line, task)
    except Exception as error:
        return _raised(failed(error, run.attempt, retryable=True))
    progress = Reporter(line)
    context = Context(run.attempt, owner=owner, report=progress.take)

    def performed() -> wire.Done:
        with line.during(run.attempt, context):
            enter(context)
            try:
                return _performed(line, task.definition, run.attempt)
            finally:
                progress.flush()

    return copy_context().run(performed)


def _through(line: Line, task: Task[..., Any]) -> object:
    """Have the tasks of its app enqueue and wait through the worker; that app."""
    client = task.door.client
    if isinstance(client, StoreClient):
        task.door.client = ProcessClient(line, client)
    return client.owner


def _performed(line: Line, definition: Definition, attempt: Attempt) -> wire.Done:
    try:
        args, kwargs = definition.codec.decode(attempt.payload)
    except BaseException as error:
        return _raised(_refused(error, attempt, definition, ErrorKind.ARGUMENTS))
    try:
        value = definition.function(*args, **kwargs)
    except BaseException as error:
        if line.stopped:
            raise
        return _classified(error, attempt, definition)
    try:
        return wire.Returned(encoder(definition)(value))
    except BaseException as error:
        return _raised(_refused(error, attempt, definition, ErrorKind.RESULT))


def _refused(
    error: BaseException, attempt: Attempt, definition: Definition, kind: ErrorKind
) -> Failed:
    hide = partial(definition.showing.hide, attempt)
    return failed(error, attempt, kind=kind, retryable=False, hide=hide)


def _classified(error: BaseException, attempt: Attempt, definition: Definition) -> wire.Done:
    hide = partial(definition.showing.hide, attempt)
    outcome = classify(error, attempt, no_retry=definition.no_retry, hide=hide)
    match outcome:
        case Failed():
            return _raised(outcome)
        case Snoozed(delay):
            return wire.Snoozed(delay)
        case _:
            raise AssertionError(f"no exception means {outcome!r}")


def _raised(outcome: Failed) -> wire.Raised:
    return wire.Raised(outcome.error, outcome.retryable, outcome.delay)


class Reporter:
    """Tells the worker how far the handler has come: of each ``INTERVAL`` only the latest."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._clock = SystemClock()
        self._latest: tuple[Attempt, wire.Progressed] | None = None
        self._due_at = 0.0

    def take(self, attempt: Attempt, done: float, total: float | None, note: str | None) -> None:
        """See ``Context.progress``. Raises TypeError, ValueError for nonsense."""
        progress_of(done, total, note, at=self._clock.now())
        self._latest = attempt, wire.Progressed(done, total, note)
        now = self._clock.monotonic()
        if now >= self._due_at:
            self._due_at = now + INTERVAL
            self.flush()

    def flush(self) -> None:
        """Tell what is not told yet."""
        latest, self._latest = self._latest, None
        if latest is not None:
            self._line.say_during(*latest)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
