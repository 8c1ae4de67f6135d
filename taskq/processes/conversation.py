"""What a worker and a process say to each other while an attempt runs there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, assert_never
from uuid import UUID

import anyio
from anyio.abc import TaskGroup

from taskq.context import Context, waiting
from taskq.endings import Endings
from taskq.engine.running.outside import EndedOutside
from taskq.lifecycle import Died, Failed, Snoozed
from taskq.model import Activity, Attempt, Ended, Receipt
from taskq.processes import wire
from taskq.processes.child import Child, Gone
from taskq.processes.reference import Reference
from taskq.processes.refusal import refusal
from taskq.processes.series import Series
from taskq.snapshot import ActivityInfo


class Client(Protocol):
    """What handlers in processes may ask of the app."""

    async def asubmit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """Store calls."""
        ...

    async def wait_within(self, id: UUID, timeout: float | None) -> Ended | None:
        """How an activity ended. Raises ResultTimeout after ``timeout`` seconds."""
        ...

    def wait_each(self, ids: Collection[UUID]) -> Endings:
        """How activities end, as they do."""
        ...

    async def ainfo(self, id: UUID) -> ActivityInfo:
        """A snapshot. Raises ActivityNotFound."""
        ...

    async def acancel(self, id: UUID, *, tree: bool = False) -> bool:
        """Request a cancel."""
        ...

    async def acallers(self, id: UUID) -> str:
        """The types from an activity's root down to it."""
        ...


class Conversation:
    """One attempt in a process, from its first word to its last.

    Its requests are served in the context of the attempt, each in a task: so a wait there gives the
    slot up as any wait does, and what is enqueued goes the way of all calls.
    """

    def __init__(self, child: Child, client: Client, context: Context) -> None:
        self._child = child
        self._client = client
        self._context = context
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._series: dict[int, Series] = {}

    async def run(self, attempt: Attempt, reference: Reference) -> str:
        """The result. Raises EndedOutside, and Gone when the process is."""
        await self._child.send(
            wire.Run(attempt=attempt, module=reference.module, name=reference.name)
        )
        done: wire.Done | None = None
        try:
            async with anyio.create_task_group() as group:
                done = await self._until_done(group)
                group.cancel_scope.cancel()  # threads that the handler has left behind
        finally:
            for series in self._series.values():
                series.close()
        match done:
            case wire.Returned(result):
                return result
            case wire.Raised(error, retryable, delay):
                raise EndedOutside(Failed(error=error, retryable=retryable, delay=delay))
            case wire.Snoozed(delay):
                raise EndedOutside(Snoozed(delay))
            case None:
                raise Gone
            case _:
                assert_never(done)

    async def _until_done(self, group: TaskGroup) -> wire.Done | None:
        """The last word; None when the process is gone without one."""
        while True:
            try:
                said = await self._child.receive()
            except Gone:
                return None
            match said:
                case wire.Returned() | wire.Raised() | wire.Snoozed():
                    return said
                case wire.Progressed(done, total, note):
                    self._context.progress(done, total, note)
                case wire.Ready() | wire.Unfit() | wire.Broken():
                    pass
                case wire.Abandon(number):
                    self._abandon(number)
                case wire.Unfollow(number):
                    self._unfollow(number)
                case _:
                    scope = self._scopes[said.request] = anyio.CancelScope()
                    group.start_soon(self._serve, said, scope)

    def _abandon(self, number: int) -> None:
        scope = self._scopes.get(number)
        if scope is not None:
            scope.cancel()

    def _unfollow(self, number: int) -> None:
        series = self._series.pop(number, None)
        if series is not None:
            series.close()

    async def _serve(self, request: wire.Request, scope: anyio.CancelScope) -> None:
        answer: wire.Answer = wire.Abandoned(request.request)
        try:
            with scope:
                answer = await self._answer(request)
        except Exception as error:
            answer = refusal(request.request, error)
        finally:
            del self._scopes[request.request]
        try:
            await self._child.send(answer)
        except Gone:  # whoever reads learns of it too
            return

    async def _answer(self, request: wire.Request) -> wire.Answer:
        match request:
            case wire.Submit(number, activities):
                return wire.Stored(number, await self._client.asubmit(activities))
            case wire.Wait(number, id, timeout):
                async with waiting((id,)):
                    return wire.Waited(number, await self._client.wait_within(id, timeout))
            case wire.Follow(number, series, ids, had):
                return wire.Followed(number, await self._followed(series, ids).after(had))
            case wire.Look(number, id):
                return wire.Looked(number, await self._client.ainfo(id))
            case wire.Cancel(number, id, tree):
                return wire.Met(number, await self._client.acancel(id, tree=tree))
            case wire.Callers(number, id):
                return wire.Named(number, await self._client.acallers(id))
            case _:
                assert_never(request)

    def _followed(self, number: int, ids: Collection[UUID]) -> Series:
        series = self._series.get(number)
        if series is None:
            series = self._series[number] = Series(self._client.wait_each(ids), ids)
        return series


async def died(child: Child) -> EndedOutside:
    """A process is gone without a last word: see that it is, and say how. Not to be cancelled."""
    with anyio.CancelScope(shield=True):
        await child.end(told=False)
    return EndedOutside(Died(child.reason))
