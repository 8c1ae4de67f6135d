"""The lane: one thread with one resource, for drivers that do one thing after the other."""

from __future__ import annotations

import asyncio
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final, Generic, TypeAlias, TypeVar

from taskq.bridge import forks

R = TypeVar("R")
T = TypeVar("T")
_Job: TypeAlias = Callable[[], bool]
"""Done on the lane's thread; answers whether the thread is to end."""
_Jobs: TypeAlias = SimpleQueue[_Job | None]

HELD: Final = 2 * forks.PATIENCE
"""Seconds after which a lane goes on by itself when nobody tells it that the fork is over."""


class Lane(Generic[R]):
    """Runs functions one at a time on a daemon thread, each with the lane's resource.

    ``open`` makes it on that thread, when it is first needed and again after an error of the class
    ``spoils``; ``close`` ends it. A function that has begun runs to its end whatever becomes of its
    caller: nothing is left half done. There is never more than one thread, so never more than one
    resource. Before a fork it is closed, see ``forks``.
    """

    def __init__(
        self,
        name: str,
        *,
        open: Callable[[], R],
        close: Callable[[R], object],
        spoils: type[Exception],
    ) -> None:
        self._name = name
        self._open = open
        self._close = close
        self._spoils = spoils
        self._resource: R | None = None
        self._begin_anew()
        forks.guard(self)

    async def run(self, function: Callable[[R], T]) -> T:
        """``function(resource)``, after all that was asked for before.

        When the caller is cancelled before the function has begun, it is never run.
        """
        future: Future[T] = Future()
        self._put(lambda: self._work(future, function))
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Close the resource and end the thread, after what was asked for before.

        Safe to repeat; the next ``run`` begins anew. Raises what closing the resource raised: it is
        given up all the same.
        """
        closed: Future[None] = Future()
        with self._lock:
            if not self._alive:
                return
            self._jobs.put(lambda: self._end(closed))
        await asyncio.shield(asyncio.wrap_future(closed))

    def hold(self) -> threading.Event:
        """See ``forks.Guarded``."""
        gone = threading.Event()
        with self._lock:
            self._gone = gone
            self._may_open.clear()
            if self._alive:
                self._jobs.put(self._let_go)
            else:
                gone.set()
        return gone

    def resume(self) -> None:
        """See ``forks.Guarded``."""
        self._may_open.set()

    def forget(self) -> None:
        """See ``forks.Guarded``. Safe to repeat."""
        self._forgotten()
        if self._resource is not None:
            forks.keep_open(self._resource)
            self._resource = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Be as a lane that has no thread; after a fork no lock and no queue can be trusted."""
        self._lock = threading.Lock()
        self._alive = False
        self._jobs: _Jobs = SimpleQueue()
        self._gone = threading.Event()
        self._may_open = threading.Event()
        self._may_open.set()
        # A lane that is dropped ends its thread.
        dropped = weakref.finalize(self, self._jobs.put, None)
        dropped.atexit = False
        self._forgotten: Callable[[], object] = dropped.detach

    def _put(self, job: _Job) -> None:
        with self._lock:
            if not self._alive:
                arguments = (self._jobs,)
                threading.Thread(target=_live, args=arguments, name=self._name, daemon=True).start()
                self._alive = True
            self._jobs.put(job)

    # -- on the lane's thread --

    def _work(self, future: Future[T], function: Callable[[R], T]) -> bool:
        if not future.set_running_or_notify_cancel():
            return False
        try:
            result = function(self._opened())
        except BaseException as error:
            if isinstance(error, self._spoils):
                self._drop_after(error)
            future.set_exception(error)
        else:
            future.set_result(result)
        return False

    def _opened(self) -> R:
        if self._resource is None:
            if not self._may_open.is_set():
                self._gone.set()
                self._may_open.wait(HELD)
            self._resource = self._open()
        return self._resource

    def _end(self, closed: Future[None]) -> bool:
        """Ends the thread, unless something was asked for meanwhile."""
        error = self._drop()
        with self._lock:
            over = self._jobs.empty()
            self._alive = not over
        if not closed.set_running_or_notify_cancel():
            _report(error)
        elif error is None:
            closed.set_result(None)
        else:
            closed.set_exception(error)
        return over

    def _let_go(self) -> bool:
        error = self._drop()
        self._gone.set()
        _report(error)
        return False

    def _drop_after(self, spoiling: BaseException) -> None:
        error = self._drop()
        if error is not None:
            spoiling.add_note(f"and what it was done with could not be closed: {error!r}")

    def _drop(self) -> BaseException | None:
        """Close the resource; answers what that raised. It is never used again either way."""
        resource, self._resource = self._resource, None
        try:
            if resource is not None:
                self._close(resource)
        except BaseException as error:
            return error
        return None


def _live(jobs: _Jobs) -> None:
    while True:
        job = jobs.get()
        if job is None or _over(job):
            return
        del job  # it holds the lane, which may be dropped while nothing is asked for


def _over(job: _Job) -> bool:
    """Do it. No job ends the thread by an error: those that follow would wait for ever."""
    try:
        return job()
    except BaseException as error:
        _report(error)
        return False


def _report(error: BaseException | None) -> None:
    if error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
