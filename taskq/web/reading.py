"""The console's way to the store: a reader of its own, opened when first asked."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

import anyio

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
    else the store itself. The reader is closed with the app's store, too.
    """

    def __init__(self, client: StoreClient) -> None:
        store = client.store
        self.inspector: Inspector = store
        self._kept: Kept | None = None
        self._client = client
        if isinstance(store, Readable):
            own = store.reader(connections=CONNECTIONS, timeout=STATEMENT)
            self.inspector = own
            self._kept = Kept(own)
            client.bridge.on_fork(self._after_fork)
            client.accompany(self._kept)
            weakref.finalize(self, _let_go, client.bridge, self._kept)

    async def ask(
        self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts, deadline: float
    ) -> T:
        """Run one of the inspector's methods. Raises BackendUnavailable where it takes longer than
        ``deadline`` seconds."""
        if self._kept is None:
            return await self._client.call(function, *args, deadline=deadline)
        return await self._client.bridge.call(self._kept.ask, function, args, deadline=deadline)

    async def aclose(self) -> None:
        """Give back its connections; asked again, it opens them again."""
        if self._kept is not None and self._kept.is_open:
            await self._client.bridge.call(self._kept.close)

    def _after_fork(self) -> None:
        if self._kept is not None:
            self._kept.after_fork()


class Kept:
    """A reader beside the store: opened by whoever asks first, once, and closed by ``close``."""

    def __init__(self, own: Reader) -> None:
        self._own = own
        self._lock: anyio.Lock | None = None
        self._opening = False
        self._open = False

    @property
    def is_open(self) -> bool:
        """Whether it is open, or about to be, as far as this process knows."""
        return self._open or self._opening

    async def ask(self, function: Callable[[*Ts], Coroutine[Any, Any, T]], args: tuple[*Ts]) -> T:
        """One of the reader's methods, when it is open."""
        async with self._door():
            if not self._open:
                self._opening = True
                try:
                    await self._own.open()
                    self._open = True
                finally:
                    self._opening = False
        return await function(*args)

    async def close(self) -> None:
        """Close it after whoever opens it now. Safe to repeat."""
        async with self._door():
            if self._open:
                self._open = False
                await self._own.close()

    def after_fork(self) -> None:
        """In a forked child: nobody is at the door."""
        self._lock = None
        self._opening = self._open = False
        self._own.after_fork()

    def _door(self) -> anyio.Lock:
        """Made beside the store: a lock belongs to the kind of loop on which it was made."""
        if self._lock is None:
            self._lock = anyio.Lock()
        return self._lock


def _let_go(bridge: Bridge, kept: Kept) -> None:
    """Close what nobody closed: where a console is mounted, no lifespan may run."""
    if kept.is_open:
        bridge.spawn(kept.close)
