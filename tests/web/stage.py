"""Moves activities of a store in memory as workers would, at once and from any thread."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Sequence
from typing import Any, TypeVar
from uuid import UUID

from taskq.backends import ClaimRequest, Store
from taskq.backends.memory import MemoryBackend
from taskq.bridge import DirectBridge
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Outcome, Succeeded, decide
from taskq.model import Attempt, ErrorInfo
from taskq.testing.conformance.samples import call

T = TypeVar("T")

OK = Succeeded('"secret result"')
NO = Failed(error=ErrorInfo(type="ValueError", message="no such customer"), retryable=False)


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a store in memory answers without waiting."""

    async def answer() -> T:
        return await coroutine

    return DirectBridge().call_sync(answer)


class Stage:
    """A store, and what happens in it."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or MemoryBackend()

    def add(self, count: int = 1, **changes: object) -> list[UUID]:
        """New activities, the oldest first."""
        made = [call(**changes) for _ in range(count)]
        at_once(self.store.submit(made))
        return [each.id for each in made]

    def start(self, limit: int = 100) -> list[Attempt]:
        """Claim what is pending, the oldest first."""
        request = ClaimRequest(
            worker=new_id(), queues=("default",), types=None, limit=limit, lease=30.0
        )
        return at_once(self.store.claim(request))

    def end(self, attempts: Sequence[Attempt], outcome: Outcome = OK) -> None:
        at_once(self.store.settle([decide(each, outcome) for each in attempts]))

    def run(self, limit: int = 100, outcome: Outcome = OK) -> None:
        """Start what is pending and end it."""
        self.end(self.start(limit), outcome)

    def cancel(self, ids: Collection[UUID]) -> None:
        at_once(self.store.cancel([*ids]))
