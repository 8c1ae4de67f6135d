"""``chain``, ``group`` and ``chord``, for people who come from Celery.

They are ordinary activities whose handlers enqueue children and await them; nothing is stored but
activities, and nothing else runs them. Each part is a step, so that a run after the first finds
what is made already. In new code the plain form says the same and is checked by your editor: see
docs/from-celery.md. The canvas is registered beside the tasks, so that workers know it too::

    taskq = TaskQ()
    canvas = Canvas(taskq)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    Unpack,
    overload,
)
from uuid import UUID

import msgspec
from msgspec import Struct

from taskq.app import TaskQ
from taskq.codec import Codec, digest, from_json, to_json
from taskq.errors import RetryError, SerializationError
from taskq.future import ActivityFuture
from taskq.gathering import gather
from taskq.model import Activity
from taskq.options import CallArguments
from taskq.task import AsyncTask, Definition, Task

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
P = ParamSpec("P")
Q = ParamSpec("Q")


NOWHERE: Final = UUID(int=0)
"""The id of what is no activity yet."""


class Call(Activity[Any], frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A call as an argument of a chain, group or chord: what ``build`` made, without its id and its
    place in a tree, so that equal calls are equal arguments. Each child has its own of these."""

    id: UUID = NOWHERE
    root_id: UUID = NOWHERE
    origin_id: UUID = NOWHERE


class Next(Struct, frozen=True, kw_only=True):
    """A call that lacks an argument: its ``parameter`` is the result before it."""

    call: Call
    parameter: str


class Linkable(Protocol[P, R_co]):
    """A task, as ``Canvas.link`` takes it."""

    @property
    def name(self) -> str:
        """See ``Task``."""
        ...

    @property
    def definition(self) -> Definition:
        """See ``Task``."""
        ...

    def build(self, *args: P.args, **kwargs: P.kwargs) -> Activity[R_co]:
        """See ``Task``."""
        ...

    def draft(self, payload: str) -> Activity[R_co]:
        """See ``Task``."""
        ...


class Link(Generic[A, R]):
    """A task with its further arguments, that lacks the first. Made by ``Canvas.link``."""

    def __init__(self, next: Next, decode: Callable[[str], R]) -> None:
        self.next = next
        self.decode = decode


class Flow(Generic[R]):
    """A chain, group or chord that is not stored yet; ``R`` is its result."""

    def __init__(
        self,
        task: AsyncTask[..., Any],
        arguments: Sequence[object],
        decode: Callable[[str], R],
    ) -> None:
        self._task = task
        self._arguments = arguments
        self.decode = decode

    def options(self, **options: Unpack[CallArguments]) -> Flow[R]:
        """The same with other options, see ``Task.options``; those of its parts stay theirs."""
        return Flow(self._task.options(**options), self._arguments, self.decode)

    def delay(self) -> ActivityFuture[R]:
        """Store it. Raises as ``Task.delay``; SerializationError that says the way out where its
        parts are more than ``max_payload``."""
        with self._fitting():
            return self._task.delay(*self._arguments).read_as(self.decode)

    async def adelay(self) -> ActivityFuture[R]:
        """The same as ``delay`` without blocking the event loop."""
        with self._fitting():
            return (await self._task.adelay(*self._arguments)).read_as(self.decode)

    def build(self) -> Activity[R]:
        """Its own activity, for ``taskq.enqueue([...])``. Raises as ``delay`` for its parts."""
        with self._fitting():
            return self._task.build(*self._arguments)

    @contextmanager
    def _fitting(self) -> Generator[None, None, None]:
        """Where its parts are too big, says so of the whole, with what to do instead."""
        try:
            yield
        except SerializationError as error:
            codec = self._task.definition.codec
            named = dict(zip(codec.signature.parameters, self._arguments, strict=True))
            size, most = len(msgspec.json.encode(named)), codec.limits.max_bytes
            if size <= most:
                raise
            raise SerializationError(
                f"{self._task.name}: its parts are its arguments, and {size} bytes are more than"
                f" the {most} of max_payload; call them in a task of your own instead, which has"
                " no such limit: futures = await taskq.aenqueue([...]), then await gather(*futures)"
            ) from error


def _named(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Messages about the arguments or the result of the function say this name."""

    def named(function: Callable[P, R]) -> Callable[P, R]:
        function.__name__ = name
        return function

    return named


Part: TypeAlias = Activity[R] | Flow[R]
"""What can be run by itself: ``task.build(...)``, or another chain, group or chord."""
Then: TypeAlias = Task[[A], R] | Link[A, R]
"""What can follow: a task of one argument, or a link to one whose others are bound."""


class Canvas:
    """Builds chains, groups and chords of one app's tasks.

    It registers the activities ``taskq.chain``, ``taskq.group`` and ``taskq.chord``, so that it has
    to be made where the app's tasks are. They have no timeout; their parts have their own. Where a
    part fails they fail as a parent does that awaits it.
    """

    def __init__(self, taskq: TaskQ) -> None:
        self._taskq = taskq
        self._chain = taskq.activity(name="taskq.chain", timeout=None)(self._run_chain)
        self._group = taskq.activity(name="taskq.group", timeout=None)(self._run_group)
        self._chord = taskq.activity(name="taskq.chord", timeout=None)(self._run_chord)

    def link(
        self, task: Linkable[Concatenate[A, Q], R], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Link[A, R]:
        """A task whose first argument is the result before it; these are the others.

        Raises TypeError for arguments that do not fit or what is no task, SerializationError as
        ``Task.delay``.
        """
        if not isinstance(task, Task):
            raise TypeError(
                f"canvas.link takes a task and its further arguments, not {_what(task)}"
            )
        codec = task.definition.codec
        parameters = list(codec.signature.parameters.values())
        first = parameters[0] if parameters else None
        if first is None or first.kind not in _POSITIONAL:
            raise TypeError(f"{task.name} has no first argument to take the result before it")
        lacking = _Lacking(codec.function, codec.signature.replace(parameters=parameters[1:]))
        payload = Codec(lacking, codec.limits).encode(args, kwargs)
        call = _call(self._known(task.draft(payload)))
        return Link(Next(call=call, parameter=first.name), codec.decode_result)

    @overload
    def chain(self, first: Part[A], /) -> Flow[A]: ...
    @overload
    def chain(self, first: Part[A], t1: Then[A, B], /) -> Flow[B]: ...
    @overload
    def chain(self, first: Part[A], t1: Then[A, B], t2: Then[B, C], /) -> Flow[C]: ...
    @overload
    def chain(
        self, first: Part[A], t1: Then[A, B], t2: Then[B, C], t3: Then[C, D], /
    ) -> Flow[D]: ...
    @overload
    def chain(
        self, first: Part[A], t1: Then[A, B], t2: Then[B, C], t3: Then[C, D], t4: Then[D, E], /
    ) -> Flow[E]: ...
    @overload
    def chain(
        self,
        first: Part[Any],
        t1: Then[Any, Any],
        t2: Then[Any, Any],
        t3: Then[Any, Any],
        t4: Then[Any, Any],
        t5: Then[Any, Any],
        /,
        *more: Then[Any, Any],
    ) -> Flow[Any]: ...
    def chain(self, first: Part[Any], /, *then: Then[Any, Any]) -> Flow[Any]:
        """One after another, each with the result of the one before; the last one's is the result.

        Type checkers follow it over five parts. Raises TypeError for a first that is no call, for
        others that are no tasks, and for a task that takes more arguments than that one (see
        ``link``); ConfigurationError for a task of another app.
        """
        start = self._part("chain", first)
        links = [self._linked("chain", task) for task in then]
        decode = links[-1].decode if links else self._decoder(first)
        return Flow(self._chain, [start, [link.next for link in links]], decode)

    def group(self, parts: Iterable[Part[R]], /) -> Flow[list[R]]:
        """All at once; the result is the list of theirs. The first that fails fails the group.

        Its parts are stored as the arguments of one activity, so that ``max_payload`` limits their
        number; ``gather`` has no such limit. Raises TypeError for parts that are no calls,
        ConfigurationError for a task of another app.
        """
        given = _listed("group", parts)
        calls = [self._part("group", part) for part in given]
        return Flow(self._group, [calls], _ListOf([self._decoder(part) for part in given]))

    def chord(self, parts: Iterable[Part[A]], body: Then[list[A], R], /) -> Flow[R]:
        """All at once, then the body with the list of their results; its result is the result.

        Limits and errors as ``group`` and ``chain``.
        """
        calls = [self._part("chord", part) for part in _listed("chord", parts)]
        link = self._linked("chord", body)
        return Flow(self._chord, [calls, link.next], link.decode)

    @_named("taskq.chain")
    async def _run_chain(self, first: Call, then: list[Next]) -> Any:
        result = await self._only(self._child(first, first.payload, step="0"))
        for place, next in enumerate(then, 1):
            result = await self._only(self._after(next, result, step=str(place)))
        return result

    @_named("taskq.group")
    async def _run_group(self, parts: list[Call]) -> list[Any]:
        children = [self._child(part, part.payload, step=str(n)) for n, part in enumerate(parts)]
        futures = await self._taskq.aenqueue(children)
        return await gather(*[future.read_as(from_json) for future in futures])

    @_named("taskq.chord")
    async def _run_chord(self, parts: list[Call], body: Next) -> Any:
        results = await self._run_group(parts)
        return await self._only(self._after(body, results, step="body"))

    async def _only(self, child: Activity[Any]) -> object:
        [future] = await self._taskq.aenqueue([child])
        return await future.read_as(from_json)

    def _after(self, next: Next, result: object, *, step: str) -> Activity[Any]:
        further = msgspec.json.decode(next.call.payload, type=dict[str, Any])
        payload = to_json({**further, next.parameter: result}, label=next.call.type)
        return self._child(next.call, payload, step=step)

    def _child(self, call: Call, payload: str, *, step: str) -> Activity[Any]:
        """The call as a child of the running handler, with these arguments."""
        task = self._taskq.tasks.get(call.type)
        if task is None:
            raise RetryError(f"this worker has no task {call.type!r}")
        key = call.idempotency
        place = (task if key else task.options(step=step)).build_json(payload)
        own_key = key and msgspec.structs.replace(key, digest=digest(place.payload))
        deadlines = [at for at in (call.deadline_at, place.deadline_at) if at is not None]
        return msgspec.structs.replace(
            call,
            id=place.id,
            parent_id=place.parent_id,
            root_id=place.root_id,
            origin_id=place.origin_id,
            depth=place.depth,
            generation=place.generation,
            step=place.step,
            payload=place.payload,
            deadline_at=min(deadlines, default=None),
            correlation_id=call.correlation_id or place.correlation_id,
            user_id=call.user_id or place.user_id,
            idempotency=own_key or place.idempotency,
        )

    def _linked(self, where: str, task: Then[Any, Any]) -> Link[Any, Any]:
        _refuse_unless_task(where, task)
        if isinstance(task, Link):
            return task
        _refuse_unless_complete(where, task)
        return self.link(task)

    def _part(self, where: str, part: Part[Any]) -> Call:
        _refuse_unless_call(where, part)
        return _call(self._known(part.build() if isinstance(part, Flow) else part))

    def _decoder(self, part: Part[R]) -> Callable[[str], R]:
        return part.decode if isinstance(part, Flow) else self._taskq.registry.decoder(part.type)

    def _known(self, activity: Activity[Any]) -> Activity[Any]:
        self._taskq.registry.decoder(activity.type)
        if activity.step is not None:
            raise TypeError(f"{activity.type}: the parts of a canvas have steps of their own")
        return activity


_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_GATHERING = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _listed(where: str, parts: Iterable[Part[R]]) -> list[Part[R]]:
    """All parts, iterated once."""
    _refuse_unless_many(where, parts)
    return list(parts)


def _refuse_unless_many(where: str, given: object) -> None:
    if not isinstance(given, Iterable):
        raise TypeError(f"canvas.{where}: its parts are one list, not {_what(given)}")


def _refuse_unless_call(where: str, given: object) -> None:
    if isinstance(given, Activity | Flow):
        return
    what = _what(given)
    which = "it starts with" if where == "chain" else "its parts are"
    name = given.name if isinstance(given, Task) else "task"
    raise TypeError(
        f"canvas.{where}: {which} {name}.build(...), or another chain, group or chord; not {what}"
    )


def _refuse_unless_task(where: str, given: object) -> None:
    if not isinstance(given, Task | Link):
        raise TypeError(
            f"canvas.{where}: what follows is a task, which is called with the result before it,"
            f" or canvas.link(task, ...), which binds what else it takes; not {_what(given)}"
        )


def _refuse_unless_complete(where: str, task: Task[..., Any]) -> None:
    """Refuse a task that the result before it is not enough for."""
    parameters = [*task.definition.codec.signature.parameters.values()]
    lacking = [
        other.name
        for other in parameters[1:]
        if other.default is other.empty and other.kind not in _GATHERING
    ]
    if lacking:
        bound = ", ".join(f"{name}=..." for name in lacking)
        raise TypeError(
            f"canvas.{where}: {task.name} takes more than the result before it: bind the rest by"
            f" canvas.link({task.name}, {bound})"
        )


def _what(given: object) -> str:
    """What was given in the place of something else, for people."""
    match given:
        case Task():
            return f"the task {given.name}"
        case Activity():
            return f"the call {given.type}.build(...)"
        case Flow():
            return "a chain, group or chord"
        case Link():
            return "a link"
        case _:
            return repr(given)


def _call(activity: Activity[Any]) -> Call:
    call = msgspec.convert(activity, Call, from_attributes=True)
    return msgspec.structs.replace(
        call,
        id=NOWHERE,
        root_id=NOWHERE,
        origin_id=NOWHERE,
        parent_id=None,
        depth=0,
        generation=0,
    )


class _Lacking:
    """A function without its first parameter, as far as a codec looks at it."""

    def __init__(self, function: Callable[..., object], signature: Signature) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__signature__ = signature
        self.__annotations__ = {
            name: annotation
            for name, annotation in getattr(function, "__annotations__", {}).items()
            if name in signature.parameters or name == "return"
        }

    def __call__(self) -> None:
        raise TypeError(f"{self.__name__} is called without its first argument")


class _ListOf:
    """Reads a JSON array whose items are of different types."""

    def __init__(self, decoders: Sequence[Callable[[str], Any]]) -> None:
        self._decoders = decoders

    def __call__(self, text: str) -> list[Any]:
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
        return [
            decode(bytes(item).decode()) for decode, item in zip(self._decoders, items, strict=True)
        ]
