"""The fence: stops handlers before their leases can have ended (rule R4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio

from taskq.engine.claiming.holdings import Held, Stop
from taskq.engine.ground import Ground


class Fence:
    """Looks at the local age of every lease, without asking the store.

    A lease that could be renewed is young. One that is within its margin may soon be somebody
    else's: the keeper is asked (``renew``) to try once more, and if the next look finds it no
    younger, its handler is cancelled. Nothing is cancelled only because this event loop was blocked
    meanwhile. A thread that was told and runs on is nothing to renew for.
    """

    def __init__(self, ground: Ground, *, renew: Callable[[], None]) -> None:
        self._holdings = ground.holdings
        self._clock = ground.clock
        self._progress = partial(ground.supervisor.progress, "fence")
        self._renew = renew
        self._suspects: set[Held] = set()
        self._told: set[Held] = set()

    async def run(self) -> None:
        """Look for ever, several times within the margin."""
        while True:
            self._look()
            self._progress()
            await anyio.sleep(self._holdings.margin / 4)

    def _look(self) -> None:
        now = self._clock.monotonic()
        ending = {
            held
            for held in self._holdings.all()
            if held.running and now >= self._holdings.end_of(held)
        }
        for held in ending & self._suspects:
            held.stop(Stop.LEASE_LOST)
        self._told = ending & (self._told | self._suspects)
        self._suspects = ending
        if ending - self._told:
            self._renew()
