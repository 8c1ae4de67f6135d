"""The engine: runs the activities of one worker in one process (design 7).

It claims activities, runs their handlers, and records one outcome each. Who does what is drawn in
``parts.py``; how it ends is written down in ``shutdown.py``. Everything runs on the event loop that
called ``run``, asyncio or trio, except the keeper, which runs beside the store.

The rooms follow an activity: ``claiming``, ``running``, ``recording``. ``keeping`` holds on to what
is claimed, ``upkeep`` is what any worker does for all. What they stand on is here: ``ground``.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from uuid import UUID

import anyio
from anyio.abc import TaskGroup, TaskStatus

from taskq.backends import Store
from taskq.bridge import Bridge, Doorbell, loop_poster
from taskq.bridge.poster import Post
from taskq.clock import Clock
from taskq.engine.access import Access
from taskq.engine.claiming.holdings import Holdings
from taskq.engine.ground import Ground
from taskq.engine.health import Health, State, Stuck
from taskq.engine.keeping.pulse import LEAST
from taskq.engine.options import EngineOptions
from taskq.engine.parts import Parts
from taskq.engine.report import ErrorLog
from taskq.engine.running.failure import sole
from taskq.engine.running.handler import Handler
from taskq.engine.running.outside import Processes
from taskq.engine.running.permits import Permits
from taskq.engine.supervisor import IDLE, Loop, Supervisor
from taskq.errors import InvalidState
from taskq.events import OPENING, Event, WorkerStarted, WorkerStopped, WorkerStopping
from taskq.middleware import Middleware
from taskq.model import Attempt
from taskq.schedule import Schedule
from taskq.snapshot import WorkerInfo

__all__ = ("Engine", "EngineOptions", "ErrorLog", "Handler", "Health", "State", "Stuck")

LONGEST_CALL = 30.0
"""Seconds after which a call to the store has failed, if no lease is shorter."""


class Engine:
    """One worker. It runs once; its ``id`` is fresh, whatever the name of the host (fault:A9).

    ``backend`` is open, and reached by ``bridge``. ``handlers`` maps activity types to what runs
    them. ``schedules`` are put into the store when it starts. ``emit`` publishes events and does
    not raise; it is called on the thread where something happened. ``owner`` becomes
    ``current().owner``. ``random`` gives numbers in 0 to 1. ``dump`` writes the stacks of all
    threads somewhere; it is called when the event loop is stuck. ``processes`` are those in which
    some of the handlers run; they are ended with it. ``reserved`` are handlers that run besides
    what the options say, each by the name of a queue and of the type in it.

    Raises ConfigurationError when the options ask for types without handler.
    """

    def __init__(
        self,
        backend: Store,
        *,
        bridge: Bridge,
        handlers: Mapping[str, Handler],
        options: EngineOptions,
        clock: Clock,
        emit: Callable[[Event], None],
        owner: object,
        new_id: Callable[[], UUID],
        random: Callable[[], float],
        middleware: Sequence[Middleware] = (),
        schedules: Sequence[Schedule] = (),
        dump: Callable[[], None] = lambda: None,
        processes: Processes | None = None,
        reserved: Mapping[str, Handler] = MappingProxyType({}),
        hide: Callable[[Attempt, str], str] = lambda _, text: text,
    ) -> None:
        self.id = new_id()
        self._types = options.claimed_types(handlers)
        self._reserved = dict(reserved)
        self._options = options
        self._backend = backend
        self._bridge = bridge
        self._handlers = dict(handlers)
        self._middleware = tuple(middleware)
        self._schedules = tuple(schedules)
        self._owner = owner
        self._clock = clock
        self._emit = emit
        self._new_id = new_id
        self._random = random
        self._dump = dump
        self._processes = processes
        self._hide = hide
        self._supervisor = Supervisor(
            worker=self.id,
            clock=clock,
            emit=emit,
            random=random,
            patience=options.lease + max(options.reaper_interval, options.poll_max, IDLE),
            longest=options.lease / 4,
        )
        self._state = State.NEW
        self._grace = math.inf
        self._stop_bell = Doorbell()
        self._grace_bell = Doorbell()
        self._parts: Parts | None = None
        self._announced = False
        self._left = False
        self._drained = False
        self._failure: BaseException | None = None
        self._obstacle: BaseException | None = None

    @property
    def options(self) -> EngineOptions:
        """How it was told to run."""
        return self._options

    @property
    def errors(self) -> ErrorLog:
        """What background loops met and survived."""
        return self._supervisor.errors

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stop_bell.rung

    async def stop_requested(self) -> None:
        """Wait until it is told to stop."""
        await self._stop_bell.wait()

    def stop(self, grace: float | None = None) -> None:
        """Stop: no further claim, ``grace`` seconds for running handlers, then cancel them.

        None is ``shutdown_grace``. From any thread, returns at once. Said again it can only make
        the time shorter: ``stop(0)`` means now. Said before ``run``, nothing is run (seed:E20).
        """
        seconds = self._options.shutdown_grace if grace is None else grace
        if not 0 <= seconds < math.inf:
            raise ValueError(f"grace must be a finite number of seconds, 0 or more, not {grace!r}")
        self._grace = min(self._grace, seconds)
        self._stop_bell.ring()
        self._grace_bell.ring()

    def cannot_open(self, error: BaseException) -> None:
        """The store could not be opened; whoever is to run this engine tries again."""
        self._obstacle = error
        self._supervisor.report(OPENING, error)

    def close(self) -> None:
        """It runs no more, or will never run: readers of ``errors`` end. Safe to repeat."""
        self._state = State.STOPPED
        self.errors.close()

    @property
    def stuck(self) -> Stuck | None:
        """Whether it should be replaced, from any thread."""
        parts = self._parts
        if parts is None:
            return None
        if parts.pulse.stuck:
            return Stuck.LOOP
        return Stuck.SLOTS if parts.slots.all_stuck else None

    @property
    def patience(self) -> float:
        """Seconds for which its event loop may be silent before it counts as stuck, from any
        thread; infinite while something runs that has no timeout."""
        return LEAST if self._parts is None else self._parts.pulse.patience

    @property
    def drained(self) -> bool:
        """Whether a burst has come to its end: nothing was left to do. From any thread."""
        return self._drained

    def health(self) -> Health:
        """How it fares, from any thread."""
        parts = self._parts
        reasons = [] if self._state is State.RUNNING else [f"the worker is {self._state}"]
        if self._state is State.NEW and self._obstacle is not None:
            reasons.append(f"the store cannot be opened: {self._obstacle}")
        reasons += [f"{name} makes no progress" for name in self._supervisor.stalled()]
        if parts is not None and parts.slots.all_stuck:
            reasons.append("every slot is held by a thread past its timeout")
        if parts is not None and parts.deadlock.found:
            reasons.append("every slot is held by a handler that waits for another activity")
        if parts is not None and parts.pulse.stuck:
            reasons.append("the event loop is stuck")
        return Health(
            state=self._state,
            healthy=not reasons,
            reasons=tuple(reasons),
            slots=self._options.concurrency,
            slots_used=parts.permits.used if parts is not None else 0,
            suspended=parts.permits.suspended if parts is not None else 0,
            threads_stuck=parts.permits.stuck if parts is not None else 0,
            last_progress=self._supervisor.ages(),
        )

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run until stopped; with ``burst``, until drained.

        Drained means: everything that it ran is recorded, nothing is due, and no activity of its
        queues and types can be claimed. What is scheduled or to be retried later is not waited for.

        Cancelled, it stops with no grace: handlers are cancelled and put back, what finished is
        recorded, all within about three seconds. Returns in time also when the store is gone. Only
        a handler that swallows its cancellation keeps this from returning.

        Raises InvalidState when called a second time.
        """
        if self._state is not State.NEW:
            raise InvalidState(f"an engine runs once, and this one is {self._state}")
        self._state = State.RUNNING
        try:
            if not self.stopping:
                await self._run(task_status)
        finally:
            self.close()
        if self._failure is not None:
            raise self._failure

    async def _run(self, task_status: TaskStatus[None]) -> None:
        """Serve in a task that nothing outside can cancel: cancelling this one means stop now."""
        ended = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._serve, task_status, ended)
            try:
                await ended.wait()
            except anyio.get_cancelled_exc_class():
                self.stop(0)
                raise

    async def _serve(self, task_status: TaskStatus[None], ended: anyio.Event) -> None:
        with anyio.CancelScope(shield=True):
            parts = self._parts = self._assembled(loop_poster())
            try:
                async with anyio.create_task_group() as lifeline:
                    await self._live(parts, lifeline, task_status)
                    lifeline.cancel_scope.cancel()
            except Exception as error:
                self._failure = sole(error)
            finally:
                await self._leave(parts)
                if self._processes is not None:
                    await self._processes.aclose()
                ended.set()

    async def _live(self, parts: Parts, lifeline: TaskGroup, task_status: TaskStatus[None]) -> None:
        """From the first claim to the last outcome. The lifeline outlives the slots."""
        lifeline.start_soon(self._heed_stops, parts)
        keeping = self._start(lifeline, "keeper", partial(self._keep, parts))
        self._start(lifeline, "ledger", parts.ledger.run)
        self._start(lifeline, "fence", parts.fence.run)
        self._start(lifeline, "canceller", parts.canceller.run)
        self._start(lifeline, "deadlines", parts.deadlines.run)
        self._start(lifeline, "hints", parts.hints.run)
        if not self._options.suspend_on_await:
            self._start(lifeline, "deadlock", parts.deadlock.run)
        self._start(lifeline, "reporter", parts.reporter.run)
        self._start(lifeline, "controls", parts.controls.run)
        if self._processes is not None:
            self._start(lifeline, "processes", partial(self._tidy, self._processes))
        async with anyio.create_task_group() as slots:
            slots.start_soon(parts.slots.run)
            intake = (
                *self._scheduling(lifeline, parts),
                self._start(lifeline, "dispatcher", partial(self._dispatch, parts)),
                self._start(lifeline, "promoter", parts.promoter.run),
                self._start(lifeline, "reaper", parts.reaper.run),
                self._start(lifeline, "pruner", parts.pruner.run),
            )
            task_status.started()
            await self._stop_bell.wait()
            self._heed(parts)
            await parts.shutdown.finish(intake=intake, keeping=keeping)
            self._left = True
            self._emit(WorkerStopped(worker=self.id))
            slots.cancel_scope.cancel()

    def _scheduling(self, group: TaskGroup, parts: Parts) -> list[Loop]:
        """A burst ends when there is nothing to do: it makes nothing to do."""
        if self._options.burst or not self._options.schedules:
            return []
        return [self._start(group, "scheduler", parts.scheduler.run)]

    def _start(self, group: TaskGroup, name: str, work: Callable[[], Awaitable[None]]) -> Loop:
        loop = Loop()
        group.start_soon(loop.run, partial(self._supervisor.supervise, name, work))
        return loop

    async def _tidy(self, processes: Processes) -> None:
        while True:
            await processes.tidy()
            self._supervisor.progress("processes")
            await anyio.sleep(IDLE)

    async def _keep(self, parts: Parts) -> None:
        await self._bridge.call(parts.keeper.run, deadline=None)

    async def _dispatch(self, parts: Parts) -> None:
        await parts.keeper.begun.wait()
        await parts.controls.begun.wait()
        if not self._announced:
            self._announced = True
            self._emit(
                WorkerStarted(
                    worker=self.id,
                    name=self._options.name,
                    queues=self._options.queues,
                    concurrency=self._options.concurrency,
                )
            )
        await parts.dispatcher.run()
        self._drained = True
        self.stop()

    async def _heed_stops(self, parts: Parts) -> None:
        """Every stop may shorten the grace."""
        while True:
            await self._grace_bell.wait()
            self._grace_bell.clear()
            self._heed(parts)

    def _heed(self, parts: Parts) -> None:
        parts.dispatcher.stopping = True
        parts.shutdown.allow(self._grace)
        if self._state is State.RUNNING:
            self._state = State.STOPPING
            self._emit(WorkerStopping(worker=self.id, grace=self._grace))

    async def _leave(self, parts: Parts) -> None:
        """If it did not end in order, leave at least nothing behind."""
        if self._left:
            return
        self.stop(0)
        self._heed(parts)
        await parts.shutdown.flush()
        await parts.shutdown.leave()
        self._emit(WorkerStopped(worker=self.id))

    def _assembled(self, post: Post) -> Parts:
        options = self._options
        ground = Ground(
            worker=self.id,
            options=options,
            backend=self._backend,
            access=Access(self._bridge, deadline=min(LONGEST_CALL, options.lease)),
            holdings=Holdings(options.lease),
            supervisor=self._supervisor,
            clock=self._clock,
            emit=self._emit,
            new_id=self._new_id,
            random=self._random,
            hide=self._hide,
        )
        return Parts(
            ground,
            handlers={**self._handlers, **self._reserved},
            types=self._types,
            reserved=tuple(self._reserved),
            middleware=self._middleware,
            schedules=self._schedules,
            owner=self._owner,
            post=post,
            describe=self._description(),
            dump=self._dump,
            stopping=lambda: self.stopping,
        )

    def _description(self) -> Callable[[], WorkerInfo]:
        """What makes the worker's row, for the keeper."""
        options = self._options
        started_at = self._clock.now()
        library = anyio.get_cancelled_exc_class().__module__.partition(".")[0]

        def describe() -> WorkerInfo:
            parts = self._parts
            permits = parts.permits if parts is not None else Permits(0)
            keeping = parts is not None and not options.suspend_on_await
            waiting = parts.deadlock.waiting if parts is not None and keeping else 0
            return WorkerInfo(
                id=self.id,
                name=options.name,
                host=options.host,
                pid=options.pid,
                queues=options.queues,
                types=self._types or (),
                concurrency=options.concurrency,
                slots_used=permits.used,
                suspended=permits.suspended + waiting,
                threads_stuck=permits.stuck,
                state=self._state,
                version=options.version,
                async_backend=options.async_backend or library,
                started_at=started_at,
                seen_at=self._clock.now(),
            )

        return describe
