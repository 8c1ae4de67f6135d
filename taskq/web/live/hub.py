"""The hub: hands what one broadcast finds to all who listen, and counts them."""

from __future__ import annotations

from threading import RLock
from typing import Final

import anyio
from msgspec import Struct

from taskq.bridge import Doorbell, serve_in_thread
from taskq.web.live.broadcast import Broadcast, Rhythm
from taskq.web.live.source import Source
from taskq.web.live.subscription import Subscription
from taskq.web.problem import Problem

STREAMS: Final = 64
"""Clients at the same time."""
RETRY_AFTER: Final = 5
"""Seconds after which one who found no place may try again."""
PATIENCE: Final = 5.0
"""Seconds that ``aclose`` waits."""


class Pace(Struct, frozen=True, kw_only=True):
    """Seconds: after so much ``silence`` a comment keeps the connection; ``recheck`` between two
    looks whether the client may still listen; ``life`` of a stream, then the client comes again;
    ``patience`` with one that does not read; ``farewell`` for the last bytes of an ended one."""

    silence: float = 15.0
    recheck: float = 15.0
    life: float = 600.0
    patience: float = 30.0
    farewell: float = 0.05


class Hub:
    """The live stream of one console in this process. Thread-safe; survives a fork.

    It begins with the first subscription and ends some seconds after the last one is closed; then
    the next one begins a new epoch, since what happened meanwhile was not seen. At ``close`` too.
    ``pace`` is that of the streams that are opened from now on.
    """

    def __init__(self, source: Source, rhythm: Rhythm | None = None) -> None:
        self._source = source
        self._rhythm = rhythm or Rhythm()
        self.pace = Pace()
        self._lock = RLock()
        self._broadcast: Broadcast | None = None
        self._subscriptions: set[Subscription] = set()
        self._ending: set[Doorbell] = set()
        source.app.client.bridge.on_fork(self._after_fork)

    @property
    def streams(self) -> int:
        """How many listen now."""
        return len(self._subscriptions)

    @property
    def running(self) -> bool:
        """Whether the store is being watched."""
        return self._broadcast is not None

    def subscribe(self, after: str | None = None, most: int | None = None) -> Subscription:
        """A place, to be given back by its ``close``; ``after`` is the id that the client names,
        ``most`` how many events it wants at once.

        Raises Problem 503 where there is none left."""
        with self._lock:
            if self.streams >= STREAMS:
                raise Problem(
                    503,
                    "too_many_streams",
                    f"{STREAMS} streams are open, which is all that there may be: close one, or try"
                    " again later",
                    headers={"retry-after": str(RETRY_AFTER)},
                )
            broadcast = self._broadcast or self._start()
            subscription = Subscription(broadcast, after, self._release, most)
            self._subscriptions.add(subscription)
            return subscription

    def close(self) -> None:
        """End all streams now; never waits. A later subscription begins anew."""
        with self._lock:
            broadcast, self._broadcast = self._broadcast, None
            listeners = [*self._subscriptions]
            self._subscriptions.clear()
        if broadcast is not None:
            broadcast.stop()
        for each in listeners:
            each.end()

    async def aclose(self) -> None:
        """The same, and wait until the store is no longer watched, ``PATIENCE`` at the most."""
        self.close()
        with anyio.move_on_after(PATIENCE):
            for gone in self._leaving():
                await gone.wait()

    def _after_fork(self) -> None:
        """Nobody listens in the child, and no thread runs there."""
        if self._broadcast is not None:
            self._broadcast.forget()
        self._lock = RLock()
        self._broadcast = None
        self._subscriptions, self._ending = set(), set()

    def _start(self) -> Broadcast:
        gone = Doorbell()
        broadcast = Broadcast(
            self._source,
            rhythm=self._rhythm,
            changed=lambda: self._ring(broadcast),
            alone=lambda: not self._listeners(broadcast),
            retire=lambda: self._retire(broadcast),
            ended=lambda: self._ended(broadcast),
        )
        serve_in_thread(self._run, broadcast, gone)  # which waits for the lock that is held here
        self._broadcast = broadcast
        self._ending.add(gone)
        return broadcast

    def _leaving(self) -> list[Doorbell]:
        """What rings at the end of each thread that watches still."""
        with self._lock:
            return [*self._ending]

    async def _run(self, broadcast: Broadcast, gone: Doorbell) -> None:
        try:
            await broadcast.run()
        finally:
            with self._lock:
                self._ending.discard(gone)
            gone.ring()

    def _listeners(self, broadcast: Broadcast) -> list[Subscription]:
        with self._lock:
            return [each for each in self._subscriptions if each.broadcast is broadcast]

    def _ring(self, broadcast: Broadcast) -> None:
        for each in self._listeners(broadcast):
            each.bell.ring()

    def _retire(self, broadcast: Broadcast) -> bool:
        """Whether nobody listens still: then nobody will be given to this broadcast any more."""
        with self._lock:
            if self._listeners(broadcast):
                return False
            self._forget(broadcast)
            return True

    def _ended(self, broadcast: Broadcast) -> None:
        """Whoever listens still is to come again."""
        with self._lock:
            self._forget(broadcast)
            left = self._listeners(broadcast)
            self._subscriptions.difference_update(left)
        for each in left:
            each.end()

    def _forget(self, broadcast: Broadcast) -> None:
        if self._broadcast is broadcast:
            self._broadcast = None

    def _release(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions.discard(subscription)
