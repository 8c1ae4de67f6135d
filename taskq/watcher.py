"""Who in this process waits for which activity: one watcher, however many futures.

A wait registers, the store is asked once, then it waits for a hint (design 7.8). Hints and first
questions only mark ids as dirty; one sweep at a time asks the store for all dirty ids together and
rings those who wait for what has ended. As a net under lost hints every wait marks its ids dirty
again when nothing came for a while. Waiting for many activities is one wait, with one bell.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import closing
from threading import Lock
from typing import Any, Self
from uuid import UUID

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct

from taskq.backends import Backend, Hint, Topic, Watch
from taskq.bridge import Bridge, Doorbell
from taskq.clock import Clock
from taskq.context import heeding
from taskq.errors import AttemptStopped, BackendUnavailable
from taskq.model import Ended

FIRST_POLL = 1.0
"""Seconds without a hint after which a wait asks again; doubles up to ``LAST_POLL``."""
LAST_POLL = 5.0
SLOW = 5.0
"""Seconds after which a wait is remarkable."""
MANY = 100
"""More ids than these in one question are given a rest before the next question."""
STUCK = 15.0
"""Seconds after which a sweep that has not ended counts as lost, and another may start."""
LINGER = 5.0
"""Seconds for which the watch stays open when nobody waits any more."""


class _Answer(Struct, frozen=True):
    """How one activity ended (None: there is none), unless ``error`` says why nobody can tell."""

    id: UUID
    ended: Ended | None
    error: BaseException | None = None

    def outcome(self) -> tuple[UUID, Ended | None]:
        if self.error is not None:
            raise self.error
        return self.id, self.ended


class _Wait:
    """One wait, for one activity or for many. ``pending`` changes under the watcher's lock;
    ``answers`` came and were not taken yet."""

    def __init__(self, ids: Iterable[UUID], since: float) -> None:
        self.pending = set(ids)
        self.since = since
        self.poll = FIRST_POLL
        self.told = False
        self.bell = Doorbell()
        self.answers = deque[_Answer]()


class Linger:
    """The rest of a watch that nobody needs any more, in case somebody comes soon.

    An object of its own, so that it can be ended at exit without keeping the watcher alive.
    """

    def __init__(self) -> None:
        self._pause: anyio.CancelScope | None = None

    async def last(self) -> None:
        """Return after ``LINGER`` seconds, or when it is ended."""
        with anyio.CancelScope() as self._pause:
            await anyio.sleep(LINGER)
        self._pause = None

    async def end(self) -> None:
        """No longer. Beside the store."""
        if self._pause is not None:
            self._pause.cancel()


class Watcher:
    """Waits for activities to end, from sync code, asyncio and trio alike.

    ``ready`` is awaited beside the store before each question (it opens the store when needed).
    ``slow`` is run beside the store once for each wait that has lasted ``SLOW`` seconds, with one
    of the ids that it still waits for and the number of the others.
    """

    def __init__(
        self,
        backend: Backend,
        bridge: Bridge,
        clock: Clock,
        *,
        ready: Callable[[], Awaitable[None]],
        slow: Callable[[UUID, int], Coroutine[Any, Any, None]],
    ) -> None:
        self._backend = backend
        self._bridge = bridge
        self._clock = clock
        self._ready = ready
        self._slow = slow
        self._lock = Lock()
        self._waits: set[_Wait] = set()
        self._waiters: dict[UUID, list[_Wait]] = {}
        self._abandoned = deque[_Wait]()
        self._dirty: set[UUID] = set()
        self._sweep_began: float | None = None
        self._watch: Watch | None = None
        self._lingering = False
        self.linger = Linger()

    @property
    def waiting(self) -> int:
        """How many waits there are now."""
        with self._lock:
            self._drop_abandoned()
            return len(self._waits)

    async def wait(self, id: UUID) -> Ended | None:
        """How the activity ended; None when there is no such activity. Cancellable."""
        with closing(self.wait_each([id])) as endings:
            _, ended = await anext(endings)
        return ended

    def wait_each(self, ids: Iterable[UUID]) -> WatchedEndings:
        """How these activities end, each once, as they do. One wait, however many they are."""
        return WatchedEndings(self, frozenset(ids))

    def wait_sync(self, id: UUID, timeout: float | None) -> Ended | None:
        """As ``wait`` for a thread. Raises TimeoutError after ``timeout`` seconds, AttemptStopped
        in a handler that is told to stop meanwhile."""
        wait = self.register([id])
        end = None if timeout is None else self._clock.monotonic() + timeout
        try:
            with heeding(wait.bell) as stopped:
                while not wait.answers:
                    left = None if end is None else end - self._clock.monotonic()
                    if stopped():
                        raise AttemptStopped(f"the attempt that waits for {id} was told to stop")
                    if left is not None and left <= 0:
                        raise TimeoutError
                    wait.bell.wait_sync(wait.poll if left is None else min(wait.poll, left))
                    self.ask_again(wait)
        finally:
            self.unregister(wait)
        _, ended = wait.answers.popleft().outcome()
        return ended

    def after_fork(self) -> None:
        """In a forked child: nobody waits here."""
        self._lock = Lock()
        self._waits, self._waiters, self._dirty = set(), {}, set()
        self._abandoned.clear()
        self._sweep_began = self._watch = None
        self.linger = Linger()
        self._lingering = False

    async def aclose(self) -> None:
        """End the watch, without lingering any longer. To be called beside the store."""
        await self.linger.end()
        watch, self._watch = self._watch, None
        if watch is not None:
            await watch.close()

    def register(self, ids: Iterable[UUID]) -> _Wait:
        """A new wait, whose activities are asked for."""
        wait = _Wait(ids, self._clock.monotonic())
        with self._lock:
            self._drop_abandoned()
            self._waits.add(wait)
            for id in wait.pending:
                self._waiters.setdefault(id, []).append(wait)
        try:
            self._ask(wait.pending)
        except BaseException:
            self.unregister(wait)
            raise
        return wait

    def ask_again(self, wait: _Wait) -> None:
        """If nothing came for a while: ask again, and once say what was waited for so long."""
        if wait.answers:
            return
        self._ask(wait.pending)
        wait.poll = min(LAST_POLL, wait.poll * 2)
        if not wait.told and self._clock.monotonic() - wait.since >= SLOW:
            wait.told = True
            with self._lock:
                one, others = next(iter(wait.pending), None), len(wait.pending) - 1
            if one is not None:
                self._bridge.spawn(self._slow, one, others)

    def unregister(self, wait: _Wait) -> None:
        """Nobody waits for this any more."""
        self.abandon(wait)
        self._tidy()

    def abandon(self, wait: _Wait) -> None:
        """The same for a finalizer, which may run anywhere and must not take the lock."""
        self._abandoned.append(wait)

    def _tidy(self) -> None:
        """Forget what was abandoned; when nobody waits any more, let the watch end in a while."""
        with self._lock:
            self._drop_abandoned()
            idle = not self._waits and not self._lingering and self._watch is not None
            self._lingering = self._lingering or idle
        if idle and self._backend.capabilities.resident:
            self._bridge.spawn(self._linger)

    def _drop_abandoned(self) -> None:
        while self._abandoned:
            self._drop(self._abandoned.popleft())

    def _drop(self, wait: _Wait) -> None:
        self._waits.discard(wait)
        for id in wait.pending:
            others = self._waiters.get(id, [])
            if wait in others:
                others.remove(wait)
            if not others:
                self._waiters.pop(id, None)
        wait.pending.clear()

    def _on_hint(self, hint: Hint) -> None:
        if self._abandoned:
            self._tidy()
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
                    ids, self._dirty = self._dirty & self._waiters.keys(), set()
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
            return  # whoever waits asks again
        except Exception as error:
            self._settle(dict.fromkeys(ids), error)
        else:
            self._settle(ended, None)

    def _settle(self, ended: Mapping[UUID, Ended | None], error: BaseException | None) -> None:
        told: set[_Wait] = set()
        with self._lock:
            for id, end in ended.items():
                for wait in self._waiters.pop(id, ()):
                    wait.answers.append(_Answer(id, end, error))
                    wait.pending.discard(id)
                    told.add(wait)
        for wait in told:
            wait.bell.ring()

    async def _linger(self) -> None:
        """Beside the store: close the watch when nobody has come for a while."""
        await self.linger.last()
        with self._lock:
            self._lingering = False
            idle = not self._waits
        if idle:
            await self.aclose()


class WatchedEndings:
    """How activities end, one after another: an async iterator of (id, how it ended or None).

    It waits from its first ``__anext__`` on, until it has given all or ``close`` was called; one
    that is dropped before is forgotten. Being cancelled loses nothing: it may be asked again.
    """

    def __init__(self, watcher: Watcher, ids: Collection[UUID]) -> None:
        self._watcher = watcher
        self._ids = ids
        self._left = len(ids)
        self._wait: _Wait | None = None

    @property
    def ready(self) -> bool:
        """Whether the next one would come without waiting."""
        return self._left == 0 or (self._wait is not None and bool(self._wait.answers))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[UUID, Ended | None]:
        if self._left == 0:
            raise StopAsyncIteration
        if self._wait is None:
            self._wait = self._watcher.register(self._ids)
        wait = self._wait
        if wait.answers:
            await checkpoint()
        while not wait.answers:
            wait.bell.clear()
            if wait.answers:
                break
            with anyio.move_on_after(wait.poll):
                await wait.bell.wait()
            self._watcher.ask_again(wait)
        return self._taken(wait)

    def close(self) -> None:
        """Wait no longer. Safe to repeat."""
        self._left = 0
        wait, self._wait = self._wait, None
        if wait is not None:
            self._watcher.unregister(wait)

    def _taken(self, wait: _Wait) -> tuple[UUID, Ended | None]:
        answer = wait.answers.popleft()
        self._left -= 1
        if self._left == 0:
            self.close()
        return answer.outcome()

    def __del__(self) -> None:
        if self._wait is not None:
            self._watcher.abandon(self._wait)
