"""Who in this process waits for which activity: one watcher, however many futures.

A waiter registers, the store is asked once, then it waits for a hint (design 7.8). Hints and first
questions only mark ids as dirty; one sweep at a time asks the store for all dirty ids together and
rings the waiters whose activity has ended. As a net under lost hints every waiter marks its id
dirty again when nothing came for a while.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from threading import Lock
from typing import Any
from uuid import UUID

import anyio

from taskq.backends import Backend, Hint, Topic, Watch
from taskq.bridge import Bridge, Doorbell
from taskq.clock import Clock
from taskq.errors import BackendUnavailable
from taskq.model import Ended

FIRST_POLL = 1.0
"""Seconds without a hint after which a waiter asks again; doubles up to ``LAST_POLL``."""
LAST_POLL = 5.0
SLOW = 5.0
"""Seconds after which a wait is remarkable."""
MANY = 100
"""More ids than these in one question are given a rest before the next question."""
STUCK = 15.0
"""Seconds after which a sweep that has not ended counts as lost, and another may start."""
LINGER = 5.0
"""Seconds for which the watch stays open when nobody waits any more."""


class _Waiter:
    """One wait. Once ``settled``, ``ended`` is how the activity ended (None: there is none), unless
    ``error`` says why that could not be found out."""

    def __init__(self, id: UUID, since: float) -> None:
        self.id = id
        self.since = since
        self.poll = FIRST_POLL
        self.told = False
        self.bell = Doorbell()
        self.settled = False
        self.ended: Ended | None = None
        self.error: BaseException | None = None

    def settle(self, ended: Ended | None, error: BaseException | None = None) -> None:
        self.ended, self.error, self.settled = ended, error, True
        self.bell.ring()

    def outcome(self) -> Ended | None:
        if self.error is not None:
            raise self.error
        return self.ended


class Watcher:
    """Waits for activities to end, from sync code, asyncio and trio alike.

    ``ready`` is awaited beside the store before each question (it opens the store when needed).
    ``slow`` is run beside the store once for each wait that has lasted ``SLOW`` seconds.
    """

    def __init__(
        self,
        backend: Backend,
        bridge: Bridge,
        clock: Clock,
        *,
        ready: Callable[[], Awaitable[None]],
        slow: Callable[[UUID], Coroutine[Any, Any, None]],
    ) -> None:
        self._backend = backend
        self._bridge = bridge
        self._clock = clock
        self._ready = ready
        self._slow = slow
        self._lock = Lock()
        self._waiters: dict[UUID, list[_Waiter]] = {}
        self._dirty: set[UUID] = set()
        self._sweep_began: float | None = None
        self._watch: Watch | None = None
        self._lingering = False
        self._pause: anyio.CancelScope | None = None

    @property
    def waiting(self) -> int:
        """How many waits there are now."""
        with self._lock:
            return sum(map(len, self._waiters.values()))

    async def wait(self, id: UUID) -> Ended | None:
        """How the activity ended; None when there is no such activity. Cancellable."""
        waiter = self._registered(id)
        try:
            while not waiter.settled:
                with anyio.move_on_after(waiter.poll):
                    await waiter.bell.wait()
                self._again(waiter)
        finally:
            self._unregister(waiter)
        return waiter.outcome()

    def wait_sync(self, id: UUID, timeout: float | None) -> Ended | None:
        """The same for a thread. Raises TimeoutError after ``timeout`` seconds."""
        waiter = self._registered(id)
        end = None if timeout is None else self._clock.monotonic() + timeout
        try:
            while not waiter.settled:
                left = None if end is None else end - self._clock.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError
                waiter.bell.wait_sync(waiter.poll if left is None else min(waiter.poll, left))
                self._again(waiter)
        finally:
            self._unregister(waiter)
        return waiter.outcome()

    def after_fork(self) -> None:
        """In a forked child: nobody waits here."""
        self._lock = Lock()
        self._waiters, self._dirty = {}, set()
        self._sweep_began = self._watch = self._pause = None
        self._lingering = False

    async def aclose(self) -> None:
        """End the watch, without lingering any longer. To be called beside the store."""
        if self._pause is not None:
            self._pause.cancel()
        watch, self._watch = self._watch, None
        if watch is not None:
            await watch.close()

    def _registered(self, id: UUID) -> _Waiter:
        """A new waiter, whose activity is asked for."""
        waiter = _Waiter(id, self._clock.monotonic())
        with self._lock:
            self._waiters.setdefault(id, []).append(waiter)
        try:
            self._ask([id])
        except BaseException:
            self._unregister(waiter)
            raise
        return waiter

    def _again(self, waiter: _Waiter) -> None:
        """Nothing came for a while: ask again, and once say what has been waited for so long."""
        if waiter.settled:
            return
        self._ask([waiter.id])
        waiter.poll = min(LAST_POLL, waiter.poll * 2)
        if not waiter.told and self._clock.monotonic() - waiter.since >= SLOW:
            waiter.told = True
            self._bridge.spawn(self._slow, waiter.id)

    def _unregister(self, waiter: _Waiter) -> None:
        with self._lock:
            others = self._waiters[waiter.id]
            others.remove(waiter)
            if not others:
                del self._waiters[waiter.id]
                self._dirty.discard(waiter.id)
            idle = not self._waiters and not self._lingering and self._watch is not None
            self._lingering = self._lingering or idle
        if idle and self._backend.capabilities.resident:
            self._bridge.spawn(self._linger)

    def _on_hint(self, hint: Hint) -> None:
        with self._lock:
            ids = [id for id in (hint.ids or self._waiters) if id in self._waiters]
        if ids:
            self._ask(ids)

    def _ask(self, ids: Iterable[UUID]) -> None:
        """Have these ids looked up soon. One sweep runs at a time and takes whatever has come."""
        now = self._clock.monotonic()
        with self._lock:
            self._dirty.update(ids)
            if self._sweep_began is not None and now - self._sweep_began < STUCK:
                return
            self._sweep_began = now
        try:
            self._bridge.spawn(self._sweep)
        except BaseException:
            self._sweep_began = None
            raise

    async def _sweep(self) -> None:
        """Beside the store: ask for all dirty ids together until none is left."""
        try:
            while True:
                began = self._clock.monotonic()
                with self._lock:
                    ids, self._dirty = self._dirty, set()
                    self._sweep_began = began if ids else None
                    if not ids:
                        return
                await self._answer(ids)
                if len(ids) > MANY and self._backend.capabilities.resident:
                    await anyio.sleep(min(1.0, 10 * (self._clock.monotonic() - began)))
        except BaseException:  # the bridge is closing: a later question starts a new sweep
            self._sweep_began = None
            raise

    async def _answer(self, ids: set[UUID]) -> None:
        try:
            await self._ready()
            if self._watch is None:
                self._watch = await self._backend.watch({Topic.DONE}, self._on_hint)
            ended = await self._backend.outcomes(ids)
        except BackendUnavailable:
            return  # the waiters ask again by themselves
        except Exception as error:
            self._settle(dict.fromkeys(ids), error)
        else:
            self._settle(ended, None)

    def _settle(self, ended: Mapping[UUID, Ended | None], error: BaseException | None) -> None:
        for id, end in ended.items():
            with self._lock:
                waiters = list(self._waiters.get(id, ()))
            for waiter in waiters:
                waiter.settle(end, error)

    async def _linger(self) -> None:
        """Beside the store: close the watch when nobody has come for a while."""
        with anyio.CancelScope() as self._pause:
            await anyio.sleep(LINGER)
        self._pause = None
        with self._lock:
            self._lingering = False
            idle = not self._waiters
        if idle:
            await self.aclose()
