"""The processes of one worker: started when they are needed, kept warm for the next attempt."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final

import anyio
import msgspec

from taskq.clock import Clock
from taskq.context import Context
from taskq.engine.running.outside import EndedOutside
from taskq.lifecycle import Failed
from taskq.model import Attempt, ErrorInfo
from taskq.processes import wire
from taskq.processes.child import Child, Gone, start
from taskq.processes.conversation import Client, Conversation, died
from taskq.processes.reference import Reference

STARTING: Final = 60.0
"""Seconds in which a process must have imported what it needs."""
GREETING: Final = 5.0
"""Seconds in which an idle process must answer, else it is given up; ``STARTING`` where it has to
import another task first."""
MOST_IDLE: Final = 60.0
"""Seconds after which an idle process is ended."""
MOST_ATTEMPTS: Final = 1000
"""Attempts of one process; then a fresh one takes its place, whatever its memory holds by then."""


class ProcessPool:
    """Every process runs one attempt at a time, of any of the worker's process tasks.

    ``most_idle`` are kept when they are not needed. ``logs``: see ``wire.Prepare``. On the worker's
    event loop.
    """

    def __init__(
        self, client: Client, *, clock: Clock, most_idle: int, logs: tuple[str, str] | None
    ) -> None:
        self._client = client
        self._clock = clock
        self._most_idle = most_idle
        self._logs = logs
        self._idle: list[Child] = []
        self._children: set[Child] = set()
        self._main: wire.Main | None = None

    @property
    def pids(self) -> frozenset[int]:
        """The process ids of all that are alive."""
        return frozenset(child.pid for child in self._children)

    def outside(self, reference: Reference) -> ProcessTask:
        """What runs the attempts of one task."""
        self._main = self._main or reference.main
        return ProcessTask(self, reference)

    async def take(self, attempt: Attempt, reference: Reference) -> Child:
        """A process that is ready. Raises EndedOutside when none can be started."""
        while self._idle:
            child = self._idle.pop()
            if await self._answers(child, reference):
                return child
            await self.drop(child)
        return await self._fresh(attempt, reference)

    async def converse(
        self, child: Child, attempt: Attempt, reference: Reference, context: Context
    ) -> str:
        """Run an attempt there; the JSON text of its result. Raises EndedOutside."""
        child.attempts += 1
        child.known.add((reference.module, reference.name))
        try:
            return await Conversation(child, self._client, context).run(attempt, reference)
        except Gone:
            self._children.discard(child)
            raise await died(child) from None

    async def give_back(self, child: Child) -> None:
        """It is done with its attempt: keep it, or end it."""
        if child not in self._children:
            return
        if not child.sound or child.attempts >= MOST_ATTEMPTS:
            await self.drop(child)
            return
        child.idle_since = self._clock.monotonic()
        self._idle.append(child)
        if len(self._idle) > self._most_idle:
            await self.drop(self._idle.pop(0))

    async def drop(self, child: Child) -> None:
        """End it. Not to be cancelled, and over in a moment."""
        if child in self._children:
            self._children.discard(child)
            with anyio.CancelScope(shield=True):
                await child.end()

    async def tidy(self) -> None:
        """End what has been idle for long, or has ended by itself."""
        now = self._clock.monotonic()
        for child in self._idle.copy():
            if child in self._idle and (child.ended or now - child.idle_since >= MOST_IDLE):
                self._idle.remove(child)
                await self.drop(child)

    async def aclose(self) -> None:
        """End all of them."""
        self._idle.clear()
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for child in self._children.copy():
                    group.start_soon(self.drop, child)

    async def _fresh(self, attempt: Attempt, reference: Reference) -> Child:
        try:
            child = await start()
        except OSError as error:
            raise _not_started(attempt, f"could not be started: {error}") from error
        self._children.add(child)
        try:
            await self._prepare(child, attempt, reference)
        except Gone:
            self._children.discard(child)
            raise await died(child) from None
        except BaseException:
            await self.drop(child)
            raise
        return child

    async def _prepare(self, child: Child, attempt: Attempt, reference: Reference) -> None:
        prepare = wire.Prepare(
            attempt=attempt,
            main=self._main,
            module=reference.module,
            name=reference.name,
            arguments=sys.argv,
            logs=self._logs,
        )
        with anyio.move_on_after(STARTING):
            await child.send(prepare)
            said = await child.receive()
            if isinstance(said, wire.Broken):
                raise EndedOutside(Failed(error=said.error))
            return
        raise _not_started(attempt, f"had not imported {reference.module} after {STARTING:g} s")

    async def _answers(self, child: Child, reference: Reference) -> bool:
        """Whether an idle process is ready for this task. What an earlier handler has spoilt there
        is no fault of the next one: such a process is given up."""
        known = (reference.module, reference.name) in child.known
        with anyio.move_on_after(GREETING if known else STARTING):
            try:
                await child.send(wire.Greet(reference.module, reference.name))
                return isinstance(await self._said(child), wire.Ready)
            except (Gone, wire.TooLong, msgspec.DecodeError):
                return False
            except BaseException:
                await self.drop(child)
                raise
        return False

    async def _said(self, child: Child) -> wire.Ready | wire.Unfit:
        """Its answer. What threads of an earlier handler still say is passed over."""
        while True:
            said = await child.receive()
            if isinstance(said, wire.Ready | wire.Unfit):
                return said


class ProcessTask:
    """One task whose attempts run in processes of a pool; see ``engine.outside.Outside``."""

    def __init__(self, pool: ProcessPool, reference: Reference) -> None:
        self._pool = pool
        self._reference = reference

    async def program(self, attempt: Attempt) -> ProcessProgram:
        """A process that is ready. Raises EndedOutside."""
        child = await self._pool.take(attempt, self._reference)
        return ProcessProgram(self._pool, child, self._reference)


class ProcessProgram:
    """A process for one attempt; see ``engine.outside.Program``."""

    def __init__(self, pool: ProcessPool, child: Child, reference: Reference) -> None:
        self._pool = pool
        self._child = child
        self._reference = reference

    async def __aenter__(self) -> ProcessProgram:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Whatever cut the attempt short also ends its process."""
        if exc is None or isinstance(exc, EndedOutside):
            await self._pool.give_back(self._child)
        else:
            await self._pool.drop(self._child)

    async def run(self, attempt: Attempt, context: Context) -> str:
        """Run the attempt; the JSON text of its result. Raises EndedOutside."""
        return await self._pool.converse(self._child, attempt, self._reference, context)


def _not_started(attempt: Attempt, why: str) -> EndedOutside:
    error = ErrorInfo(
        type="ProcessNotStarted", message=f"its process {why}", attempts=attempt.number
    )
    return EndedOutside(Failed(error=error))
