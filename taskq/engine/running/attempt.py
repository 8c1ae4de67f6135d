"""Runs one attempt and says how it ended."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, assert_never

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct

from taskq.bridge import run_in_thread
from taskq.context import Context, Report, enter
from taskq.engine.claiming.holdings import Held, Stop
from taskq.engine.ground import Ground
from taskq.engine.running.failure import classify, failed, timeout_error
from taskq.engine.running.handler import Handler
from taskq.engine.running.isolation import run_isolated
from taskq.engine.running.limit import TimeLimit
from taskq.engine.running.outside import Encoded
from taskq.engine.running.seat import Seat, Seating
from taskq.events import Started
from taskq.lifecycle import (
    Cancelled,
    Failed,
    Interrupted,
    Outcome,
    Overdue,
    Succeeded,
    TimedOut,
)
from taskq.middleware import Middleware
from taskq.model import ErrorInfo, ErrorKind


class Run(Struct, frozen=True):
    """One attempt on its way through the middleware to its handler."""

    held: Held
    handler: Handler
    context: Context
    args: tuple[object, ...]
    kwargs: Mapping[str, object]


Chain = Callable[[Run], Coroutine[Any, Any, object]]
"""The middleware from some point inwards, and the handler at its end."""


class Runner:
    """Runs attempts: everything about it that is the same for all of them.

    The caller has taken a permit of ``seating`` for each, and gives it back when its threads have
    ended too. ``stopping`` tells whether the worker is being stopped, ``report`` takes what
    ``Context.progress`` is told. An attempt is kept for one lease beyond its timeout, in case its
    handler does not stop.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        seating: Seating,
        middleware: Sequence[Middleware],
        owner: object,
        stopping: Callable[[], bool],
        report: Report,
    ) -> None:
        self._seating = seating
        self._owner = owner
        self._report = report
        self._clock = ground.clock
        self._emit = ground.emit
        self._lease = ground.options.lease
        self._stopping = stopping
        self._hide = ground.hide
        self._async = _folded(middleware, _call)
        self._sync = _folded(middleware, self._call_in_thread)
        self._outside = _folded(middleware, self._call_outside)

    async def run(self, held: Held, handler: Handler) -> Outcome:
        """Run a claimed attempt to its end. Never raises, except for cancellation from outside."""
        attempt = held.attempt
        context = held.context = Context(attempt, owner=self._owner, report=self._report)
        variables = copy_context()
        variables.run(enter, context)
        try:
            args, kwargs = variables.run(handler.decode, attempt.payload)
        except BaseException as error:
            hide = partial(self._hide, attempt)
            return failed(error, attempt, kind=ErrorKind.ARGUMENTS, retryable=False, hide=hide)
        held.begin(self._clock.monotonic(), grace=self._lease)
        waited = held.waited = max(0.0, (self._clock.now() - attempt.ready_at).total_seconds())
        here = self._clock.monotonic() - held.received_at
        self._emit(Started(attempt=attempt, waited=waited, unclaimed=max(0.0, waited - here)))
        chain = self._chain(handler)
        context.seat(partial(Seat, held, self._seating))
        work = run_isolated(variables, chain(Run(held, handler, context, args, kwargs)))
        try:
            outcome = await self._ended(held, handler, work)
        finally:
            if held.seat is not None:
                held.seat.close()
        if isinstance(outcome, TimedOut):
            context.mark_cancelled()
        return outcome

    def _chain(self, handler: Handler) -> Chain:
        if handler.outside is not None:
            return self._outside
        return self._async if handler.is_async else self._sync

    async def _ended(self, held: Held, handler: Handler, work: Awaitable[object]) -> Outcome:
        """Await the work within its timeout. A value counts whenever it comes (seed:R11, W32)."""
        late: ErrorInfo | None = None
        limit = held.limit = TimeLimit(held.attempt.timeout, self._seating.now)
        scope = limit.scope
        try:
            with scope:
                try:
                    value = await work
                except BaseException as error:
                    if scope.cancel_called:
                        # What it says of a handler in a process is where this side waited.
                        where = None if handler.outside is not None else error
                        hide = partial(self._hide, held.attempt)
                        late = timeout_error(held.attempt, where, hide=hide)
                    raise
                return self._succeeded(held, handler, value)
        except anyio.get_cancelled_exc_class() as error:
            if not (held.reason or scope.cancel_called):
                return await self._unexplained(held, handler, error)
        except BaseException as error:
            if not (held.reason or scope.cancel_called):
                return self._classified(held, handler, error)
        return _stopped(held, late)

    async def _unexplained(self, held: Held, handler: Handler, error: BaseException) -> Outcome:
        """A cancellation that nobody here asked for.

        Either the whole program is being cancelled, and this engine with it, which it learns in the
        same turn of the event loop; or the handler made it up, which is a failure (bug:B54).
        """
        if anyio.current_effective_deadline() == -math.inf:
            raise error
        with anyio.CancelScope(shield=True):
            await checkpoint()
        if self._stopping():
            return Interrupted()
        return self._classified(held, handler, error)

    def _classified(self, held: Held, handler: Handler, error: BaseException) -> Outcome:
        hide = partial(self._hide, held.attempt)
        return classify(error, held.attempt, no_retry=handler.no_retry, hide=hide)

    def _succeeded(self, held: Held, handler: Handler, value: object) -> Succeeded | Failed:
        try:
            return Succeeded(handler.encode(value))
        except BaseException as error:
            hide = partial(self._hide, held.attempt)
            return failed(error, held.attempt, kind=ErrorKind.RESULT, retryable=False, hide=hide)

    async def _call_in_thread(self, run: Run) -> object:
        """Call a sync handler. Its thread's permit is given back when the thread has ended."""
        await self._thread_permit(run.held)
        run.held.threads += 1
        function = partial(run.handler.function, *run.args, **run.kwargs)
        return await run_in_thread(function, on_end=partial(self._thread_ended, run.held))

    async def _call_outside(self, run: Run) -> object:
        """Run a handler in a process. To start one is no running time: the timeout stands still."""
        outside, held = run.handler.outside, run.held
        if outside is None or held.limit is None:
            raise RuntimeError("the attempt is over: middleware called its handler too late")
        held.pause()
        try:
            program = await outside.program(held.attempt)
        finally:
            held.resume(self._clock.monotonic(), grace=self._lease)
        async with program:
            return Encoded(await program.run(held.attempt, run.context))

    async def _thread_permit(self, held: Held) -> None:
        """Waiting for a thread is no running time: the timeout stands still meanwhile."""
        if held.limit is None:
            raise RuntimeError("the attempt is over: middleware called its handler too late")
        held.pause()
        await self._seating.threads.acquire()
        held.resume(self._clock.monotonic(), grace=self._lease)

    def _thread_ended(self, held: Held) -> None:
        if held.seat is None or not held.seat.thread_ended():
            self._seating.threads.give_back()
        held.threads -= 1
        held.notify()


async def _call(run: Run) -> object:
    return await run.handler.function(*run.args, **run.kwargs)


def _folded(middleware: Sequence[Middleware], innermost: Chain) -> Chain:
    chain = innermost
    for layer in reversed(middleware):
        chain = _around(layer, chain)
    return chain


def _around(layer: Middleware, inner: Chain) -> Chain:
    async def call(run: Run) -> object:
        return await layer(run.context, partial(inner, run))

    return call


def _stopped(held: Held, late: ErrorInfo | None) -> Outcome:
    """The outcome of an attempt that was told to stop and did."""
    reason = held.reason or Stop.TIMEOUT
    match reason:
        case Stop.TIMEOUT:
            return TimedOut(late or timeout_error(held.attempt, None))
        case Stop.CANCELLED:
            return Cancelled()
        case Stop.DEADLINE:
            return Overdue(started=True)
        case Stop.SHUTDOWN | Stop.LEASE_LOST:
            return Interrupted()
        case _:
            assert_never(reason)
