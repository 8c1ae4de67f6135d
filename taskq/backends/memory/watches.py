"""Who is told what may have changed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from taskq.backends import Hint, Topic


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
