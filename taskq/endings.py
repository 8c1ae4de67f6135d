"""How activities end, one after another, whichever stores they are in."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, Self
from uuid import UUID

import anyio

from taskq.model import Ended


class Endings(Protocol):
    """An async iterator of (id, how it ended; None if there is no such activity).

    Each comes once, in the order in which they end. Being cancelled loses none of them. One that is
    dropped is closed.
    """

    @property
    def ready(self) -> bool:
        """Whether the next one would come without waiting."""
        ...

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> tuple[UUID, Ended | None]:
        """The next one. Raises BackendError when the store cannot tell."""
        ...

    def close(self) -> None:
        """Wait no longer. Safe to repeat."""
        ...


class Tracks(Protocol):
    """Where activities are waited for; see ``future.Tracker``."""

    def wait_each(self, ids: Collection[UUID]) -> Endings:
        """How these activities end, as they do."""
        ...


def merged(parts: Iterable[tuple[Tracks, UUID]]) -> Endings:
    """One for all these activities: one wait for each of the places where they are tracked."""
    ids: dict[Tracks, list[UUID]] = {}
    for tracker, id in parts:
        ids.setdefault(tracker, []).append(id)
    endings = [tracker.wait_each(some) for tracker, some in ids.items()]
    return endings[0] if len(endings) == 1 else MergedEndings(endings)


class MergedEndings:
    """Those of several stores. It waits for all of them at once."""

    def __init__(self, parts: Sequence[Endings]) -> None:
        self._parts = list(parts)
        self._found = deque[tuple[UUID, Ended | None] | Exception]()

    @property
    def ready(self) -> bool:
        """See ``Endings``."""
        return bool(self._found) or not self._parts

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[UUID, Ended | None]:
        while not self._found:
            if not self._parts:
                raise StopAsyncIteration
            async with anyio.create_task_group() as group:
                for part in self._parts:
                    group.start_soon(self._next_of, part, group.cancel_scope)
        found = self._found.popleft()
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """See ``Endings``."""
        for part in self._parts:
            part.close()
        self._parts.clear()

    async def _next_of(self, part: Endings, others: anyio.CancelScope) -> None:
        try:
            self._found.append(await anext(part))
        except StopAsyncIteration:
            self._parts.remove(part)
        except Exception as error:
            self._found.append(error)
        others.cancel()
