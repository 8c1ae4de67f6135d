"""The bridge as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DEADLINE: Final = 30.0
"""Seconds after which a call gives up, unless it says otherwise."""

GRACE: Final = 5.0
"""Seconds that ``close`` lets running calls go on, unless it says otherwise."""


class Bridge(Protocol):
    """Runs coroutine functions beside a store, for callers on any thread and any event loop."""

    async def call(
        self,
        function: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        deadline: float | None = DEADLINE,
    ) -> T:
        """Run ``function(*args)`` beside the store and return its value; from asyncio or trio.

        The function runs in a task of its own, in a copy of the caller's context. Its exceptions
        arrive with their traceback. When the caller is cancelled, that task is cancelled once and
        its real end awaited before the cancellation goes on, so nothing is left half done; the
        value is then lost. After ``deadline`` seconds (None: never) the task is cancelled and
        BackendUnavailable raised. Called beside the store, it simply awaits the function there.
        """
        ...

    def call_sync(
        self,
        function: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        deadline: float | None = DEADLINE,
    ) -> T:
        """The same for a thread: blocks it, also one that runs an event loop.

        Raises RuntimeError beside the store itself, where it would wait for its own thread.
        """
        ...

    def spawn(self, function: Callable[[*Ts], Coroutine[Any, Any, object]], *args: *Ts) -> None:
        """Run ``function(*args)`` beside the store and do not wait for it; from any thread."""
        ...

    def on_fork(self, callback: Callable[[], object]) -> None:
        """Have ``callback`` called in a forked child, before anything else uses this bridge there.

        A bound method is held weakly, anything else for as long as the bridge lives.
        """
        ...

    def close(self, grace: float = GRACE) -> None:
        """Let running calls end for ``grace`` seconds, cancel the others, stop.

        Idempotent, allowed from any thread or loop, bounded in time. Nothing is refused
        afterwards: the next call starts anew.
        """
        ...

    async def aclose(self, grace: float = GRACE) -> None:
        """``close`` without blocking the event loop. Cancelled, it leaves the closing to go on."""
        ...
