"""The pruner: deletes what retention lets go, a little at a time (seed:B8, N13)."""

from __future__ import annotations

from functools import partial
from typing import Final

import anyio

from taskq.backends import Mark
from taskq.engine.ground import Ground
from taskq.engine.supervisor import IDLE
from taskq.events import Pruned

BATCH: Final = 100
"""Trees deleted in one transaction (seed:N13)."""
SWEPT: Final = 1000
"""Expired keys deleted in one."""
BREATH: Final = 0.005
SHARE: Final = 5.0
"""After a batch it rests for so many times as long as that took: what runs comes first."""
REST: Final = 10.0
"""Likewise after a pass, if that is longer than ``prune_interval``."""


class Pruner:
    """Passes over the store every ``prune_interval`` seconds, batch by batch. Without any rule it
    has nothing to do.

    Every worker has one, and needs no leader: a pass that finds nothing costs a few steps in an
    index, and one that meets another's ends. So of several that begin together one goes on. What
    one has deleted another does not find.
    """

    def __init__(self, ground: Ground) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._emit = ground.emit
        self._clock = ground.clock
        self._random = ground.random
        self._rules = ground.options.retention
        self._interval = ground.options.prune_interval
        self._progress = partial(ground.supervisor.progress, "pruner")

    async def run(self) -> None:
        """Prune for ever. Raises BackendError when the store cannot be reached."""
        if not self._rules:
            return
        await self._rest(self._interval * self._random())
        while True:
            begun = self._clock.monotonic()
            await self._pass()
            took = self._clock.monotonic() - begun
            await self._rest(max(self._interval * (0.8 + 0.2 * self._random()), REST * took))

    async def _pass(self) -> None:
        """Through all that may go, once."""
        after: Mark | None = None
        while True:
            begun = self._clock.monotonic()
            prune = partial(self._backend.prune, limit=BATCH, after=after)
            pruned = await self._access.call(prune, self._rules)
            self._progress()
            if pruned.trees:
                count = pruned.activities
                self._emit(Pruned(worker=self._worker, trees=pruned.trees, count=count))
            if pruned.busy or pruned.next is None:
                break
            after = pruned.next
            await anyio.sleep(max(BREATH, SHARE * (self._clock.monotonic() - begun)))
        while await self._access.call(self._backend.sweep_keys, SWEPT) == SWEPT:
            self._progress()
            await anyio.sleep(BREATH)

    async def _rest(self, seconds: float) -> None:
        """Do nothing for so long, but say now and then that all is well."""
        while seconds > 0:
            self._progress()
            nap = min(seconds, IDLE)
            await anyio.sleep(nap)
            seconds -= nap
