"""TaskQ: the registry of tasks, the doors, and the place where everything is put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType, TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    Unpack,
    cast,
    overload,
)
from uuid import UUID

import anyio

from taskq.ancestry import maker
from taskq.assembly import WorkerArguments, engine_for, run_engine
from taskq.backends import Store, from_url
from taskq.bounds import QueueArguments, checked_bound
from taskq.client import StoreClient
from taskq.clock import Clock, SystemClock
from taskq.codec import Codec, Limits, from_json
from taskq.engine import Engine
from taskq.errors import ConfigurationError
from taskq.events import Listener
from taskq.future import ActivityFuture, Tracker
from taskq.hooks import HOOKS
from taskq.identifiers import as_id
from taskq.logs import listener_failed
from taskq.middleware import Middleware
from taskq.model import Activity, Bound, Receipt
from taskq.operations import Operations
from taskq.options import HookFunction, TaskOptionArguments, TaskOptions, task_options
from taskq.periodic import Periodic, PeriodicArguments
from taskq.processes.reference import checked_run_in
from taskq.pruning import Retention
from taskq.publisher import Publisher
from taskq.queues import Queues
from taskq.redaction import Redaction
from taskq.registry import (
    Registry,
    checked_activities,
    checked_aliases,
    checked_exceptions,
    checked_function,
    checked_hooks,
    checked_name,
    is_async,
)
from taskq.retry import RetryPolicy
from taskq.schedules import Schedules
from taskq.settings import Configuration, SettingOverrides, Settings, configuration
from taskq.showing import Showing
from taskq.snapshot import Stats
from taskq.task import AsyncTask, Definition, Door, SyncTask, Task
from taskq.transaction import caller_transaction
from taskq.worker import Worker

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

    from taskq.transaction import AwaitedSession, SyncSession

P = ParamSpec("P")
R = TypeVar("R")
Lifespan = Callable[["TaskQ"], AbstractAsyncContextManager[None]]

CLOSING = 10.0
"""Seconds that ``async with taskq`` takes to close at the most."""


class ActivityArguments(TaskOptionArguments, total=False):
    """The keywords of ``@taskq.activity``, for type checkers."""

    name: str
    queue: str
    aliases: Sequence[str]
    no_retry: Sequence[type[BaseException]]
    run_in: Literal["thread", "process"]
    on_dead_letter: HookFunction
    on_failure: HookFunction


class ActivityDecorator(Protocol):
    """What ``@taskq.activity(...)`` decorates with."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...


class PeriodicDecorator(Protocol):
    """What ``@taskq.periodic(...)`` decorates with: it leaves a task as it is, and makes a function
    one."""

    @overload
    def __call__(self, task: AsyncTask[P, R], /) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, task: SyncTask[P, R], /) -> SyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...


class TaskQ:
    """A durable task queue. Thread-safe; one object serves any number of threads and loops.

    ``url`` says where activities are kept (``TASKQ_DATABASE_URL``, else ``sqlite:///taskq.db``);
    ``backend`` is a store object instead of a URL. ``queue`` is the default queue, ``retry`` the
    default policy. ``settings`` replaces environment and file, ``**overrides`` single settings.
    ``listeners`` see events, ``middleware`` wraps attempts, ``lifespan(taskq)`` is an async context
    manager entered around each worker. ``clock`` replaces the machine's, for tests. Nothing is
    opened before the first use. ``taskq.operator`` retries, moves, cancels and deletes what is
    stored; ``taskq.retention`` deletes what has ended long enough ago.

    Raises ConfigurationError for a setting out of bounds, a file of settings that cannot be read,
    or a URL that nobody serves.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        backend: Store | None = None,
        queue: str | None = None,
        settings: Settings | None = None,
        retry: RetryPolicy | None = None,
        listeners: Sequence[Listener] = (),
        middleware: Sequence[Middleware] = (),
        lifespan: Lifespan | None = None,
        clock: Clock | None = None,
        **overrides: Unpack[SettingOverrides],
    ) -> None:
        if url is not None and backend is not None:
            raise ConfigurationError("TaskQ takes a url or a backend, not both")
        given: dict[str, object] = dict(cast("Mapping[str, object]", overrides))
        if url is not None:
            given["database_url"] = url
        if queue is not None:
            given["queue"] = queue
        if retry is not None:
            given["retry"] = retry
        self.configuration = configuration(given, base=settings, own_store=backend is not None)
        self.clock = clock or SystemClock()
        self.publisher = Publisher(listeners, report=listener_failed)
        store = backend or _store(self.configuration, self.clock)
        self.registry = Registry(
            TaskOptions(
                queue=self.settings.queue,
                max_retries=self.settings.max_retries,
                max_crashes=self.settings.max_crashes,
                dead_letter=self.settings.dead_letter_queue_enabled,
                timeout=self.settings.timeout,
                retry=self.settings.retry,
            ),
            bound=None if self.settings.capacity is None else Bound(self.settings.capacity),
            priorities=self.settings.priority_enabled,
        )
        self.showing = Showing(Redaction.also(self.settings.redact), self.registry.secrets)
        self.client = StoreClient(
            store,
            owner=self,
            effective=self.registry.effective,
            settings=self.settings,
            clock=self.clock,
            publisher=self.publisher,
        )
        self.door = Door(self.client)
        self.retention = Retention(self.client, self.settings.retention)
        self.operator = Operations(self.client, self.registry.task, self.showing)
        self.queues = Queues(self.client)
        self.schedules = Schedules(self.client, self.showing)
        self.middleware = tuple(middleware)
        self.lifespan = lifespan

    @property
    def settings(self) -> Settings:
        """What is in force. ``configuration.origins`` tells where each value came from."""
        return self.configuration.settings

    @property
    def redaction(self) -> Redaction:
        """What hides values by their names, the setting ``redact`` included. ``showing`` knows the
        ``Secret`` parameters of tasks too."""
        return self.showing.redaction

    @overload
    def activity(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...
    @overload
    def activity(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
    @overload
    def activity(self, /, **options: Unpack[ActivityArguments]) -> ActivityDecorator: ...

    def activity(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Make a function a task; bare or with options. See ``ActivityArguments``.

        ``name`` defaults to the function's. ``aliases`` are older names whose activities it also
        runs. ``no_retry`` are exception types that end an activity as failed. ``run_in="process"``
        is for plain functions at the top level of a module: each attempt runs in a process that a
        timeout or a cancel ends (docs/processes.md). Hooks take one
        DeadLetter and run as activities of their own. Raises ConfigurationError for a bad option or
        a name that is taken, TypeError for an unknown option.
        """

        def decorate(function: Callable[..., Any]) -> Any:
            return self._registered(function, options)

        return decorate if function is None else decorate(function)

    def periodic(
        self,
        cron: str | None = None,
        /,
        **options: Unpack[PeriodicArguments],
    ) -> PeriodicDecorator:
        """Call a task again and again: ``@taskq.periodic("*/5 * * * *", tz="Europe/Lisbon")``.

        ``cron`` is text in the time zone ``tz`` (UTC), ``every`` a timedelta or seconds counted
        from 1970; one of them. ``name`` is the schedule's (the task's), ``arguments`` the call's.
        ``catch_up`` says what becomes of occurrences missed while no worker ran: "latest", "none"
        or "all" of them; ``overlap`` what becomes of one while the last has not ended: "allow",
        "skip" or "queue"; ``jitter`` spreads their starts over so many seconds or a timedelta. See
        docs/schedules.md. It goes on a task or a function, several times if their names differ.
        Raises ConfigurationError naming what is wrong.
        """
        periodic = Periodic(cron, options)

        def decorate(target: Callable[..., Any]) -> Any:
            return periodic.put_on(
                target,
                client=self.client,
                register=lambda function: self._registered(function, {}),
                schedules=self.schedules,
            )

        return cast("PeriodicDecorator", decorate)

    def queue(self, name: str, **options: Unpack[QueueArguments]) -> None:
        """Set defaults for all activities of one queue, and how many may wait there, see
        ``QueueArguments``. A decorator or a call beats the defaults.

        Workers of this app then serve the queue even if no task names it.
        """
        where = f"taskq.queue({name!r})"
        given: dict[str, object] = {"queue": name, **cast("Mapping[str, object]", options)}
        bound = checked_bound(where, given)
        self.registry.add_queue(name, task_options(where, given), bound)

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """The tasks by name. Read-only."""
        return MappingProxyType(self.registry.tasks)

    def enqueue(
        self,
        activities: Sequence[Activity[R]],
        *,
        session: SyncSession | None = None,
        connection: Connection | None = None,
        notify: bool = True,
    ) -> list[ActivityFuture[R]]:
        """Store built calls, all or none, in one round trip; futures answer one to one.

        Blocks until they are committed; with ``session`` or ``connection`` in that transaction of
        the caller's, see ``Task.delay``. Raises as ``Task.delay``, and TypeError for anything that
        was not made by ``Task.build``.
        """
        decoders = self._decoders(activities)
        transaction = caller_transaction(
            "taskq.enqueue()", session=session, connection=connection, notify=notify
        )
        if not activities:
            return []
        if transaction is None:
            client = self.door.client
            return _futures(client.submit(activities), client, decoders)
        enlisted = self.door.client.enlist(activities, transaction)
        return _futures(enlisted.receipts, enlisted, decoders)

    async def aenqueue(
        self,
        activities: Sequence[Activity[R]],
        *,
        session: AwaitedSession | None = None,
        connection: AsyncConnection | None = None,
        notify: bool = True,
    ) -> list[ActivityFuture[R]]:
        """The same as ``enqueue`` without blocking the event loop, with SQLAlchemy's AsyncSession
        or AsyncConnection."""
        decoders = self._decoders(activities)
        transaction = caller_transaction(
            "taskq.aenqueue()", session=session, connection=connection, notify=notify
        )
        if not activities:
            return []
        if transaction is None:
            client = self.door.client
            return _futures(await client.asubmit(activities), client, decoders)
        enlisted = await self.door.client.aenlist(activities, transaction)
        return _futures(enlisted.receipts, enlisted, decoders)

    def future(self, id: UUID | str) -> ActivityFuture[object]:
        """A handle on any activity; its result comes as plain JSON values. Raises ValueError for a
        text that is no UUID."""
        return ActivityFuture(as_id(id), self.door.client, from_json)

    def stats(self, queues: Collection[str] = ()) -> Stats:
        """Counts over these queues, over all when empty; blocking for one query."""
        return self.client.call_sync(self.client.store.stats, queues)

    async def astats(self, queues: Collection[str] = ()) -> Stats:
        """The same without blocking the event loop."""
        return await self.client.call(self.client.store.stats, queues)

    def worker(self, **options: Unpack[WorkerArguments]) -> Worker:
        """A worker for ``async with``; it runs on the event loop where it is entered.

        Raises ConfigurationError before anything starts, for example for a type without handler.
        """
        return Worker(engine_for(self, options), self._run)

    async def run_worker(self, **options: Unpack[WorkerArguments]) -> None:
        """Run a worker here until it is stopped or this is cancelled. See ``worker``."""
        await self._run(engine_for(self, options))

    def close(self) -> None:
        """Give back connections and the storage thread; the next use opens them again."""
        self.client.close()

    async def aclose(self) -> None:
        """The same without blocking the event loop."""
        await self.client.aclose()

    async def __aenter__(self) -> Self:
        await self.client.bridge.call(self.client.ready)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with anyio.move_on_after(CLOSING, shield=True):  # also when this is being cancelled
            await self.aclose()

    def _decoders(self, activities: Sequence[Activity[R]]) -> list[Callable[[str], R]]:
        checked_activities(activities)
        return [self.registry.decoder(activity.type) for activity in activities]

    async def _run(self, engine: Engine) -> None:
        await run_engine(self, engine)

    def _registered(self, function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
        """Check the decorator's options and add the task."""
        name = options.get("name", getattr(function, "__name__", None))
        where = f"@taskq.activity on {name!r}"
        checked_function(where, function)
        definition = Definition(
            name=checked_name(where, name),
            function=function,
            codec=Codec(function, Limits(max_bytes=self.settings.max_payload)),
            options=task_options(
                where, {key: options[key] for key in options if key not in _OWN_OPTIONS}
            ),
            aliases=checked_aliases(where, options.get("aliases", ())),
            no_retry=checked_exceptions(where, options.get("no_retry", ())),
            hooks=checked_hooks(where, {hook: options[hook] for hook in HOOKS if hook in options}),
            run_in=checked_run_in(where, options.get("run_in"), function),
            showing=self.showing,
        )
        task: Task[..., Any]
        if is_async(function):
            task = AsyncTask[..., Any](definition, self.door)
        else:
            task = SyncTask[..., Any](definition, self.door)
        self.registry.add(task)
        return task


def _store(configuration: Configuration, clock: Clock) -> Store:
    """The store that the settings name. Raises ConfigurationError, with where its URL is from."""
    settings = configuration.settings
    try:
        return from_url(
            settings.database_url,
            clock=clock,
            lock_timeout=settings.lock_timeout,
            schema=settings.schema,
            listen=settings.listen,
        )
    except ConfigurationError as error:
        raise configuration.refused(str(error), "database_url") from error.__cause__


def _futures(
    receipts: Sequence[Receipt], tracker: Tracker, decoders: Sequence[Callable[[str], R]]
) -> list[ActivityFuture[R]]:
    return [
        ActivityFuture(receipt.id, tracker, decode, made_by=maker(receipt))
        for receipt, decode in zip(receipts, decoders, strict=True)
    ]


_OWN_OPTIONS = frozenset({"name", "aliases", "no_retry", "run_in", *HOOKS})
