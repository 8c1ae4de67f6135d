"""The hints: what the store says may have changed, brought to whom it concerns (design 7.8)."""

from __future__ import annotations

from functools import partial

import anyio

from taskq.backends import Hint, Topic
from taskq.bridge.poster import Post
from taskq.engine.canceller import Canceller
from taskq.engine.dispatcher import Dispatcher
from taskq.engine.ground import Ground
from taskq.engine.promoter import Promoter
from taskq.engine.supervisor import IDLE


class Hints:
    """A standing subscription. Losing hints makes things later, never wrong: everybody polls."""

    def __init__(
        self,
        ground: Ground,
        *,
        post: Post,
        dispatcher: Dispatcher,
        promoter: Promoter,
        canceller: Canceller,
    ) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._progress = partial(ground.supervisor.progress, "hints")
        self._post = post
        self._dispatcher = dispatcher
        self._promoter = promoter
        self._canceller = canceller

    async def run(self) -> None:
        """Listen until cancelled. Raises BackendError when the store cannot be reached."""
        topics = (Topic.READY, Topic.CANCEL)
        watch = await self._access.call(self._backend.watch, topics, self._hear)
        try:
            while True:
                self._progress()
                await anyio.sleep(IDLE)
        finally:
            await self._access.call(watch.close)

    def _hear(self, hint: Hint) -> None:
        """On any thread."""
        match hint:
            case Hint(topic=Topic.READY):
                self._dispatcher.ring()
                self._promoter.ring()
            case Hint(topic=Topic.CANCEL, ids=None):
                self._canceller.ring()
            case Hint(topic=Topic.CANCEL, ids=frozenset() as ids):
                self._post(partial(self._canceller.cancel, ids))
            case _:
                return
