"""Who is told what may have changed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

from taskq.backends import Hint, Topic
from taskq.backends.memory.row import Row


class Changes:
    """What one call changed, as far as hints are concerned."""

    def __init__(self) -> None:
        self.ready = False
        self.done: set[UUID] = set()
        self.cancel: set[UUID] = set()

    def moved(self, row: Row) -> None:
        """A row has come to the state that it is in now."""
        if row.status.terminal:
            self.done.add(row.id)
        else:
            self.ready = True

    def hints(self) -> list[Hint]:
        """One hint for each topic that was touched."""
        hints = [Hint(Topic.READY)] if self.ready else []
        if self.done:
            hints.append(Hint(Topic.DONE, frozenset(self.done)))
        if self.cancel:
            hints.append(Hint(Topic.CANCEL, frozenset(self.cancel)))
        return hints


class MemoryWatch:
    """One listener's subscription."""

    def __init__(
        self,
        topics: Collection[Topic],
        listener: Callable[[Hint], None],
        watches: dict[int, MemoryWatch],
    ) -> None:
        self._topics = frozenset(topics)
        self._listener = listener
        self._watches = watches
        watches[id(self)] = self

    async def close(self) -> None:
        """End it. Safe to repeat."""
        self._watches.pop(id(self), None)

    def tell(self, hint: Hint) -> None:
        """Pass the hint on if it is wanted and the watch is still open."""
        if hint.topic in self._topics and id(self) in self._watches:
            self._listener(hint)
