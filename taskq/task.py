"""The decorated function: what a call-site holds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, Literal, ParamSpec, Protocol, Self, TypeVar, Unpack, cast
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct

from taskq.ancestry import maker
from taskq.backends import CallerTransaction
from taskq.codec import Codec, digest, from_json, to_json
from taskq.context import current_or_none
from taskq.errors import SerializationError
from taskq.future import ActivityFuture, Tracker
from taskq.idempotency import key_hash, step_digest, step_hash
from taskq.identifiers import as_id
from taskq.lineage import Lineage, TooDeep, child, new_root
from taskq.model import Activity, Bound, Hook, Idempotency, OnDuplicate, Policy, Priority, Receipt
from taskq.options import CallArguments, CallOptions, HookFunction, TaskOptions, call_options, due
from taskq.retry import RetryPolicy
from taskq.showing import Showing
from taskq.transaction import EnlistedTracker

P = ParamSpec("P")
R = TypeVar("R")


class Client(Tracker, Protocol):
    """What a task needs of the app. Declared here so that tasks do not import the app."""

    @property
    def owner(self) -> object:
        """The app: a handler's calls become children only inside its own app's workers."""
        ...

    @property
    def max_depth(self) -> int:
        """Generations of children below a root."""
        ...

    @property
    def max_generations(self) -> int | None:
        """How many roots may follow each other by ``as_root``; None: no limit."""
        ...

    def callers(self, id: UUID) -> str:
        """The types from an activity's root down to it, for people; blocks. Never raises: what the
        store does not tell is left out."""
        ...

    async def acallers(self, id: UUID) -> str:
        """The same without blocking the event loop."""
        ...

    def new_id(self) -> UUID:
        """A fresh id that grows with time."""
        ...

    def effective(self, options: TaskOptions) -> Effective:
        """These options, completed by those of the queue, of the app and the defaults."""
        ...

    def submit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """Store calls; blocks until they are committed. Raises EnqueueTimeout, BackendError,
        IdempotencyConflict."""
        ...

    async def asubmit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """The same without blocking the event loop."""
        ...

    def enlist(
        self, activities: Sequence[Activity[Any]], transaction: CallerTransaction
    ) -> EnlistedTracker:
        """Store calls in a transaction of the caller's. Raises TypeError, ConfigurationError,
        InvalidState, BackendError, IdempotencyConflict."""
        ...

    async def aenlist(
        self, activities: Sequence[Activity[Any]], transaction: CallerTransaction
    ) -> EnlistedTracker:
        """The same with a session or connection that is awaited."""
        ...


class Door:
    """Where an app's tasks find its client, all of them the same one.

    In a process of a worker's own it is that worker's (see ``processes``).
    """

    def __init__(self, client: Client) -> None:
        self.client = client


class Effective(Struct, frozen=True, kw_only=True):
    """Task options with every one decided."""

    queue: str
    priority: Priority
    max_retries: int | None
    max_crashes: int
    timeout: float | None
    policy: Policy
    expires: float | datetime | None
    deadline: float | datetime | None
    bound: Bound | None = None


class Definition(Struct, frozen=True, kw_only=True):
    """What the decorator recorded. ``hooks`` are functions of one DeadLetter; ``run_in`` is for
    plain functions; ``showing`` is the app's."""

    name: str
    function: Callable[..., Any]
    codec: Codec
    options: TaskOptions
    aliases: tuple[str, ...] = ()
    no_retry: tuple[type[BaseException], ...] = ()
    hooks: Mapping[Hook, HookFunction] = {}
    run_in: Literal["thread", "process"] = "thread"
    showing: Showing = Showing()


class Task(Generic[P, R]):
    """A decorated function. ``P`` are its parameters, ``R`` what it returns (awaited, if async).

    Calling it runs the function here and now, without the queue. See AsyncTask and SyncTask.
    """

    is_async: ClassVar[bool] = False

    def __init__(
        self,
        definition: Definition,
        door: Door,
        *,
        options: TaskOptions | None = None,
        call: CallOptions | None = None,
    ) -> None:
        functools.update_wrapper(cast("Callable[..., Any]", self), definition.function)
        self._definition = definition
        self._door = door
        self._options = options or TaskOptions()
        self._call = call or CallOptions()

    @property
    def name(self) -> str:
        """The activity type under which its calls are stored."""
        return self._definition.name

    @property
    def definition(self) -> Definition:
        """What the decorator recorded."""
        return self._definition

    def belongs_to(self, client: Client) -> bool:
        """Whether this is the client of the app that made the task."""
        return client is self._client

    @property
    def door(self) -> Door:
        """Where it finds its app's client."""
        return self._door

    @property
    def _client(self) -> Client:
        return self._door.client

    def options(self, **options: Unpack[CallArguments]) -> Self:
        """The same task with other options for the calls made through what is returned.

        Raises ValueError or ConfigurationError for a bad value, TypeError for an unknown option.
        """
        where = f"{self.name}.options()"
        task, call = call_options(where, cast("Mapping[str, object]", options), self._call)
        return self._copy(task.over(self._options), call)

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> ActivityFuture[R]:
        """Store a call; it is committed when this returns. Works everywhere; blocks meanwhile.

        Raises TypeError for arguments that do not fit the signature, SerializationError for a value
        that cannot be stored exactly, EnqueueTimeout, BackendError, IdempotencyConflict, QueueFull,
        DepthExceeded, ValueError for a ``step`` outside of a handler. Nothing is stored then (after
        EnqueueTimeout it may have been).

        With ``options(session=…)`` or ``options(connection=…)``, SQLAlchemy's, the call is stored
        in that transaction: it exists if and only if that commits, and workers learn of it then.
        It runs here, in a savepoint, with that transaction's durability and patience for locks. The
        database must be the one of the app. The future raises InvalidState until the transaction is
        over. With ``notify=False``, and in a two-phase transaction, no worker is told: they find
        the call by polling. Raises as above, and TypeError for an async session (they are for
        ``adelay``), ConfigurationError for a store that cannot do this or another database,
        InvalidState for a connection in autocommit or a transaction that has failed. On PostgreSQL
        a failure to serialize is SQLAlchemy's DBAPIError with SQLSTATE 40001, to be repeated as
        after any statement; IdempotencyConflict is only for a key that another call has.
        """
        try:
            activity = self._built(args, kwargs)
        except TooDeep as deep:
            raise deep.explained(self._client.callers(deep.caller)) from None
        transaction = self._call.transaction(self.name)
        if transaction is None:
            return self._future(self._client.submit([activity])[0])
        return self._enlisted(self._client.enlist([activity], transaction))

    async def adelay(self, *args: P.args, **kwargs: P.kwargs) -> ActivityFuture[R]:
        """The same as ``delay`` without blocking the event loop (asyncio or trio).

        It takes AsyncSession and AsyncConnection where ``delay`` takes Session and Connection;
        TypeError for them on trio, as SQLAlchemy's need asyncio: there use ``delay`` in a thread.
        Cancelled while it stores a call in a transaction of yours, it ends that transaction:
        SQLAlchemy gives up the connection of a statement that was cancelled. Roll it back.
        """
        try:
            activity = self._built(args, kwargs)
        except TooDeep as deep:
            raise deep.explained(await self._client.acallers(deep.caller)) from None
        transaction = self._call.transaction(self.name)
        if transaction is None:
            return self._future((await self._client.asubmit([activity]))[0])
        return self._enlisted(await self._client.aenlist([activity], transaction))

    def schedule(
        self, when: timedelta | float | datetime, /, *args: P.args, **kwargs: P.kwargs
    ) -> ActivityFuture[R]:
        """Store a call that runs ``when`` is due: after a timedelta or seconds, or at an aware
        datetime. Raises as ``delay``; ValueError for a bad time."""
        return self._at(when).delay(*args, **kwargs)

    async def aschedule(
        self, when: timedelta | float | datetime, /, *args: P.args, **kwargs: P.kwargs
    ) -> ActivityFuture[R]:
        """The same as ``schedule`` without blocking the event loop."""
        return await self._at(when).adelay(*args, **kwargs)

    def build(self, *args: P.args, **kwargs: P.kwargs) -> Activity[R]:
        """The call as an Activity that is not stored yet, for ``taskq.enqueue([...])``.

        Its id is chosen here: storing it twice stores it once. Raises as ``delay`` for arguments,
        DepthExceeded (without the chain of callers, which is in the store), ValueError for a
        ``step``; TypeError where a session or connection is among the options: that is given to
        ``enqueue``.
        """
        self._refuse_transaction("build")
        return self._explained(self._definition.codec.encode(args, kwargs))

    def build_json(self, payload: str) -> Activity[R]:
        """The same from the JSON text of an object of named arguments, checked as a call is.

        Raises TypeError for names that do not fit the signature, SerializationError for the rest.
        """
        self._refuse_transaction("build_json")
        return self._explained(self.canonical(payload))

    def canonical(self, payload: str) -> str:
        """The JSON text of an object of named arguments, checked as a call's are, as it is stored.

        Raises as ``build_json``.
        """
        codec = self._definition.codec
        given = from_json(payload, label="the arguments")
        if not isinstance(given, dict):
            raise SerializationError("the arguments must be one JSON object of named arguments")
        codec.check_names(cast("dict[str, object]", given))
        args, kwargs = codec.decode(payload)
        return codec.encode(args, kwargs)

    def draft(self, payload: str) -> Activity[R]:
        """The call with these arguments, unchecked, for builders that complete it before it is
        stored: the JSON text of an object of named arguments."""
        self._refuse_transaction("draft")
        return self._explained(payload)

    def future(self, id: UUID | str) -> ActivityFuture[R]:
        """A handle on a call stored elsewhere. Raises ValueError for a text that is no UUID."""
        return ActivityFuture(as_id(id), self._client, self._definition.codec.decode_result)

    def _future(self, receipt: Receipt, tracker: Tracker | None = None) -> ActivityFuture[R]:
        decode = self._definition.codec.decode_result
        return ActivityFuture(receipt.id, tracker or self._client, decode, made_by=maker(receipt))

    def _enlisted(self, enlisted: EnlistedTracker) -> ActivityFuture[R]:
        [receipt] = enlisted.receipts
        return self._future(receipt, enlisted)

    def _refuse_transaction(self, method: str) -> None:
        where = f"{self.name}.{method}()"
        transaction = self._call.transaction(where)
        if transaction is not None:
            raise TypeError(
                f"{where} stores nothing, so it takes no {transaction.given_as}:"
                f" give it to enqueue or aenqueue, with {transaction.given_as}="
            )

    def _at(self, when: timedelta | float | datetime) -> Self:
        where = f"{self.name}.schedule()"
        _, call = call_options(where, due(where, when), self._call)
        return self._copy(self._options, call)

    def _copy(self, options: TaskOptions, call: CallOptions) -> Self:
        return type(self)(self._definition, self._door, options=options, call=call)

    def _built(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Activity[R]:
        return self._activity(self._definition.codec.encode(args, kwargs))

    def _explained(self, payload: str) -> Activity[R]:
        """Of what is too deep it says what is known here: its callers stand in the store."""
        try:
            return self._activity(payload)
        except TooDeep as deep:
            raise deep.explained() from None

    def _activity(self, payload: str) -> Activity[R]:
        call = self._call
        effective = self._client.effective(self._options.over(self._definition.options))
        lineage = self._lineage()
        expires_at, expires_in = _limit(effective.expires)
        deadline_at, deadline_in = _limit(effective.deadline)
        return Activity(
            id=lineage.id,
            type=self.name,
            queue=effective.queue,
            payload=payload,
            root_id=lineage.root_id,
            origin_id=lineage.origin_id,
            parent_id=lineage.parent_id,
            depth=lineage.depth,
            generation=lineage.generation,
            step=call.step,
            priority=effective.priority,
            max_retries=effective.max_retries,
            max_crashes=effective.max_crashes,
            timeout=effective.timeout,
            policy=self._policy(effective.policy),
            run_at=call.run_at,
            delay=call.delay,
            expires_at=expires_at,
            expires_in=expires_in,
            deadline_at=_earlier(deadline_at, lineage.deadline),
            deadline_in=deadline_in,
            metadata=to_json(dict(call.metadata), label="metadata") if call.metadata else None,
            tags=to_json(dict(call.tags), label="tags") if call.tags else None,
            source=call.source,
            correlation_id=call.correlation_id or lineage.correlation_id,
            user_id=call.user_id or lineage.user_id,
            idempotency=self._idempotency(effective.queue, payload, lineage),
            bound=effective.bound,
            inherits=() if lineage.parent_id is None else _unsaid(call, deadline_at),
        )

    def _policy(self, policy: Policy) -> Policy:
        hooks = tuple(self._definition.hooks)
        return msgspec.structs.replace(policy, hooks=hooks) if hooks else policy

    def _idempotency(self, queue: str, payload: str, lineage: Lineage) -> Idempotency | None:
        key = self._call.idempotency_key
        if self._call.step is not None:
            return self._as_step(self._call.step, payload, lineage)
        if key is None:
            return None
        return Idempotency(
            key=key[:200],
            hash=key_hash(queue, self.name, key),
            digest=digest(payload),
            on_duplicate=self._call.on_duplicate,
            check_arguments=self._call.on_mismatch == "error",
            unique_for=self._call.unique_for,
        )

    def _as_step(self, step: str, payload: str, lineage: Lineage) -> Idempotency:
        parent = lineage.parent_id
        if parent is None:
            raise ValueError(
                f"{self.name}: step={step!r} names a child of the running handler, and none is"
                " running here; outside of handlers use idempotency_key"
            )
        return Idempotency(
            key=step,
            hash=step_hash(parent, step),
            digest=step_digest(self.name, payload),
            on_duplicate=OnDuplicate.ALLOW_REUSE_ON_FAILURE,
            check_arguments=self._call.on_mismatch == "error",
            step_of=parent,
            renew_before=lineage.parent_ready_at,
        )

    def _lineage(self) -> Lineage:
        """Where the new activity stands in the tree. Raises TooDeep."""
        id = self._client.new_id()
        context = current_or_none()
        if context is None or context.owner is not self._client.owner:
            return Lineage(id=id, root_id=id, origin_id=id)
        if self._call.as_root:
            return new_root(self.name, id, context, most=self._client.max_generations)
        return child(self.name, id, context, deepest=self._client.max_depth)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class AsyncTask(Task[P, R]):
    """A task whose function is ``async def``: awaited on the worker's event loop."""

    is_async = True

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Run the function here, without the queue: ``await send_email("ada@example.com")``."""
        function: Callable[P, Coroutine[Any, Any, R]] = self._definition.function
        return function(*args, **kwargs)


class SyncTask(Task[P, R]):
    """A task whose function is ``def``: called in one of the worker's threads."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function here, without the queue."""
        function: Callable[P, R] = self._definition.function
        return function(*args, **kwargs)


def _limit(given: float | datetime | None) -> tuple[datetime | None, float | None]:
    """A limit as an instant or as seconds from the call."""
    return (given, None) if isinstance(given, datetime) else (None, given)


def _unsaid(call: CallOptions, deadline_at: datetime | None) -> tuple[str, ...]:
    """The fields that a child has from its parent alone."""
    said = {
        "deadline_at": deadline_at,
        "correlation_id": call.correlation_id,
        "user_id": call.user_id,
    }
    return tuple(name for name, value in said.items() if not value)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((at for at in (one, other) if at is not None), default=None)


def completed(options: TaskOptions, *, retry: RetryPolicy) -> Effective:
    """Options in which every field is said, as decided values; ``retry`` where none is."""

    def said(name: str, default: object) -> Any:
        value = getattr(options, name)
        return default if value is UNSET else value

    policy = said("retry", retry)
    if options.max_retry_delay is not UNSET:
        policy = msgspec.structs.replace(policy, max_delay=options.max_retry_delay)
    return Effective(
        queue=said("queue", "default"),
        priority=said("priority", Priority.NORMAL),
        max_retries=said("max_retries", 3),
        max_crashes=said("max_crashes", 3),
        timeout=said("timeout", 300.0),
        policy=Policy(
            retry=policy,
            retry_on_timeout=said("retry_on_timeout", True),
            on_child_failure=said("on_child_failure", "fail"),
            timeout_includes_waits=said("timeout_includes_waits", False),
            orphans=said("orphans", "cancel"),
            dead_letter=said("dead_letter", True),
        ),
        expires=said("expires", None),
        deadline=said("deadline", None),
    )
