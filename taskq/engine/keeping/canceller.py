"""The canceller: brings requested cancels to running handlers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from uuid import UUID

import anyio

from taskq.bridge import Doorbell
from taskq.engine.claiming.holdings import Stop
from taskq.engine.ground import Ground
from taskq.engine.supervisor import IDLE

BREATH = 0.25
"""Seconds between two questions to the store at the least."""


class Canceller:
    """Hears of cancels by hints; those that no hint told of come with the next renewal.

    A hint that names activities needs no question. One that does not is worth a question only while
    this worker holds something.
    """

    def __init__(self, ground: Ground) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._holdings = ground.holdings
        self._progress = partial(ground.supervisor.progress, "canceller")
        self._bell = Doorbell()

    def ring(self) -> None:
        """Cancels may have been requested of anything. From any thread."""
        self._bell.ring()

    def cancel(self, ids: Iterable[UUID]) -> None:
        """Cancels were requested of these; on the engine's event loop."""
        self._holdings.stop(ids, Stop.CANCELLED)

    async def run(self) -> None:
        """Ask whenever it was rung, for ever. Raises BackendError."""
        while True:
            self._progress()
            with anyio.move_on_after(IDLE):
                await self._bell.wait()
            if not self._bell.rung:
                continue
            self._bell.clear()
            if self._holdings:
                self.cancel(await self._access.call(self._backend.cancel_requests, self._worker))
            await anyio.sleep(BREATH)
