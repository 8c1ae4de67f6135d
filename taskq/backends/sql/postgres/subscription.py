"""A listener's subscription to hints, and all of them of one backend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from taskq.backends import Hint, Topic


class Subscription:
    """One listener's watch."""

    def __init__(
        self,
        topics: Collection[Topic],
        listener: Callable[[Hint], None],
        end: Callable[[Subscription], None],
    ) -> None:
        self.topics = frozenset(topics)
        self._listener = listener
        self._end = end
        self._open = True

    async def close(self) -> None:
        """End it. Safe to repeat."""
        self._open = False
        self._end(self)

    def tell(self, hint: Hint) -> None:
        """Pass the hint on if it is wanted and the watch is still open."""
        if self._open and hint.topic in self.topics:
            self._listener(hint)


def tell(subscriptions: Iterable[Subscription], hints: Iterable[Hint]) -> None:
    """Pass hints on to everybody."""
    for hint in hints:
        for each in subscriptions:
            each.tell(hint)
