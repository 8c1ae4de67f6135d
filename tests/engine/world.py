"""What tests of the engine share: a store that can be made to fail, and engines on it."""

from __future__ import annotations

import inspect
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID

import anyio
import msgspec

from taskq.backends import Store
from taskq.backends.memory import MemoryBackend
from taskq.bridge import Bridge, DirectBridge
from taskq.clock import Clock
from taskq.engine import Engine, EngineOptions, Handler
from taskq.errors import BackendUnavailable, SerializationError
from taskq.events import Event
from taskq.identifiers import new_id
from taskq.middleware import Middleware
from taskq.model import Activity, Status
from taskq.snapshot import ActivityInfo, Page
from taskq.snapshot import Filter as ActivityFilter
from tests.faulty import FaultyBackend

E = TypeVar("E", bound=Event)
QUICK: dict[str, Any] = {"poll_interval": 0.05, "poll_max": 0.1}
"""Options for tests in real time that rely on polling."""


class View(FaultyBackend):
    """One engine's way to the store. It may hang, or be cut like the cable of a dead machine."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._hanging: set[str] = set()
        self._down = False
        self.entered: dict[str, anyio.Event] = {}

    def hang(self, *methods: str) -> None:
        """These calls never answer."""
        self._hanging.update(methods)

    def go_down(self) -> None:
        """Every call fails."""
        self._down = True

    def come_back(self) -> None:
        """The store answers again."""
        self._down = False
        self._hanging.clear()

    async def _do(self, method: str, deed: Callable[..., Any], *arguments: object) -> Any:
        if self._down:
            self.calls[method] += 1
            raise BackendUnavailable("the store is down")
        if method in self._hanging:
            self.calls[method] += 1
            self.entered.setdefault(method, anyio.Event()).set()
            await anyio.sleep_forever()
        return await super()._do(method, deed, *arguments)


def decode(text: str) -> tuple[tuple[object, ...], Mapping[str, object]]:
    """The arguments of a test's handler: any JSON object."""
    try:
        return (), msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise SerializationError(f"these arguments do not fit: {error}") from error


def encode(value: object) -> str:
    """A result as JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, msgspec.MsgspecError) as error:
        raise SerializationError(f"this result cannot be stored: {error}") from error


def handler(function: Callable[..., Any], **fields: Any) -> Handler:
    """A handler for a plain function."""
    is_async = inspect.iscoroutinefunction(function)
    return Handler(function=function, is_async=is_async, decode=decode, encode=encode, **fields)


class World:
    """One memory store and the engines made on it. ``events`` are those of all engines."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.memory = MemoryBackend(clock)
        self.handlers: dict[str, Handler] = {}
        self.events: list[Event] = []

    def view(self) -> View:
        """A way of its own to the store."""
        return View(self.memory)

    def on(self, name: str, function: Callable[..., Any], **fields: Any) -> None:
        """Have engines run ``function`` for this type."""
        self.handlers[name] = handler(function, **fields)

    def engine(
        self,
        store: Store | None = None,
        *,
        bridge: Bridge | None = None,
        handlers: Mapping[str, Handler] | None = None,
        middleware: Sequence[Middleware] = (),
        dump: Callable[[], None] = lambda: None,
        emit: Callable[[Event], None] | None = None,
        **options: Any,
    ) -> Engine:
        """An engine on this store."""
        return Engine(
            self.memory if store is None else store,
            bridge=DirectBridge() if bridge is None else bridge,
            handlers=self.handlers if handlers is None else handlers,
            options=EngineOptions(
                **{"name": "test", "host": "here", "pid": 1, "queues": ("default",)} | options
            ),
            clock=self.clock,
            emit=self.events.append if emit is None else emit,
            owner=self,
            new_id=new_id,
            random=random.Random(7).random,
            middleware=middleware,
            dump=dump,
        )

    @asynccontextmanager
    async def running(self, *engines: Engine, grace: float | None = None) -> AsyncIterator[None]:
        """Engines that run inside the block, and are stopped at its end."""
        async with anyio.create_task_group() as group:
            for engine in engines:
                await group.start(engine.run)
            yield
            for engine in engines:
                engine.stop(grace)

    def activity(self, type: str, payload: str = "{}", **fields: Any) -> Activity[object]:
        """An activity, not stored yet. ``retry`` are fields of its policy."""
        id = new_id()
        values = {"queue": "default", "root_id": id, "origin_id": id} | fields
        return Activity[object](id=id, type=type, payload=payload, **values)

    async def submit(self, type: str, payload: str = "{}", **fields: Any) -> UUID:
        """Store one activity."""
        activity = self.activity(type, payload, **fields)
        await self.memory.submit([activity])
        return activity.id

    async def submit_many(self, type: str, count: int, **fields: Any) -> list[UUID]:
        """Store several alike."""
        activities = [self.activity(type, **fields) for _ in range(count)]
        await self.memory.submit(activities)
        return [activity.id for activity in activities]

    async def info(self, id: UUID) -> ActivityInfo:
        """An activity as it is now."""
        return (await self.memory.get([id]))[id]

    async def status(self, id: UUID) -> Status:
        """An activity's state."""
        return (await self.info(id)).status

    async def statuses(self, ids: Sequence[UUID]) -> list[Status]:
        """Several activities' states, in order."""
        found = await self.memory.get(ids)
        return [found[id].status for id in ids]

    async def count(self, status: Status) -> int:
        """How many activities are in this state."""
        return (await self.memory.stats()).by_status[status]

    async def everything(self) -> list[ActivityInfo]:
        """All activities, newest first."""
        return list((await self.memory.list(ActivityFilter(), Page(limit=1000))).items)

    async def ended(self, id: UUID, within: float = 10.0) -> ActivityInfo:
        """The activity, as soon as it has ended."""

        async def terminal() -> bool:
            return (await self.status(id)).terminal

        await until(terminal, within=within)
        return await self.info(id)

    async def reaches(self, id: UUID, status: Status, within: float = 10.0) -> ActivityInfo:
        """The activity, as soon as it is in this state."""

        async def there() -> bool:
            return await self.status(id) is status

        await until(there, within=within)
        return await self.info(id)

    def seen(self, kind: type[E]) -> list[E]:
        """The events of one kind, oldest first."""
        return [event for event in self.events if isinstance(event, kind)]


async def until(condition: Callable[[], bool | Awaitable[bool]], *, within: float = 10.0) -> None:
    """Wait until it holds; TimeoutError after ``within`` seconds. Looks less often as it waits."""
    pause = 0.002
    with anyio.fail_after(within):
        while True:
            holds = condition()
            if not isinstance(holds, bool):
                holds = await holds
            if holds:
                return
            await anyio.sleep(pause)
            pause = min(pause * 1.2, 0.2)
