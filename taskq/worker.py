"""A running worker, as an embedding program holds it."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self
from uuid import UUID

from anyio import create_task_group, get_cancelled_exc_class
from anyio.abc import TaskGroup

from taskq.engine import Engine, Health
from taskq.engine.report import ErrorLog
from taskq.engine.running.failure import sole
from taskq.errors import InvalidState


class Runner(Protocol):
    """What runs an engine with everything around it; returns when the engine has stopped."""

    async def __call__(self, engine: Engine) -> None:
        """Open the store, enter the lifespan, run."""
        ...


class Worker:
    """``async with taskq.worker() as worker``: claims from the moment it is entered until the block
    ends; then it stops gracefully.

    An error of the block leaves it as it is, not in an ExceptionGroup. When the worker itself
    cannot go on (a schema that does not fit), the block is cancelled and that error raised.
    """

    def __init__(self, engine: Engine, run: Runner) -> None:
        self._engine = engine
        self._run = run
        self._group: TaskGroup | None = None

    @property
    def id(self) -> UUID:
        """The worker's id, fresh for each start."""
        return self._engine.id

    @property
    def errors(self) -> ErrorLog:
        """What background loops met: an async iterator; of 256 it keeps the first and last 128
        and counts the rest (seed:W24, D38)."""
        return self._engine.errors

    def health(self) -> Health:
        """Whether every loop has made progress lately, and what not."""
        return self._engine.health()

    def stop(self, grace: float | None = None) -> None:
        """Ask for a graceful stop within ``grace`` seconds (default: ``shutdown_grace``); a second
        call stops now. From any thread; returns at once."""
        self._engine.stop(grace)

    async def __aenter__(self) -> Self:
        self._group = create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._run, self._engine)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        if self._group is None:
            raise InvalidState("this worker was not entered")
        self.stop()
        cancelled = exc_type is not None and issubclass(exc_type, get_cancelled_exc_class())
        try:
            if cancelled:
                return await self._group.__aexit__(exc_type, exc, traceback)
            # The body's own error goes on as itself, not in a group, when the worker has stopped.
            await self._group.__aexit__(None, None, None)
            return None
        except BaseExceptionGroup as group:
            raise sole(group) from None
