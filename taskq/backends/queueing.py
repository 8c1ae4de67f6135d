"""The protocol of queues: what is paused, and how they fare."""

from __future__ import annotations

from typing import Protocol

from taskq.audit import Command
from taskq.pausing import Kind, Load, Pause


class QueueReader(Protocol):
    """What readers need. Nothing here writes."""

    async def pauses(self) -> list[Pause]:
        """What is paused now, in order of kind and name. Workers ask about once a second."""
        ...

    async def loads(self, kind: Kind, *, cap: int = 10_000) -> list[Load]:
        """Every queue that has activities, or a live worker, or a pause; or every type that has
        activities which have not ended, or a pause. In order of their names."""
        ...


class Queues(QueueReader, Protocol):
    """Pauses are for those who claim: a store gives what it is asked for, paused or not."""

    async def pause(self, kind: Kind, name: str, *, command: Command) -> bool:
        """Pause a queue or a type, which need not exist yet; CONTROL hints follow. False where it
        is paused already: then it stays so since when and by whom it was, and the command is
        recorded all the same (``queue.pause``, ``type.pause``)."""
        ...

    async def resume(self, kind: Kind, name: str, *, command: Command) -> bool:
        """End a pause; False where there is none. Otherwise as ``pause`` (``queue.resume``)."""
        ...
