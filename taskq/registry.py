"""The tasks and queue defaults of one app."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from types import MappingProxyType
from typing import Any, cast

import msgspec

from taskq.engine.running.handler import Handler
from taskq.engine.running.outside import Encoded, Outside
from taskq.errors import ConfigurationError, SerializationError
from taskq.hooks import HOOKS, hook_type
from taskq.logs import priorities_are_off, unfit_result
from taskq.model import Activity, Bound, DeadLetter, Hook, Priority
from taskq.options import HookFunction, TaskOptions
from taskq.reserved import BULK, RESERVED, reserved_name
from taskq.retry import RetryPolicy
from taskq.settings import NAME, bad_name
from taskq.showing import NO_SECRETS, Secrets
from taskq.task import Definition, Effective, Task, completed


class Registry:
    """Tasks by name, options by layer. ``base`` are the app's own options, all of them set;
    ``bound`` is that of the app's own queue, where it is given no other one. Without
    ``priorities`` every call is NORMAL, whatever is asked for (seed:E26); that is said once."""

    def __init__(
        self, base: TaskOptions, *, bound: Bound | None = None, priorities: bool = True
    ) -> None:
        self.tasks: dict[str, Task[..., Any]] = {}
        self._base = base
        self._priorities = priorities
        self._said = False
        self._queues: dict[str, TaskOptions] = {}
        self._bounds: dict[str, Bound] = {}
        if bound is not None:
            self._bounds[cast("str", base.queue)] = bound
        self._effective: dict[TaskOptions, Effective] = {}
        self._owners: dict[str, Task[..., Any]] = {}

    def add(self, task: Task[..., Any]) -> None:
        """Add a task under its name and aliases. Raises ConfigurationError when one is taken."""
        definition = task.definition
        names = (definition.name, *definition.aliases)
        for name in (*names, *(hook_type(definition.name, hook) for hook in definition.hooks)):
            other = self._owners.get(name)
            if other is not None:
                raise ConfigurationError(
                    f"the task name {name!r} is taken: {_place(other)} and {_place(task)}"
                    " both use it; give one of them another name"
                )
        for name in (*names, *(hook_type(definition.name, hook) for hook in definition.hooks)):
            self._owners[name] = task
        self.tasks[definition.name] = task

    def add_queue(self, name: str, options: TaskOptions, bound: Bound | None = None) -> None:
        """Set the defaults of a queue. Raises ConfigurationError when it has some already."""
        if name in self._queues:
            raise ConfigurationError(f"taskq.queue({name!r}) was called twice")
        self._queues[name] = options
        if bound is not None:
            self._bounds[name] = bound
        self._effective.clear()

    def effective(self, options: TaskOptions) -> Effective:
        """Options completed by those of their queue and of the app."""
        found = self._effective.get(options)
        if found is None:
            named = options.over(TaskOptions(queue=self._base.queue))
            layered = named.over(self._queues.get(cast("str", named.queue), TaskOptions()))
            found = completed(layered.over(self._base), retry=RetryPolicy())
            found = self._steered(found)
            if len(self._effective) >= 1000:  # calls may each name an instant of their own
                self._effective.clear()
            self._effective[options] = found
        return found

    def _steered(self, found: Effective) -> Effective:
        """With the bound of its queue, and NORMAL where priorities are off."""
        priority = found.priority
        if not self._priorities and priority is not Priority.NORMAL:
            if not self._said:
                self._said = True
                priorities_are_off()
            priority = Priority.NORMAL
        bound = self._bounds.get(found.queue)
        if bound is None and priority is found.priority:
            return found
        return msgspec.structs.replace(found, bound=bound, priority=priority)

    def queues(self) -> tuple[str, ...]:
        """Every queue that a worker of this app serves: the app's, those with defaults, and those
        that tasks name; sorted."""
        names = {self._base.queue, *self._queues}
        names.update(self.effective(task.definition.options).queue for task in self.tasks.values())
        return tuple(sorted(cast("set[str]", names)))

    def task(self, type: str) -> Task[..., Any] | None:
        """The task whose calls are of this type, by its name or an alias; None for an unknown one,
        and for a hook."""
        task = self._owners.get(type)
        if task is None or type not in (task.name, *task.definition.aliases):
            return None
        return task

    def decoder(self, type: str) -> Callable[[str], Any]:
        """How results of this type are read. Raises ConfigurationError for an unknown type."""
        task = self._owners.get(type)
        if task is None:
            raise ConfigurationError(
                f"no task of this app is named {type!r}; there are: {', '.join(sorted(self.tasks))}"
            )
        return task.definition.codec.decode_result

    @property
    def in_processes(self) -> list[Definition]:
        """The tasks with ``run_in="process"``."""
        every = (task.definition for task in self.tasks.values())
        return [definition for definition in every if definition.run_in == "process"]

    def secrets(self, type: str) -> Secrets:
        """Where secrets are in what is stored of this type: a task's, an alias's, a hook's, a bulk
        command's; nowhere in that of an unknown one."""
        if type == BULK:
            places = (place for name in self.tasks for place in self.secrets(name).arguments)
            return Secrets(frozenset(f"changes.{place}" for place in places))
        task = self.task(type)
        if task is not None:
            codec = task.definition.codec
            return Secrets(codec.secrets | self._passed_on(task.name), codec.result_secrets)
        owner, _, hook = type.rpartition(":")
        if hook in HOOKS:
            inside = self.secrets(owner).arguments
            return Secrets(frozenset(f"dead.arguments.{place}" for place in inside))
        return NO_SECRETS

    def _passed_on(self, name: str) -> frozenset[str]:
        """Where a chain, group or chord has the arguments of other tasks, as text: hidden as soon
        as one task has secrets."""
        places = _PARTS.get(name)
        if places is None or not any(
            task.definition.codec.secrets for task in self.tasks.values() if task.name not in _PARTS
        ):
            return frozenset()
        return places

    def handlers(self, outside: Mapping[str, Outside] = MappingProxyType({})) -> dict[str, Handler]:
        """What a worker can run, by activity type: tasks, their aliases and their hooks.

        ``outside`` says, by the names of tasks, which of them run in processes.
        """
        handlers: dict[str, Handler] = {}
        for task in self.tasks.values():
            definition = task.definition
            handler = _handler(task, outside.get(definition.name))
            for name in (definition.name, *definition.aliases):
                handlers[name] = handler
                for hook, function in definition.hooks.items():
                    handlers[hook_type(name, hook)] = _hook_handler(function)
        return handlers


_PARTS: Mapping[str, frozenset[str]] = {
    "taskq.chain": frozenset({"first.payload", "then.call.payload"}),
    "taskq.group": frozenset({"parts.payload"}),
    "taskq.chord": frozenset({"parts.payload", "body.call.payload"}),
}
"""See ``taskq.canvas``."""


def _handler(task: Task[..., Any], outside: Outside | None) -> Handler:
    definition = task.definition
    encode = encoder(definition)
    return Handler(
        function=definition.function,
        is_async=task.is_async,
        decode=definition.codec.decode if outside is None else _undecoded,
        encode=encode if outside is None else _unless_encoded(encode),
        no_retry=definition.no_retry,
        outside=outside,
    )


def _undecoded(_: str) -> tuple[tuple[object, ...], Mapping[str, object]]:
    """The arguments are decoded where the handler runs."""
    return (), {}


def _unless_encoded(encode: Callable[[object], str]) -> Callable[[object], str]:
    """Middleware may have put a value in the place of the result."""
    return lambda value: str(value) if isinstance(value, Encoded) else encode(value)


def encoder(definition: Definition) -> Callable[[object], str]:
    """Encodes results. One that does not fit the return annotation is stored all the same, since
    its handler has run; but whoever awaits it will not be able to read it, so that is said."""
    codec = definition.codec

    def encode(value: object) -> str:
        text = codec.encode_result(value)
        try:
            codec.decode_result(text)
        except SerializationError as error:
            unfit_result(definition.name, error)
        return text

    return encode


class _HookArguments(msgspec.Struct, frozen=True):
    dead: DeadLetter


def _hook_handler(function: HookFunction) -> Handler:
    """A hook runs like any activity; its one argument is a DeadLetter and its result is dropped."""

    def decode(text: str) -> tuple[tuple[object, ...], Mapping[str, object]]:
        return (msgspec.json.decode(text, type=_HookArguments).dead,), {}

    return Handler(
        function=function,
        is_async=is_async(function),
        decode=decode,
        encode=lambda _: "null",
    )


def is_async(function: object) -> bool:
    """Whether calling it gives a coroutine: an async function, a task of one, or an object whose
    ``__call__`` is one."""
    if isinstance(function, Task):
        return function.is_async
    if iscoroutinefunction(function):
        return True
    return callable(function) and iscoroutinefunction(function.__call__)


def checked_function(where: str, function: object) -> None:
    """What can be a task: a function, sync or async, that is no generator and no method.

    Raises ConfigurationError.
    """
    if not callable(function) or isinstance(function, Task):
        raise ConfigurationError(f"@taskq.activity decorates a function, not {function!r}")
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        raise ConfigurationError(f"{where}: a generator has no one result; return a list")
    scope = str(getattr(function, "__qualname__", "")).rpartition("<locals>.")[2]
    if "." in scope and next(iter(signature(function).parameters), None) in ("self", "cls"):
        raise ConfigurationError(
            f"{where}: a method's object is not stored with the call; decorate a function"
        )


def checked_activities(given: object) -> None:
    """What ``enqueue`` takes. Raises TypeError."""
    if isinstance(given, Sequence) and all(
        isinstance(activity, Activity) for activity in cast("Sequence[object]", given)
    ):
        return
    raise TypeError(f"enqueue() takes a list of task.build(...), not {given!r}")


def checked_aliases(where: str, names: object) -> tuple[str, ...]:
    """The older names of a task. Raises ConfigurationError."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ConfigurationError(f"{where}: aliases must be a sequence of names, not {names!r}")
    return tuple(checked_name(where, name) for name in cast("Sequence[object]", names))


def checked_name(where: str, name: object) -> str:
    """A task name or alias. Raises ConfigurationError."""
    if not isinstance(name, str) or not NAME.match(name):
        raise ConfigurationError(f"{where}: {bad_name('task', name)}")
    if name in RESERVED:
        raise ConfigurationError(f"{where}: {reserved_name('task', name)}")
    return name


def checked_exceptions(where: str, types: object) -> tuple[type[BaseException], ...]:
    """The exception types of ``no_retry``, one or several. Raises ConfigurationError."""
    given = cast("Sequence[object]", types if isinstance(types, Sequence) else (types,))
    for kind in given:
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            raise ConfigurationError(f"{where}: no_retry takes exception types, not {kind!r}")
    return cast("tuple[type[BaseException], ...]", tuple(given))


def checked_hooks(where: str, hooks: Mapping[Hook, object]) -> dict[Hook, HookFunction]:
    """Hook functions, in the order in which they run. Raises ConfigurationError."""
    for hook, function in hooks.items():
        if not callable(function):
            raise ConfigurationError(f"{where}: {hook} must be a function, not {function!r}")
    return {hook: cast("HookFunction", hooks[hook]) for hook in HOOKS if hook in hooks}


def _place(task: Task[..., Any]) -> str:
    function = task.definition.function
    code = getattr(function, "__code__", None)
    line = f":{code.co_firstlineno}" if code is not None else ""
    return f"{function.__module__}.{function.__qualname__}{line}"
