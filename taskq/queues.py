"""``taskq.queues``: pause, resume and look at queues and types from code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Unpack

from taskq.audit import Who, command_of
from taskq.client import StoreClient
from taskq.pausing import Kind, Load
from taskq.settings import NAME, bad_name


class Queues:
    """What operators do to queues. Each method has a form with ``a`` for event loops.

    A pause is kept in the database: it holds on every worker within a second, and outlives them
    all. Running handlers go on. ``actor``, ``reason`` and ``command_id``: see ``audit.Who``.
    """

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    def pause(
        self,
        *,
        queue: str | None = None,
        type: str | None = None,
        **who: Unpack[Who],
    ) -> bool:
        """Begin nothing more of a queue, or of a type wherever it is; False where it is paused
        already. Raises TypeError unless one of both is named, ValueError for what is no name."""
        kind, name = _named(queue, type)
        pause = partial(self._client.store.pause, command=command_of(who))
        return self._client.call_sync(pause, kind, name)

    async def apause(
        self,
        *,
        queue: str | None = None,
        type: str | None = None,
        **who: Unpack[Who],
    ) -> bool:
        """The same without blocking the event loop."""
        kind, name = _named(queue, type)
        return await self._client.call(
            partial(self._client.store.pause, command=command_of(who)), kind, name
        )

    def resume(
        self,
        *,
        queue: str | None = None,
        type: str | None = None,
        **who: Unpack[Who],
    ) -> bool:
        """Let it go on; False where it was not paused. Raises as ``pause``."""
        kind, name = _named(queue, type)
        resume = partial(self._client.store.resume, command=command_of(who))
        return self._client.call_sync(resume, kind, name)

    async def aresume(
        self,
        *,
        queue: str | None = None,
        type: str | None = None,
        **who: Unpack[Who],
    ) -> bool:
        """The same without blocking the event loop."""
        kind, name = _named(queue, type)
        return await self._client.call(
            partial(self._client.store.resume, command=command_of(who)), kind, name
        )

    def list(self) -> Sequence[Load]:
        """Every queue with activities, a live worker or a pause, by name."""
        return self._client.call_sync(self._client.store.loads, Kind.QUEUE)

    async def alist(self) -> Sequence[Load]:
        """The same without blocking the event loop."""
        return await self._client.call(self._client.store.loads, Kind.QUEUE)

    def types(self) -> Sequence[Load]:
        """Every type with activities that have not ended, or a pause, by name."""
        return self._client.call_sync(self._client.store.loads, Kind.TYPE)

    async def atypes(self) -> Sequence[Load]:
        """The same without blocking the event loop."""
        return await self._client.call(self._client.store.loads, Kind.TYPE)


def _named(queue: str | None, type: str | None) -> tuple[Kind, str]:
    match queue, type:
        case str(), None:
            kind, name = Kind.QUEUE, queue
        case None, str():
            kind, name = Kind.TYPE, type
        case _:
            raise TypeError("name one of them: queue= or type=")
    if not NAME.match(name):
        raise ValueError(bad_name(kind, name))
    return kind, name
