"""The direct bridge: for stores that need no event loop, such as memory."""

from __future__ import annotations

import inspect
import os
import sys
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

from anyio.lowlevel import checkpoint

from taskq.bridge.protocol import DEADLINE, GRACE, Bridge

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class DirectBridge(Bridge):
    """Runs the function where the caller is. No thread, no timer, no deadline.

    Under a virtual clock nothing here moves time, so trio's autojump works.
    """

    def __init__(self) -> None:
        self._fork_callbacks: list[Callable[[], Callable[[], object] | None]] = []
        _directs.add(self)

    async def call(
        self,
        function: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        deadline: float | None = DEADLINE,
    ) -> T:
        """Await ``function(*args)`` on the caller's own loop; ``deadline`` is not used."""
        return await function(*args)

    def call_sync(
        self,
        function: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        deadline: float | None = DEADLINE,
    ) -> T:
        """Run ``function(*args)`` to its end here; ``deadline`` is not used.

        Raises RuntimeError when the function suspends: there is no loop to wake it.
        """
        coroutine = function(*args)
        try:
            coroutine.send(None)
        except StopIteration as end:
            value: T = end.value
            return value
        coroutine.close()
        name = getattr(function, "__qualname__", repr(function))
        raise RuntimeError(f"{name} suspended, but no event loop runs it: await it with call")

    def spawn(self, function: Callable[[*Ts], Coroutine[Any, Any, object]], *args: *Ts) -> None:
        """Run ``function(*args)`` to its end here and now; what it raises is raised here."""
        self.call_sync(function, *args)

    def on_fork(self, callback: Callable[[], object]) -> None:
        """See ``Bridge.on_fork``."""
        if inspect.ismethod(callback):
            self._fork_callbacks.append(weakref.WeakMethod(callback))
        else:
            self._fork_callbacks.append(lambda: callback)

    def reset_after_fork(self) -> None:
        """Run the fork callbacks."""
        for find in self._fork_callbacks:
            callback = find()
            if callback is not None:
                callback()

    def close(self, grace: float = GRACE) -> None:
        """Nothing runs here between calls, so there is nothing to end."""

    async def aclose(self, grace: float = GRACE) -> None:
        """Nothing to end; a checkpoint."""
        await checkpoint()


_directs: weakref.WeakSet[DirectBridge] = weakref.WeakSet()


def _reset_directs() -> None:
    for bridge in tuple(_directs):
        bridge.reset_after_fork()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_reset_directs)
