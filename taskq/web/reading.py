"""The console's way to the store: a reader of its own, opened when first asked."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

from taskq.backends import Inspector, Readable, Reader
from taskq.bridge import Bridge
from taskq.client import StoreClient

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

CONNECTIONS = 2
"""Connections of its own: neither workers nor call-sites wait for what somebody looks at."""
STATEMENT = 2.0
"""Seconds that one statement may take."""


class Reading:
    """Asks an app's store what readers ask, from any event loop; survives a fork.

    ``inspector`` is a reader with connections of its own where the store gives one (``Readable``),
    else the store itself.
    """

    def __init__(self, client: StoreClient) -> None:
        store = client.store
        own: Reader | None = None
        if isinstance(store, Readable):
            own = store.reader(connections=CONNECTIONS, timeout=STATEMENT)
            client.bridge.on_fork(self._after_fork)
        self.inspector: Inspector = own or store
        self._own = own
        self._client = client
        self._opening = _Opening()
        if own is not None:
            weakref.finalize(self, _let_go, client.bridge, own, self._opening)

    async def ask(
        self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts, deadline: float
    ) -> T:
        """Run one of the inspector's methods. Raises BackendUnavailable where it takes longer than
        ``deadline`` seconds."""
        if self._own is None:
            return await self._client.call(function, *args, deadline=deadline)
        return await self._client.bridge.call(
            self._with_reader, self._own, function, args, deadline=deadline
        )

    async def aclose(self) -> None:
        """Give back its connections; asked again, it opens them again."""
        if self._own is not None and self._opening.done:
            await self._client.bridge.call(self._closed, self._own)

    async def _with_reader(
        self, own: Reader, function: Callable[[*Ts], Coroutine[Any, Any, T]], args: tuple[*Ts]
    ) -> T:
        if not self._opening.done:
            await own.open()
            self._opening.done = True
        return await function(*args)

    async def _closed(self, own: Reader) -> None:
        self._opening.done = False
        await own.close()

    def _after_fork(self) -> None:
        self._opening.done = False
        if self._own is not None:
            self._own.after_fork()


class _Opening:
    """Whether the reader is open, as far as this process knows."""

    done = False


def _let_go(bridge: Bridge, own: Reader, opening: _Opening) -> None:
    """Close what nobody closed: where a console is mounted, no lifespan may run."""
    if opening.done:
        bridge.spawn(own.close)
