"""The served thread: an async function with a thread and an event loop of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVarTuple

import anyio

from taskq.bridge.poster import loop_poster

Ts = TypeVarTuple("Ts")


class ServedThread:
    """A running function, from outside its thread. Made by ``serve_in_thread``."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, object]], backend: str) -> None:
        self._function = function
        self._backend = backend
        self._gate = threading.Lock()
        self._stopped = False
        self._cancel: Callable[[], object] | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._live, name="taskq-served", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = 10.0) -> None:
        """Cancel the function and wait for its end; once it has ended, only raise its error.

        Raises what the function raised, or TimeoutError when it has not ended after ``timeout``
        seconds (None: no limit). Inside the served thread it only cancels.
        """
        with self._gate:
            self._stopped = True
            cancel = self._cancel
        if cancel is not None:
            cancel()
        if threading.current_thread() is not self._thread:
            self.wait(timeout)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the function has ended by itself; errors as in ``stop``."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"the served function has not ended within {timeout:g} s")
        if self._error is not None:
            raise self._error

    def _live(self) -> None:
        try:
            anyio.run(self._serve, backend=self._backend)
        except BaseException as error:
            self._error = error

    async def _serve(self) -> None:
        with anyio.CancelScope() as scope:
            post = loop_poster()
            with self._gate:
                self._cancel = lambda: post(scope.cancel)
                if self._stopped:
                    return
            await self._function()


def serve_in_thread(
    function: Callable[[*Ts], Coroutine[Any, Any, object]],
    *args: *Ts,
    backend: str = "asyncio",
) -> ServedThread:
    """Start ``function(*args)`` in a daemon thread, on an event loop of its own; return at once.

    ``backend`` is "asyncio" or "trio". The function ends by itself or by ``ServedThread.stop``.
    """
    return ServedThread(lambda: function(*args), backend)
