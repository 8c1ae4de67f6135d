"""The seat: an attempt's permit, given up while its handler waits for other activities.

A handler may wait in several tasks at once. The permit belongs to the attempt, not to a wait: it is
there, or given up, or being taken back by one request that every wait that returns meanwhile joins
(design 7.10). The beginning of a wait gives it up. The end of one takes it back; when the task that
took it back has ended too and other waits go on, it is given up again.

On the engine's event loop, unless said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from functools import partial
from types import TracebackType
from uuid import UUID

import anyio
from anyio.lowlevel import EventLoopToken, current_token
from msgspec import Struct

from taskq.bridge import Doorbell, loop_poster, on_task_end
from taskq.bridge.poster import Post
from taskq.bridge.running import on_event_loop
from taskq.clock import Clock
from taskq.engine.claiming.holdings import Held
from taskq.engine.running.permits import Permits, Request
from taskq.errors import AttemptStopped

PATIENCE = 1.0
"""Seconds for which a handler whose wait was cancelled waits for a permit."""
KEPT = 1.0
"""Seconds for which a task that came back from a wait keeps the permit while others wait."""


class State(StrEnum):
    """What has become of an attempt's permit."""

    TAKEN = "taken"
    GIVEN_UP = "given_up"
    RETURNING = "returning"


class Seating(Struct, frozen=True, kw_only=True):
    """What all seats of a worker share. ``threads`` are the permits of sync handlers' threads.

    ``suspends``: whether waits give the permit up (seed:E12). ``measure`` is told for how many
    seconds a handler of a type had its permit when it gives it up. ``on_change`` is called when a
    permit was given up or is there again, ``on_keep`` with what has one beside waits that go on:
    ``tire`` is to be called until it answers True. ``post`` reaches this event loop, whose token is
    ``home`` and whose clock ``now``.
    """

    permits: Permits
    threads: Permits
    clock: Clock
    lease: float
    suspends: bool
    measure: Callable[[str, float], None]
    on_change: Callable[[], None]
    on_keep: Callable[[Seat], None]
    post: Post
    now: Callable[[], float]
    home: EventLoopToken


class Seat:
    """The seat of ``held``, which has a permit."""

    __slots__ = (
        "_alone",
        "_back",
        "_bells",
        "_granted",
        "_held",
        "_main",
        "_permits",
        "_request",
        "_requests",
        "_seating",
        "_stands_still",
        "_state",
        "_threads_lent",
        "_waits",
        "_watched",
        "closed",
    )

    def __init__(self, held: Held, seating: Seating) -> None:
        self.closed = held.finished
        held.seat = self
        self._held = held
        self._seating = seating
        self._permits = seating.permits
        self._alone = held.attempt.isolate
        self._stands_still = not held.attempt.policy.timeout_includes_waits
        self._main = held.task
        self._state = State.TAKEN
        self._waits: dict[object, Collection[UUID]] = {}
        self._back: set[int] = set()
        self._watched: set[int] | None = None
        self._request: Request | None = None
        self._granted: anyio.Event | None = None
        self._bells: list[Doorbell] | None = None
        self._threads_lent = 0
        self._requests: list[Request] = []

    @property
    def suspended(self) -> bool:
        """Whether the attempt has no permit."""
        return self._state is not State.TAKEN

    @property
    def awaited(self) -> frozenset[UUID]:
        """What it waits for; empty while one of its tasks has gone on since."""
        if self._back:
            return frozenset()
        return frozenset(id for ids in self._waits.values() for id in ids)

    @property
    def seating(self) -> Seating:
        """What it shares with the worker's other seats."""
        return self._seating

    def waiting(self, ids: Collection[UUID]) -> Wait:
        """An async context manager for one wait, on any event loop."""
        return Wait(self, ids)

    @contextmanager
    def heeded(self) -> Generator[anyio.CancelScope]:
        """A scope on another event loop that ends when the attempt is told to stop."""
        scope = anyio.CancelScope()
        bell = Cancel(scope)
        context = self._held.context
        with nullcontext() if context is None else context.heeding(bell), scope:
            yield scope

    @contextmanager
    def waiting_sync(self, ids: Collection[UUID]) -> Generator[None]:
        """The same in a thread of the handler."""
        if on_event_loop():  # who waits is about to be told that it would block this loop
            yield
            return
        wait, bell = object(), Doorbell()
        self._seating.post(partial(self.begin, wait, ids))
        patient = False
        try:
            yield
            patient = True
        finally:
            self._seating.post(partial(self.end_ringing, wait, bell))
            while not bell.wait_sync(PATIENCE) and not self.closed:
                if not patient:  # see ``_seated``
                    self._seating.post(self.hurry)

    def begin(self, wait: object, ids: Collection[UUID]) -> None:
        """A wait begins."""
        if self.closed or self._held.finished:
            return
        self._waits[wait] = ids
        self._back.clear()
        self._give_up()

    async def end(self, wait: object, *, cancelled: bool) -> None:
        """A wait has ended; return with the permit."""
        if self._over(wait):
            return
        try:
            # Once granted, it may be given up again by another task's wait before this one runs.
            while self._state is not State.TAKEN:
                self._take_back()
                await self._seated(cancelled=cancelled)
        finally:
            self._go_on(anyio.get_current_task().id)

    def end_ringing(self, wait: object, bell: Doorbell) -> None:
        """A wait has ended elsewhere; ring when the permit is there."""
        if self._over(wait):
            bell.ring()
            return
        self._take_back()
        self._back.add(self._main)
        if self._waits:
            self._seating.on_keep(self)
        if self._state is State.TAKEN and not self._threads_lent:
            bell.ring()
        else:
            self._bells = [*(self._bells or ()), bell]

    def end_now(self, wait: object) -> None:
        """A wait has ended, and what waited must not wait for a permit."""
        if not self._over(wait):
            self.hurry()
            self._give_up_if_idle()

    def hurry(self) -> None:
        """Wait for no permit: it was told to stop, and has to unwind."""
        if self._state is State.GIVEN_UP:
            return
        request, self._request = self._request, None
        if request is not None and self._permits.withdraw(request):
            self._permits.take(alone=self._alone)
            self._seated_again()
        self._hurry_threads()

    def thread_ended(self) -> bool:
        """A thread of the handler has ended; whether its permit was lent."""
        lent = self._threads_lent > 0
        self._threads_lent -= lent
        return lent

    def tire(self, now: float) -> bool:
        """Give up a permit that was kept for ``KEPT`` seconds beside waits that go on: what took it
        back may be waiting for those, as at the end of a task group, which nobody tells. Answers
        whether there is nothing more to tire of."""
        if self.closed or not self._waits or self._state is not State.TAKEN:
            return True
        if now - self._held.seated_at < KEPT:
            return False
        self._back.clear()
        self._give_up()
        return True

    def close(self) -> None:
        """The handler is over; the permit is there, for whoever took it to give it back."""
        self.closed = True
        if self._state is State.GIVEN_UP:
            self._permits.take(alone=self._alone)
            self._seated_again()
        self.hurry()
        if self._bells:
            self._ring()

    def _over(self, wait: object) -> bool:
        """Strike the wait out; whether there is nothing to come back to."""
        return self._waits.pop(wait, None) is None or self.closed

    def _give_up(self) -> None:
        if self._state is not State.TAKEN or not self._seating.suspends:
            return
        self._state = State.GIVEN_UP
        if self._stands_still:
            self._held.pause()
        self._lend_threads()
        self._held.suspended = True
        now = self._seating.clock.monotonic()
        self._seating.measure(self._held.attempt.type, now - self._held.seated_at)
        self._permits.suspended += 1
        self._permits.give_back(alone=self._alone)
        self._seating.on_change()

    def _take_back(self) -> None:
        if self._state is not State.GIVEN_UP:
            return
        self._state = State.RETURNING
        self._granted = anyio.Event()
        # Granted at once, the request is never seen here.
        request = self._permits.request(self._seated_again, alone=self._alone)
        if self._state is State.RETURNING:
            self._request = request
            if self._held.told_to_stop:
                self.hurry()

    def _seated_again(self) -> None:
        """The permit is there."""
        self._request = None
        self._state = State.TAKEN
        now = self._seating.clock.monotonic()
        self._held.suspended = False
        self._held.resumed, self._held.seated_at = True, now
        self._permits.suspended -= 1
        if self._stands_still:
            self._held.resume(now, grace=self._seating.lease)
        if self._granted is not None:
            self._granted.set()
        self._seating.on_change()
        for _ in range(self._threads_lent):
            self._requests.append(self._seating.threads.request(self._thread_back))
        if not self._threads_lent:
            self._ring()

    async def _seated(self, *, cancelled: bool) -> None:
        """Wait for the permit. What was cancelled goes on as well, if only to clean up; but it may
        be what the others wait for that have the permits, so it waits ``PATIENCE`` at the most."""
        granted = self._granted
        if granted is None:
            return
        try:
            with anyio.move_on_after(PATIENCE if cancelled else math.inf, shield=cancelled):
                await granted.wait()
        except anyio.get_cancelled_exc_class():
            if not cancelled:
                await self._seated(cancelled=True)
            raise
        finally:
            if cancelled:
                self.hurry()

    def _go_on(self, task: int) -> None:
        """This task runs on with the permit, until it waits again or has ended."""
        self._back.add(task)
        if self._waits:
            self._seating.on_keep(self)
        if task == self._main:
            return
        if self._watched is None:
            self._watched = set()
        if task not in self._watched:
            self._watched.add(task)
            on_task_end(partial(self._task_ended, task))

    def _task_ended(self, task: int) -> None:
        if self._watched is not None:
            self._watched.discard(task)
        self._back.discard(task)
        self._give_up_if_idle()

    def _give_up_if_idle(self) -> None:
        """If nothing of it is known to run and something waits, it is idle."""
        if self._waits and not self._back and not self.closed:
            self._give_up()

    def _lend_threads(self) -> None:
        """A thread that waits is none that runs: it does not keep those it waits for from one."""
        for request in self._requests:
            self._seating.threads.withdraw(request)
        self._requests.clear()
        for _ in range(self._held.threads - self._threads_lent):
            self._seating.threads.give_back()
        self._threads_lent = self._held.threads

    def _hurry_threads(self) -> None:
        """As ``hurry``, for threads."""
        requests, self._requests = self._requests, []
        for request in requests:
            if self._seating.threads.withdraw(request):
                self._seating.threads.take()
                self._thread_back()

    def _thread_back(self) -> None:
        if not self._threads_lent:  # it has ended meanwhile
            self._seating.threads.give_back()
            return
        self._threads_lent -= 1
        if not self._threads_lent:
            self._requests.clear()
            self._ring()

    def _ring(self) -> None:
        bells, self._bells = self._bells, None
        for bell in bells or ():
            bell.ring()


class Cancel:
    """A bell that cancels a scope of the event loop on which it was made."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._post = loop_poster()
        self._scope = scope

    def ring(self) -> None:
        """From any thread."""
        self._post(self._scope.cancel)


class Wait:
    """One wait of a handler: an async context manager, for any event loop."""

    def __init__(self, seat: Seat, ids: Collection[UUID]) -> None:
        self._seat = seat
        self._ids = ids
        self._home = current_token() == seat.seating.home
        self._elsewhere: AbstractContextManager[anyio.CancelScope] | None = None

    async def __aenter__(self) -> None:
        if self._home:
            self._seat.begin(self, self._ids)
            return
        self._seat.seating.post(partial(self._seat.begin, self, self._ids))
        self._elsewhere = self._seat.heeded()
        self._elsewhere.__enter__()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cancelled = exc_type is not None and issubclass(exc_type, anyio.get_cancelled_exc_class())
        if self._elsewhere is not None:
            stopped = self._elsewhere.__exit__(exc_type, exc, traceback)
            await self._end_elsewhere(patient=exc_type is None)
            if stopped:
                raise AttemptStopped("the attempt that waits was told to stop") from exc
        elif exc_type is GeneratorExit:  # nothing can be awaited any more
            self._seat.end_now(self)
        else:
            await self._seat.end(self, cancelled=cancelled)

    async def _end_elsewhere(self, *, patient: bool) -> None:
        bell = Doorbell()
        self._seat.seating.post(partial(self._seat.end_ringing, self, bell))
        with anyio.CancelScope(shield=True):
            while not bell.rung and not self._seat.closed:
                with anyio.move_on_after(PATIENCE):
                    await bell.wait()
                if not bell.rung and not patient:
                    self._seat.seating.post(self._seat.hurry)
