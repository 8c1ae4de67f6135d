"""The lane: one thread with one resource, for drivers that do one thing after the other."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final, Generic, TypeAlias, TypeVar

from taskq.bridge import forks

R = TypeVar("R")
T = TypeVar("T")
_Jobs: TypeAlias = SimpleQueue[Callable[[], object] | None]

HELD: Final = 2 * forks.PATIENCE
"""Seconds after which a lane goes on by itself when nobody tells it that the fork is over."""


class Lane(Generic[R]):
    """Runs functions one at a time on a daemon thread, each with the lane's resource.

    ``open`` makes it on that thread, when it is first needed and again after an error of the class
    ``spoils``; ``close`` ends it. A function that has begun runs to its end whatever becomes of its
    caller: nothing is left half done. Before a fork the resource is closed, see ``forks``.
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
        self._jobs: _Jobs | None = None
        self._resource: R | None = None
        self._resumed = threading.Event()
        forks.guard(self)

    async def run(self, function: Callable[[R], T]) -> T:
        """``function(resource)``, after those asked for before; always from the same asyncio loop.

        When the caller is cancelled before the function has begun, it is never run.
        """
        future: Future[T] = Future()
        self._running().put(lambda: self._work(future, function))
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Close the resource and end the thread, after what was asked for before.

        Safe to repeat; the next ``run`` begins anew.
        """
        jobs, self._jobs = self._jobs, None
        if jobs is None:
            return
        closed: Future[None] = Future()
        jobs.put(lambda: self._end(closed))
        jobs.put(None)
        await asyncio.shield(asyncio.wrap_future(closed))

    def hold(self) -> threading.Event:
        """See ``forks.Guarded``."""
        gone, self._resumed = threading.Event(), threading.Event()
        if self._jobs is None:
            gone.set()
        else:
            resumed = self._resumed
            self._jobs.put(lambda: self._let_go(gone, resumed))
        return gone

    def resume(self) -> None:
        """See ``forks.Guarded``."""
        self._resumed.set()

    def forget(self) -> None:
        """See ``forks.Guarded``. Safe to repeat."""
        self._jobs = None
        if self._resource is not None:
            forks.keep_open(self._resource)
            self._resource = None

    def _running(self) -> _Jobs:
        if self._jobs is None:
            self._jobs = SimpleQueue()
            weakref.finalize(self, self._jobs.put, None).atexit = False
            threading.Thread(target=_live, args=(self._jobs,), name=self._name, daemon=True).start()
        return self._jobs

    # -- on the lane's thread --

    def _work(self, future: Future[T], function: Callable[[R], T]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            if self._resource is None:
                self._resource = self._open()
            result = function(self._resource)
        except BaseException as error:
            if isinstance(error, self._spoils):
                self._drop()
            future.set_exception(error)
        else:
            future.set_result(result)

    def _end(self, closed: Future[None]) -> None:
        self._drop()
        closed.set_result(None)

    def _let_go(self, gone: threading.Event, resumed: threading.Event) -> None:
        self._drop()
        gone.set()
        resumed.wait(HELD)

    def _drop(self) -> None:
        resource, self._resource = self._resource, None
        if resource is not None:
            self._close(resource)


def _live(jobs: _Jobs) -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        job()
        del job  # it holds the lane, which may be dropped while nothing is asked for
