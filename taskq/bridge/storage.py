"""The storage thread: one daemon thread with an asyncio loop of its own.

Calls enter from any thread and are begun, stopped and ended on the loop. Every call that entered
is settled exactly once, whatever happens to the thread: by its own end, by the end of the thread,
or by ``give_up`` when the thread is stuck.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar

from taskq.bridge.call import Call, Lost, Outcome, Raised, Stopped, outcome_of
from taskq.bridge.doorbell import Doorbell

T = TypeVar("T")
NewLoop: TypeAlias = Callable[[], asyncio.AbstractEventLoop]

CANCEL_PATIENCE: Final = 1.0
"""Seconds that cancelled tasks get to end, when the thread ends."""

END_PATIENCE: Final = 3 * CANCEL_PATIENCE
"""Seconds beyond the grace after which a thread that was asked to end counts as stuck."""


class StorageThread:
    """Runs calls on an event loop of its own until it is asked to end, or dies.

    ``owner`` tells the threads of different bridges apart. ``ended`` is rung when the thread is
    done with its last call and its loop is closed.
    """

    def __init__(self, owner: object, new_loop: NewLoop) -> None:
        self.owner = owner
        self.ended = Doorbell()
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._live, name="taskq-storage", daemon=True)
        self._gate = threading.RLock()
        self._calls: set[Call[Any]] = set()
        self._close_requested = asyncio.Event()
        self._grace = 0.0
        self._accident: BaseException | None = None
        self._closing = False
        self._buried = False

    def start(self) -> None:
        """Start the thread. Raises RuntimeError, with nothing left open, when that is refused."""
        try:
            self._thread.start()
        except BaseException:  # whatever it was, the loop is closed
            self._loop.close()
            raise

    @staticmethod
    def current() -> StorageThread | None:
        """The storage thread that runs the caller, if one does."""
        return getattr(_here, "storage_thread", None)

    # -- from any thread --

    @property
    def accepting(self) -> bool:
        """Whether new calls from outside may enter."""
        return not self._closing

    def enter(self, call: Call[Any]) -> bool:
        """Take the call in and begin it soon; False, with nothing done, when it is too late.

        While the thread is closing only its own tasks may still enter calls.
        """
        with self._gate:
            if self._buried or (self._closing and StorageThread.current() is not self):
                return False
            self._calls.add(call)
            self._loop.call_soon_threadsafe(self._begin, call)
            return True

    def stop(self, call: Call[Any]) -> None:
        """Cancel the call's task, once."""
        self._post(lambda: self._stop_task(call))

    def abandon(self, call: Call[Any]) -> None:
        """Cancel the call's task, once; nobody will hear its outcome."""
        self._post(lambda: self._abandon(call))

    def request_close(self, grace: float) -> None:
        """Ask the thread to end once its calls have, or after ``grace`` seconds; do not wait."""
        with self._gate:
            self._closing = True
            self._grace = grace
            self._post(self._close_requested.set)

    def join(self) -> None:
        """Wait for the thread to be gone, at once when ``ended`` was rung."""
        self._thread.join(END_PATIENCE)

    def give_up(self) -> None:
        """Release everybody who waits for a thread that is stuck; the thread itself is left."""
        with self._gate:
            self._closing = True
            calls = tuple(self._calls)
        for call in calls:
            self._settle(call, Lost(None))

    def _post(self, callback: Callable[[], object]) -> None:
        with self._gate:
            if not self._buried:
                self._loop.call_soon_threadsafe(callback)

    def _settle(self, call: Call[T], outcome: Outcome[T]) -> None:
        with self._gate:
            if call not in self._calls:
                return
            self._calls.remove(call)
        call.outcome = outcome
        call.done.ring()

    # -- on the storage thread --

    def _live(self) -> None:
        _here.storage_thread = self
        try:
            _mark_as_asyncio()
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._end_after_accident(error)
        try:
            with self._gate:
                self._closing = self._buried = True
            self._loop.close()
        finally:
            for call in tuple(self._calls):
                self._settle(call, Lost(self._accident))
            self.ended.ring()

    async def _serve(self) -> None:
        # Run as the loop's root task: anyio keeps its worker threads for as long as that lives.
        await self._close_requested.wait()
        last = self._loop.time() + self._grace
        while (tasks := self._tasks()) and (left := last - self._loop.time()) > 0:
            await asyncio.wait(tasks, timeout=left)
        await self._end_tasks()

    def _tasks(self) -> set[asyncio.Task[Any]]:
        with self._gate:
            return {call.task for call in self._calls if call.task is not None}

    async def _end_tasks(self) -> None:
        with self._gate:
            calls = tuple(self._calls)
        for call in calls:
            self._stop_task(call)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others - self._tasks():
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=CANCEL_PATIENCE)
        with suppress(TimeoutError):  # a generator that will not close is left to the loop's end
            async with asyncio.timeout(CANCEL_PATIENCE):
                await self._loop.shutdown_asyncgens()

    def _end_after_accident(self, accident: BaseException) -> None:
        with self._gate:
            self._closing = True
            self._accident = accident
        self._report("the storage thread ended by accident", accident)
        try:
            self._loop.run_until_complete(self._end_tasks())
        except BaseException as error:
            self._report("the storage thread could not end its tasks", error)

    def _begin(self, call: Call[Any]) -> None:
        call.task = self._loop.create_task(_run(call.function))
        call.task.add_done_callback(lambda task: self._finish(call, task))

    def _finish(self, call: Call[Any], task: asyncio.Task[Any]) -> None:
        call.task = None
        outcome: Outcome[Any] = outcome_of(task)
        if not call.heard and isinstance(outcome, Raised):
            self._report("a call that nobody waits for failed beside the store", outcome.error)
        if isinstance(outcome, Stopped) and self._accident is not None:
            outcome = Lost(self._accident)
        self._settle(call, outcome)

    def _stop_task(self, call: Call[Any]) -> None:
        if call.task is None or call.stopping:
            return
        call.stopping = True
        call.task.cancel()

    def _abandon(self, call: Call[Any]) -> None:
        call.heard = False
        if isinstance(call.outcome, Raised):
            self._report("a call whose caller was cancelled had failed", call.outcome.error)
        self._stop_task(call)

    def _report(self, message: str, error: BaseException) -> None:
        self._loop.call_exception_handler({"message": message, "exception": error})


_here = threading.local()


async def _run(function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    # Calling the function inside the task turns a wrong call into the task's error, and leaves no
    # coroutine behind that was never awaited when the task is cancelled before its first step.
    return await function()


def storage_loop_factory() -> NewLoop:
    """How to make a storage loop: uvloop's where it is installed, else asyncio's own.

    Ask early, not in the storage thread: a process that forks while another thread is in the middle
    of an import leaves the child waiting for that import for ever, or with half of the module. So
    what the storage loop needs of anyio, which loads that late, is loaded here too.
    """
    with suppress(ImportError):  # a private name: where it moved, only this care is lost
        importlib.import_module("anyio._backends._asyncio")
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop
    factory: NewLoop = uvloop.new_event_loop
    return factory


def _mark_as_asyncio() -> None:
    # Calls run in their caller's context, and `anyio.run(..., backend="trio")` leaves the word
    # "trio" in it. What is set for the thread goes before what is set in the context. Without
    # sniffio there is no trio either.
    with suppress(ImportError):
        from sniffio import thread_local

        thread_local.name = "asyncio"
