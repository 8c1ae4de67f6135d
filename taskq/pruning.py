"""``taskq.retention``: deletion from code."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import anyio
from msgspec import Struct

from taskq.audit import Command
from taskq.backends import Mark, Pruned, Store
from taskq.client import StoreClient
from taskq.model import Status
from taskq.retention import rules_of

GivenRules = Mapping[str, float | timedelta | str] | str

SWEPT = 1000
"""Expired keys deleted in one transaction."""
PAUSE = 0.1
"""Seconds until the next try while another program prunes."""


class Total(Struct, frozen=True):
    """What was deleted: so many ``trees``, of so many ``activities`` in all."""

    trees: int = 0
    activities: int = 0

    def plus(self, batch: Pruned) -> Total:
        """And those of one more batch."""
        return Total(self.trees + batch.trees, self.activities + batch.activities)


class Retention:
    """For how long an app keeps what has ended, and the way to delete it at once.

    ``rules``: by status, the seconds that the setting ``retention`` says; a status that has none is
    kept for ever. Each worker prunes by them on its own.
    """

    def __init__(self, client: StoreClient, rules: Mapping[Status, float]) -> None:
        self._client = client
        self.rules: Mapping[Status, float] = MappingProxyType(dict(rules))

    def prune(
        self,
        rules: GivenRules | None = None,
        *,
        command: Command | None = None,
        batch: int = 100,
        dry_run: bool = False,
    ) -> Total:
        """Delete every tree that may go now, ``batch`` trees a transaction; blocks until all are.

        ``rules`` instead of the app's: ``{"completed": timedelta(days=7)}``, or as text
        ``completed=7d``. Idempotency keys that have expired go too. ``dry_run`` counts only.
        ``command`` is written to the record. What was deleted when it is interrupted stays deleted.
        Raises ConfigurationError for a status that is not terminal, and for no duration;
        BackendError.
        """
        total = Total()
        for part in self.batches(rules, command=command, batch=batch, dry_run=dry_run):
            total = total.plus(part)
        return total

    async def aprune(
        self,
        rules: GivenRules | None = None,
        *,
        command: Command | None = None,
        batch: int = 100,
        dry_run: bool = False,
    ) -> Total:
        """The same without blocking the event loop."""
        kept = self._kept(rules)
        total, after = Total(), None
        while True:
            part = await self._client.call(
                _next(self._client.store, batch, after, dry_run), kept, command
            )
            total = total.plus(part)
            if part.busy:
                await anyio.sleep(PAUSE)
                continue
            if part.next is None:
                break
            after, command = part.next, None
        while not dry_run and await self._client.call(self._client.store.sweep_keys, SWEPT) > 0:
            pass
        return total

    def batches(
        self,
        rules: GivenRules | None = None,
        *,
        command: Command | None = None,
        batch: int = 100,
        dry_run: bool = False,
    ) -> Iterator[Pruned]:
        """The same as ``prune``, batch by batch: each is done when the next one is asked for."""
        kept = self._kept(rules)
        after: Mark | None = None
        while True:
            part = self._client.call_sync(
                _next(self._client.store, batch, after, dry_run), kept, command
            )
            yield part
            if part.busy:
                self._client.call_sync(anyio.sleep, PAUSE)
                continue
            if part.next is None:
                break
            after, command = part.next, None
        while not dry_run and self._client.call_sync(self._client.store.sweep_keys, SWEPT):
            pass

    def _kept(self, rules: GivenRules | None) -> Mapping[Status, float]:
        return self.rules if rules is None else rules_of(rules, "rules")


Prune = Callable[[Mapping[Status, float], Command | None], Coroutine[Any, Any, Pruned]]


def _next(store: Store, limit: int, after: Mark | None, dry_run: bool) -> Prune:
    """What asks for the next batch."""

    def prune(
        rules: Mapping[Status, float], command: Command | None
    ) -> Coroutine[Any, Any, Pruned]:
        return store.prune(rules, limit=limit, after=after, dry_run=dry_run, command=command)

    return prune
