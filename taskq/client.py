"""The app's hold on its store: opens it on first use, serves call-sites on any thread or loop."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Collection, Coroutine, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar, TypeVarTuple
from uuid import UUID

import anyio

from taskq.backends import CallerTransaction, Cancellation, Enlisted, Store, Transactional
from taskq.bounds import Patience, blocks, check_batch
from taskq.bridge import Bridge, DirectBridge, Doorbell, ResidentBridge
from taskq.bridge.running import on_event_loop
from taskq.clock import Clock
from taskq.context import current_or_none
from taskq.errors import (
    ActivityNotFound,
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    EnqueueTimeout,
    InvalidState,
    QueueFull,
    ResultTimeout,
)
from taskq.events import Enqueued, EnqueueFailed
from taskq.future import Tracker
from taskq.identifiers import new_id
from taskq.lineage import LONGEST_CHAIN, chain
from taskq.logs import blocking_delay, opened, still_waiting
from taskq.model import Activity, Ended, Receipt, Status
from taskq.options import TaskOptions
from taskq.outbox import ROWS, Outbox
from taskq.publisher import Publisher
from taskq.settings import Settings
from taskq.snapshot import ActivityInfo
from taskq.task import Effective
from taskq.transaction import EnlistedTracker
from taskq.watcher import Linger, WatchedEndings, Watcher

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Record = Callable[[Sequence[Activity[Any]]], Coroutine[Any, Any, list[Receipt]]]
"""One of the store's methods that stores calls, with what it writes down besides."""


class Companion(Protocol):
    """Something else that is open beside the store, on the same bridge."""

    @property
    def is_open(self) -> bool:
        """Whether there is anything to close."""
        ...

    async def close(self) -> None:
        """Close it, beside the store. Safe to repeat."""
        ...


class Opening:
    """Whether the store is open, as far as this process's client knows."""

    done = False


class WouldBlock(RuntimeError):
    """Blocking here would stop an event loop. No retry of a handler that does it would help."""

    retryable = False


class StoreClient:
    """Submits, waits, looks and cancels. Thread-safe; any event loop; survives fork."""

    def __init__(
        self,
        store: Store,
        *,
        owner: object,
        effective: Callable[[TaskOptions], Effective],
        settings: Settings,
        clock: Clock,
        publisher: Publisher,
    ) -> None:
        self.store = store
        self.owner = owner
        self._effective = effective
        self.max_depth = settings.max_depth
        self.max_generations = settings.max_generations
        self.new_id = new_id
        resident = store.capabilities.resident
        self.bridge: Bridge = ResidentBridge() if resident else DirectBridge()
        self.bridge.on_fork(self._after_fork)
        self._settings = settings
        self._publisher = publisher
        self._clock = clock
        self._outbox = Outbox(store.submit, self.bridge.spawn)
        self._opening = Opening()
        self._companions: weakref.WeakSet[Companion] = weakref.WeakSet()
        self._blocking_places: set[str] = set()
        self._watcher = Watcher(
            store, self.bridge, clock, ready=self.ready, slow=self._say_what_is_awaited
        )
        weakref.finalize(self, _let_go, self.bridge, store, self._opening, self._watcher.linger)

    def effective(self, options: TaskOptions) -> Effective:
        """These options, completed by those of the queue, of the app and the defaults."""
        return self._effective(options)

    @property
    def is_open(self) -> bool:
        """Whether the store is open now."""
        return self._opening.done

    @property
    def waiting(self) -> int:
        """How many wait for an activity in this process."""
        return self._watcher.waiting

    def accompany(self, companion: Companion) -> None:
        """Have this closed when the store is: what it has open lives on the same event loop, and
        ends with that. It is held weakly."""
        self._companions.add(companion)

    async def ready(self) -> None:
        """Beside the store: open it unless it is open."""
        if not self._opening.done:
            await self.store.open()
            self._opening.done = True
            opened(self.store.location)

    async def call(
        self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts, deadline: float = 30.0
    ) -> T:
        """Run one of the store's methods, opening the store first, from any event loop."""
        return await self.bridge.call(self._with_store, function, args, deadline=deadline)

    def call_sync(
        self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts, deadline: float = 30.0
    ) -> T:
        """The same from a thread; blocks."""
        return self.bridge.call_sync(self._with_store, function, args, deadline=deadline)

    def submit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """Store calls; blocks until they are committed, for ``enqueue_timeout`` at the most."""
        seconds = self._settings.enqueue_timeout
        if on_event_loop():
            self._say_that_it_blocks(activities[0].type)
            if current_or_none() is not None:
                seconds = min(seconds, self._settings.worker_enqueue_timeout)
        with self._storing(activities, seconds):
            receipts = self._stored_with_room(activities, seconds)
        return self._published(activities, receipts)

    async def asubmit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """The same without blocking the event loop."""
        seconds = self._settings.enqueue_timeout
        with self._storing(activities, seconds):
            receipts = await self._astored_with_room(activities, seconds)
        return self._published(activities, receipts)

    def submit_on_record(
        self, activities: Sequence[Activity[Any]], record: Record
    ) -> list[Receipt]:
        """Store calls that an operator makes; where a queue is full, nobody waits for room."""
        with self._storing(activities):
            receipts = self.call_sync(record, activities)
        return self._published(activities, receipts)

    async def asubmit_on_record(
        self, activities: Sequence[Activity[Any]], record: Record
    ) -> list[Receipt]:
        """The same without blocking the event loop."""
        with self._storing(activities):
            receipts = await self.call(record, activities)
        return self._published(activities, receipts)

    def enlist(
        self, activities: Sequence[Activity[Any]], transaction: CallerTransaction
    ) -> EnlistedTracker:
        """Store calls in a transaction of the caller's, here and now; blocks meanwhile."""
        store = self._transactional()
        if on_event_loop():
            self._say_that_it_blocks(activities[0].type)
        with self._storing(activities):
            enlisted = store.enlist(activities, transaction)
        return self._enlisted(activities, enlisted)

    async def aenlist(
        self, activities: Sequence[Activity[Any]], transaction: CallerTransaction
    ) -> EnlistedTracker:
        """The same on the caller's event loop, with what is awaited."""
        store = self._transactional()
        with self._storing(activities):
            enlisted = await store.aenlist(activities, transaction)
        return self._enlisted(activities, enlisted)

    async def wait(self, id: UUID) -> Ended | None:
        """How an activity ended; None if there is no such activity."""
        return await self._watcher.wait(id)

    async def wait_within(self, id: UUID, timeout: float | None) -> Ended | None:
        """The same with the timeout of ``wait_sync``. Raises ResultTimeout."""
        with anyio.move_on_after(timeout):
            return await self._watcher.wait(id)
        try:
            known = await self.bridge.call(self._known, id, deadline=2.0)
        except BackendUnavailable as error:
            known = str(error)
        raise self._timed_out(timeout, known)

    def wait_each(self, ids: Collection[UUID]) -> WatchedEndings:
        """How activities end, as they do."""
        return self._watcher.wait_each(ids)

    def committed(self, id: UUID) -> Tracker:
        """What was stored without a transaction of the caller's is committed."""
        return self

    def wait_sync(self, id: UUID, timeout: float | None) -> Ended | None:
        """The same for a thread."""
        if on_event_loop():
            raise WouldBlock(
                "result() would block this thread's event loop, and with it perhaps the worker that"
                " is to give the result: await it"
            )
        try:
            return self._watcher.wait_sync(id, timeout)
        except TimeoutError:
            raise self._result_timeout(id, timeout) from None

    async def ainfo(self, id: UUID) -> ActivityInfo:
        """A snapshot."""
        return _found(id, (await self.call(self.store.get, [id])).get(id))

    def info(self, id: UUID) -> ActivityInfo:
        """The same for sync code."""
        return _found(id, self.call_sync(self.store.get, [id]).get(id))

    def callers(self, id: UUID) -> str:
        """The types from an activity's root down to it, as far as the store tells."""
        try:
            return self.call_sync(self._callers, id, deadline=2.0)
        except BackendError:
            return ""

    async def acallers(self, id: UUID) -> str:
        """The same without blocking the event loop."""
        try:
            return await self.call(self._callers, id, deadline=2.0)
        except BackendError:
            return ""

    async def _callers(self, id: UUID) -> str:
        """Beside the store: one look-up by id for each generation."""
        types: list[str] = []
        above: UUID | None = id
        while above is not None and len(types) < LONGEST_CHAIN:
            info = (await self.store.get([above])).get(above)
            if info is None:
                break
            types.append(info.type)
            above = info.parent_id
        return chain(types[::-1], whole=above is None)

    async def acancel(self, id: UUID, *, tree: bool = False) -> bool:
        """Request a cancel; False where it is cancelled already."""
        met = await self.call(partial(self.store.cancel, tree=tree), [id])
        return _accepted(id, _found(id, met.get(id)))

    def cancel(self, id: UUID, *, tree: bool = False) -> bool:
        """The same for sync code."""
        met = self.call_sync(partial(self.store.cancel, tree=tree), [id])
        return _accepted(id, _found(id, met.get(id)))

    def close(self) -> None:
        """Give back connections and the storage thread. The next use opens them again."""
        try:
            if self._anything_open():
                self.bridge.call_sync(self._closed)
        finally:
            self.bridge.close()

    async def aclose(self) -> None:
        """The same without blocking the event loop."""
        try:
            if self._anything_open():
                await self.bridge.call(self._closed)
        finally:
            await self.bridge.aclose()

    async def _with_store(
        self, function: Callable[[*Ts], Coroutine[Any, Any, T]], args: tuple[*Ts]
    ) -> T:
        await self.ready()
        return await function(*args)

    def _stored_with_room(
        self, activities: Sequence[Activity[Any]], seconds: float
    ) -> list[Receipt]:
        """Submit; where a queue is full whose calls are to wait, again and again."""
        patience, left = Patience(self._clock, activities, seconds), seconds
        while True:
            try:
                return self.bridge.call_sync(self._stored, activities, left, deadline=left)
            except QueueFull as full:
                Doorbell().wait_sync(patience.after(full))
            left = patience.left

    async def _astored_with_room(
        self, activities: Sequence[Activity[Any]], seconds: float
    ) -> list[Receipt]:
        """The same without blocking the event loop."""
        patience, left = Patience(self._clock, activities, seconds), seconds
        while True:
            try:
                return await self.bridge.call(self._stored, activities, left, deadline=left)
            except QueueFull as full:
                pause = patience.after(full)
            await anyio.sleep(pause)
            left = patience.left

    async def _stored(self, activities: Sequence[Activity[Any]], seconds: float) -> list[Receipt]:
        """Beside the store: submit, again and again while it is unavailable (ids make it safe)."""
        end = self._clock.monotonic() + seconds
        pause = 0.05
        few = self.store.capabilities.resident and len(activities) <= ROWS
        together = few and not any(each.idempotency or each.needs_room for each in activities)
        submit = self._outbox.store if together else self.store.submit
        while True:
            try:
                await self.ready()
                return await submit(activities)
            except BackendUnavailable:
                if not self.store.capabilities.resident or self._clock.monotonic() + pause > end:
                    raise
            await anyio.sleep(pause)
            pause = min(1.0, pause * 2)

    def _say_that_it_blocks(self, type: str) -> None:
        """Once for each line of code outside taskq that blocks an event loop by ``delay``."""
        frame = inspect.currentframe()
        while frame is not None and frame.f_globals.get("__name__", "").startswith("taskq."):
            frame = frame.f_back
        place = "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if place not in self._blocking_places:
            self._blocking_places.add(place)
            blocking_delay(type, place)

    def _transactional(self) -> Transactional:
        store = self.store
        if store.capabilities.transactional and isinstance(store, Transactional):
            return store
        raise ConfigurationError(
            f"{type(store).__name__} cannot store calls in a transaction of its caller's; the"
            " backends for PostgreSQL and SQLite can"
        )

    def _enlisted(self, activities: Sequence[Activity[Any]], enlisted: Enlisted) -> EnlistedTracker:
        if self._publisher.listened:
            enlisted.on_commit(partial(self._publish, activities, enlisted.receipts))
        return EnlistedTracker(enlisted, self)

    def _published(
        self, activities: Sequence[Activity[Any]], receipts: list[Receipt]
    ) -> list[Receipt]:
        self._publish(activities, receipts)
        return receipts

    def _publish(self, activities: Sequence[Activity[Any]], receipts: Sequence[Receipt]) -> None:
        for activity, receipt in zip(activities, receipts, strict=True):
            self._publisher.publish(
                Enqueued(activity=activity, id=receipt.id, created=receipt.created)
            )

    @contextmanager
    def _storing(
        self, activities: Sequence[Activity[Any]], seconds: float | None = None
    ) -> Generator[None]:
        """Listeners are told what was not stored; what could not be within ``seconds`` is an
        EnqueueTimeout."""
        check_batch(activities)
        try:
            yield
        except Exception as error:
            for activity in activities:
                self._publisher.publish(EnqueueFailed(activity=activity, error=error))
            if seconds is not None and isinstance(error, BackendUnavailable):
                raise self._enqueue_timeout(activities, seconds, error) from error
            if seconds is None or not isinstance(error, QueueFull) or not blocks(activities, error):
                raise
            raise EnqueueTimeout(f"no room within {seconds:g} s: {error}") from error

    def _enqueue_timeout(
        self, activities: Sequence[Activity[Any]], seconds: float, error: BackendUnavailable
    ) -> EnqueueTimeout:
        what = activities[0].type if len(activities) == 1 else f"{len(activities)} activities"
        return EnqueueTimeout(
            f"{what} could not be stored within {seconds:g} s in {self.store.location}: {error}."
            " If this program has a transaction open on the same database, end it first. The call"
            " may have been stored all the same; an idempotency_key makes calling again safe"
        )

    def _result_timeout(self, id: UUID, timeout: float | None) -> ResultTimeout:
        """What is known about an activity that was waited for in vain."""
        try:
            known = self.call_sync(self._known, id, deadline=2.0)
        except BackendUnavailable as error:
            known = str(error)
        return self._timed_out(timeout, known)

    def _timed_out(self, timeout: float | None, known: str) -> ResultTimeout:
        location = self.store.location
        return ResultTimeout(f"no result within {timeout} s: {known} (database: {location})")

    async def _known(self, id: UUID) -> str:
        """Beside the store: what can be said about an activity that is waited for."""
        info = (await self.store.get([id])).get(id)
        if info is None:
            return f"there is no activity {id}"
        message = f"{info.type} {id} is still {info.status}"
        if info.error is not None:
            message += f" (its latest attempt: {info.error.type}: {info.error.message})"
        unserved = await self.store.unserved()
        if any((gap.queue, gap.type) == (info.queue, info.type) for gap in unserved):
            message += f"; no live worker serves type {info.type!r} on queue {info.queue!r}"
        return message

    async def _say_what_is_awaited(self, id: UUID, others: int) -> None:
        """Beside the store: a wait without end should not be a silent one."""
        try:
            known = await self._known(id)
            if await self.store.outcomes([id]):
                return  # its end has just come
        except BackendUnavailable as error:
            known = str(error)
        more = f", and {others} others are waited for with it" if others else ""
        still_waiting(f"still waiting: {known}{more} (database: {self.store.location})")

    def _after_fork(self) -> None:
        self._opening.done = False
        self.store.after_fork()
        self._watcher.after_fork()

    def _anything_open(self) -> bool:
        return self._opening.done or any(each.is_open for each in tuple(self._companions))

    async def _closed(self) -> None:
        was_open, self._opening.done = self._opening.done, False
        try:
            for each in tuple(self._companions):
                await each.close()
        finally:
            if was_open:
                await self._watcher.aclose()
                await self.store.close()


def _found(id: UUID, found: T | None) -> T:
    if found is None:
        raise ActivityNotFound(f"there is no activity {id}", id=id)
    return found


def _accepted(id: UUID, met: Cancellation) -> bool:
    if met.accepted or met.status is Status.CANCELLED:
        return met.accepted
    raise InvalidState(f"activity {id} cannot be cancelled: it has ended {met.status}")


def _let_go(bridge: Bridge, store: Store, opening: Opening, linger: Linger) -> None:
    """Close what an app that nobody closed has left open: when it is dropped, or at exit."""
    if opening.done:
        bridge.spawn(linger.end)
        bridge.spawn(store.close)
    bridge.close()
