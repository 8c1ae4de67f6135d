"""The engine's way to the store: no call without a deadline, none given up half way (rule R8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

import anyio

from taskq.bridge import Bridge
from taskq.errors import BackendUnavailable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

PATIENCE = 1.2
"""Seconds that a call past its deadline gets to end, as it may have done its work after all: a
little more than the bridge itself waits."""


class Access:
    """Calls the store from the engine's event loop.

    A call is shielded from cancellation: it ends with the store's answer or with its deadline, so
    that nobody is left not knowing what was done merely because of being cancelled.
    """

    def __init__(self, bridge: Bridge, *, deadline: float) -> None:
        self._bridge = bridge
        self._deadline = deadline
        self._end = math.inf
        self._running: set[anyio.CancelScope] = set()

    async def call(self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """Run ``function(*args)`` beside the store and return its value.

        Raises what it raises, and BackendUnavailable when it has not answered by the deadline.
        """
        now = anyio.current_time()
        deadline = max(0.0, min(self._deadline, self._end - PATIENCE - now))
        last = min(now + self._deadline + PATIENCE, self._end)
        with anyio.CancelScope(deadline=last, shield=True) as scope:
            self._running.add(scope)
            try:
                return await self._bridge.call(function, *args, deadline=deadline)
            finally:
                self._running.discard(scope)
        name = getattr(function, "__name__", repr(function))
        raise BackendUnavailable(f"the store did not answer {name!r} in time")

    def end_by(self, time: float) -> None:
        """From now on no call lasts beyond ``time``, on the event loop's clock."""
        self._end = min(self._end, time)
        for scope in self._running:
            scope.deadline = min(scope.deadline, self._end)
