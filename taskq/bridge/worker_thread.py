"""The worker thread: runs one blocking function and tells when it has really ended."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync

from taskq.bridge.poster import loop_poster

T = TypeVar("T")

_busy: set[threading.Thread] = set()
_limiter: RunVar[anyio.CapacityLimiter] = RunVar("taskq_worker_threads")


async def run_in_thread(function: Callable[[], T], *, on_end: Callable[[], object]) -> T:
    """Run ``function()`` in a worker thread, in a copy of the current context; return its value.

    When the caller is cancelled it returns at once. The thread cannot be killed: it goes on by
    itself, and its value or error is dropped. ``on_end`` is called exactly once on the caller's
    loop, when the thread is done with the function or it is certain that it never began. It must
    not raise. If the loop is gone by then it is not called.

    The number of threads is not limited here: whoever calls holds the permits. Threads are reused.
    """
    post = loop_poster()
    began = threading.Lock()  # taken by the thread when it begins, or by us to forbid that

    def body() -> T:
        if not began.acquire(blocking=False):
            raise RuntimeError("the caller was cancelled before the thread began")
        thread = threading.current_thread()
        _busy.add(thread)
        try:
            return function()
        finally:
            _busy.discard(thread)
            post(on_end)

    try:
        return await run_sync(body, abandon_on_cancel=True, limiter=_unlimited())
    finally:
        if began.acquire(blocking=False):
            post(on_end)


def busy_threads() -> int:
    """How many threads of this process are inside a function of ``run_in_thread`` now."""
    return len(_busy)


def _unlimited() -> anyio.CapacityLimiter:
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(math.inf)
        _limiter.set(limiter)
    return limiter
