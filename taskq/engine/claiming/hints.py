"""The hints: what the store says may have changed, brought to whom it concerns (design 7.8)."""

from __future__ import annotations

from functools import partial

import anyio

from taskq.backends import Hint, Topic, Watch
from taskq.bridge.poster import Post
from taskq.engine.claiming.controls import Controls
from taskq.engine.claiming.dispatcher import Dispatcher
from taskq.engine.ground import Ground
from taskq.engine.keeping.canceller import Canceller
from taskq.engine.upkeep.promoter import Promoter
from taskq.engine.upkeep.scheduler import Scheduler

SHORTEST = 1.0
"""Seconds for which a watch is kept at the least."""


class Hints:
    """A standing subscription. Losing hints makes things later, never wrong: everybody polls.

    A watch may end unseen, as when the app closes its store beside this worker. So it is replaced
    every ``poll_max`` seconds, the new one first so that nothing is missed.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        post: Post,
        dispatcher: Dispatcher,
        promoter: Promoter,
        scheduler: Scheduler,
        canceller: Canceller,
        controls: Controls,
    ) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._life = max(SHORTEST, ground.options.poll_max)
        self._progress = partial(ground.supervisor.progress, "hints")
        self._post = post
        self._dispatcher = dispatcher
        self._promoter = promoter
        self._scheduler = scheduler
        self._canceller = canceller
        self._controls = controls

    async def run(self) -> None:
        """Listen until cancelled. Raises BackendError when the store cannot be reached."""
        watch = await self._watch()
        self._hear(Hint(Topic.READY))  # what came between the first looks and this was not heard
        try:
            while True:
                self._progress()
                await anyio.sleep(self._life)
                old, watch = watch, await self._watch()
                await self._access.call(old.close)
        finally:
            await self._access.call(watch.close)

    async def _watch(self) -> Watch:
        topics = (Topic.READY, Topic.CANCEL, Topic.CONTROL)
        return await self._access.call(self._backend.watch, topics, self._hear)

    def _hear(self, hint: Hint) -> None:
        """On any thread."""
        match hint:
            case Hint(topic=Topic.READY):
                self._dispatcher.ring()
                self._promoter.ring()
                self._scheduler.ring()
            case Hint(topic=Topic.CONTROL):
                self._controls.ring()
            case Hint(topic=Topic.CANCEL, ids=None):
                self._canceller.ring()
            case Hint(topic=Topic.CANCEL, ids=frozenset() as ids):
                self._post(partial(self._canceller.cancel, ids))
            case _:
                return
