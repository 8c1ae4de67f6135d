"""The client of the tasks in a process: what a handler enqueues and awaits goes to the worker.

So a child is stored by the worker's own connection, and a wait gives the worker's slot up. What
only a connection can do (``session=``, ``connection=``) is done here, by this process's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from taskq.backends import CallerTransaction
from taskq.bridge import run_in_thread
from taskq.bridge.running import on_event_loop
from taskq.client import StoreClient, WouldBlock
from taskq.endings import Endings
from taskq.errors import TaskQError
from taskq.future import Tracker
from taskq.identifiers import new_id
from taskq.model import Activity, Ended, Receipt
from taskq.options import TaskOptions
from taskq.processes import wire
from taskq.processes.following import FollowedEndings
from taskq.processes.line import Line
from taskq.snapshot import ActivityInfo
from taskq.task import Effective
from taskq.transaction import EnlistedTracker

T = TypeVar("T")


class ProcessClient:
    """See ``task.Client``. ``own`` is this process's own client of the same app."""

    def __init__(self, line: Line, own: StoreClient) -> None:
        self._line = line
        self._own = own
        self.owner = own.owner
        self.max_depth = own.max_depth
        self.max_generations = own.max_generations
        self.new_id = new_id

    def effective(self, options: TaskOptions) -> Effective:
        """See ``task.Client``."""
        return self._own.effective(options)

    def submit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """See ``task.Client``."""
        calls = list(activities)
        return self._line.ask(lambda number: wire.Submit(number, calls), wire.Stored).receipts

    async def asubmit(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """See ``task.Client``."""
        return await _in_thread(partial(self.submit, activities))

    def enlist(
        self, activities: Sequence[Activity[Any]], transaction: CallerTransaction
    ) -> EnlistedTracker:
        """See ``task.Client``."""
        return self._own.enlist(activities, transaction).tracked_by(self)

    async def aenlist(
        self, activities: Sequence[Activity[Any]], transaction: CallerTransaction
    ) -> EnlistedTracker:
        """See ``task.Client``."""
        return (await self._own.aenlist(activities, transaction)).tracked_by(self)

    async def wait(self, id: UUID) -> Ended | None:
        """See ``future.Tracker``."""
        return (await self._line.wait(partial(_wait, id, None), wire.Waited)).ended

    def wait_sync(self, id: UUID, timeout: float | None) -> Ended | None:
        """See ``future.Tracker``."""
        if on_event_loop():
            raise WouldBlock("result() would block this thread's event loop: await it")
        return self._line.ask(partial(_wait, id, timeout), wire.Waited).ended

    def wait_each(self, ids: Collection[UUID]) -> Endings:
        """See ``future.Tracker``."""
        return FollowedEndings(self._line, ids)

    def committed(self, id: UUID) -> Tracker:
        """See ``future.Tracker``."""
        return self

    def info(self, id: UUID) -> ActivityInfo:
        """See ``future.Tracker``."""
        return self._line.ask(lambda number: wire.Look(number, id), wire.Looked).info

    async def ainfo(self, id: UUID) -> ActivityInfo:
        """See ``future.Tracker``."""
        return await _in_thread(partial(self.info, id))

    def cancel(self, id: UUID, *, tree: bool = False) -> bool:
        """See ``future.Tracker``."""
        return self._line.ask(lambda number: wire.Cancel(number, id, tree), wire.Met).accepted

    async def acancel(self, id: UUID, *, tree: bool = False) -> bool:
        """See ``future.Tracker``."""
        return await _in_thread(partial(self.cancel, id, tree=tree))

    def callers(self, id: UUID) -> str:
        """See ``task.Client``."""
        try:
            return self._line.ask(lambda number: wire.Callers(number, id), wire.Named).callers
        except TaskQError:
            return ""

    async def acallers(self, id: UUID) -> str:
        """See ``task.Client``."""
        return await _in_thread(partial(self.callers, id))


def _wait(id: UUID, timeout: float | None, number: int) -> wire.Wait:
    return wire.Wait(number, id, timeout)


async def _in_thread(function: Callable[[], T]) -> T:
    return await run_in_thread(function, on_end=_nothing)


def _nothing() -> None:
    return
