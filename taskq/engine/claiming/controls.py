"""What operators have paused, known to this worker within a second."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import anyio
from msgspec.structs import replace

from taskq.backends import ClaimRequest
from taskq.bridge import Doorbell
from taskq.engine.claiming.returns import Returns
from taskq.engine.ground import Ground
from taskq.engine.running.slots import Slots
from taskq.events import PausesChanged
from taskq.pausing import Kind, Pause, Paused, paused

PERIOD = 0.8
"""Seconds between two looks at what is paused; with a look it is less than a second."""
BREATH = 0.1
"""Seconds between two looks for the sake of hints."""


class Controls:
    """Reads what is paused, and hands back what was claimed ahead of it and has not started.

    ``paused`` is what was read last; it holds while the store cannot be read. ``begun`` is set once
    it was read: nothing is claimed before. ``on_change`` is called when it has become another.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        types: Collection[str] | None,
        reserved: Collection[str],
        slots: Slots,
        returns: Returns,
    ) -> None:
        self.paused = Paused()
        self.begun = anyio.Event()
        self.on_change: Callable[[], None] = lambda: None
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._emit = ground.emit
        self._progress = partial(ground.supervisor.progress, "controls")
        self._queues = ground.options.queues
        self._types = types
        self._reserved = reserved
        self._slots = slots
        self._returns = returns
        self._known: tuple[Pause, ...] = ()
        self._bell = Doorbell()

    def ring(self) -> None:
        """Something may have been paused, or go on. From any thread."""
        self._bell.ring()

    async def run(self) -> None:
        """Look for ever. Raises BackendError when the store cannot be reached."""
        while True:
            self._bell.clear()
            found = await self._access.call(self._backend.pauses)
            await self._take(tuple(each for each in found if self._concerns(each)))
            self.begun.set()
            self._progress()
            with anyio.move_on_after(PERIOD):
                await anyio.sleep(BREATH)
                await self._bell.wait()

    async def _take(self, pauses: tuple[Pause, ...]) -> None:
        new = [each for each in pauses if each not in self._known]
        ended = [each for each in self._known if each not in pauses]
        if new or ended:
            self._known, self.paused = pauses, paused(pauses)
            event = PausesChanged(worker=self._worker, paused=tuple(new), resumed=tuple(ended))
            self._emit(event)
            self.on_change()
        if self.paused:
            held = self.paused
            back = self._slots.take_back(lambda attempt: held.holds(attempt.queue, attempt.type))
            if back:
                await self._returns.give_back(back)

    def _concerns(self, pause: Pause) -> bool:
        if pause.name in self._reserved:
            return True
        match pause.kind:
            case Kind.QUEUE:
                return pause.name in self._queues
            case Kind.TYPE:
                return self._types is None or pause.name in self._types


def narrowed(request: ClaimRequest, paused: Paused) -> ClaimRequest | None:
    """The request for what is not paused; None where that is nothing."""
    if not paused:
        return request
    queues = tuple(queue for queue in request.queues if queue not in paused.queues)
    if not queues:
        return None
    if request.types is None:
        return replace(request, queues=queues, without=tuple(sorted(paused.types)))
    types = tuple(type for type in request.types if type not in paused.types)
    return replace(request, queues=queues, types=types) if types else None
