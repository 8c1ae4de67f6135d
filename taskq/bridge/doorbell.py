"""The doorbell: wakes waiters wherever they wait.

It takes no lock, so it may be rung from a signal handler or a finalizer, and a fork can never leave
it locked. Two orders make that safe, each step being atomic:

- a waiter first enters itself, then looks whether the bell is rung;
- a ringer first marks the bell rung, then takes the waiters out one by one.

So either the waiter sees the ring or the ringer sees the waiter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from taskq.bridge.poster import loop_poster


class Doorbell:
    """Wakes every waiter: threads, asyncio tasks on any loop, trio tasks.

    Level-triggered: once rung it stays rung until ``clear()``, and whoever waits on a rung bell
    returns at once. A waiter that was there when the bell was rung is woken even if the bell is
    cleared before it runs. Hence "clear, then look, then wait" never misses a ring.
    """

    __slots__ = ("_rung", "_waiters")

    def __init__(self) -> None:
        self._rung = False
        self._waiters: dict[object, Callable[[], object]] = {}

    @property
    def rung(self) -> bool:
        """Whether the bell was rung since the last ``clear()``."""
        return self._rung

    def ring(self) -> None:
        """Wake all waiters; never blocks. A waiter whose loop is gone is ignored."""
        self._rung = True
        while self._waiters:
            try:
                _, wake = self._waiters.popitem()
            except KeyError:  # another thread took the last one
                return
            wake()

    def clear(self) -> None:
        """Let the next waiter wait. Clear before looking at what the bell stands for."""
        self._rung = False

    async def wait(self) -> None:
        """Return when the bell is rung. Always a checkpoint; cancellable on asyncio and trio."""
        event = anyio.Event()
        post = loop_poster()
        key = object()
        self._waiters[key] = lambda: post(event.set)
        try:
            if self._rung:
                await checkpoint()
                return
            await event.wait()
        finally:
            self._waiters.pop(key, None)

    def wait_sync(self, timeout: float | None) -> bool:
        """Block this thread until the bell is rung; False when ``timeout`` seconds passed first.

        ``None`` waits without end. Zero or less only looks.
        """
        event = threading.Event()
        key = object()
        self._waiters[key] = event.set
        try:
            if self._rung:
                return True
            return event.wait(None if timeout is None else min(timeout, threading.TIMEOUT_MAX))
        finally:
            self._waiters.pop(key, None)
