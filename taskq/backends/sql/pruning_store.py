"""Deletion as both SQL stores do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from taskq.audit import Command
from taskq.backends import Deletion, Mark, Pruned
from taskq.backends.sql import pruning
from taskq.backends.sql.doors import Doors
from taskq.model import Status
from taskq.retention import check_rules


class SqlPruner(Doors):
    """``Pruner``, over the two doors that each store has."""

    async def delete(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Deletion]:
        """See ``Pruner.delete``."""
        return await self._write(
            lambda connection, now: pruning.delete(connection, now, ids, command)
        )

    async def prune(
        self,
        rules: Mapping[Status, float],
        *,
        limit: int = 100,
        after: Mark | None = None,
        dry_run: bool = False,
        command: Command | None = None,
    ) -> Pruned:
        """See ``Pruner.prune``. What may go is found first, without a lock; where there is nothing,
        nothing is written."""
        check_rules(rules)
        batch = await self._read(
            lambda connection, now: pruning.due(connection, now, rules, limit, after)
        )
        if dry_run:
            sizes = [len(tree) for tree in batch.trees.values()]
            return Pruned(trees=len(sizes), activities=sum(sizes), next=batch.next)
        if not batch.trees and command is None:
            return Pruned(next=batch.next)
        pruned = await self._write(
            lambda connection, now: pruning.prune(connection, now, rules, batch, command)
        )
        return replace(pruned, next=after) if pruned.busy else pruned

    async def sweep_keys(self, limit: int) -> int:
        """See ``Pruner.sweep_keys``. Where there are none, nothing is written."""
        if not await self._read(pruning.any_expired_key):
            return 0
        return await self._write(lambda connection, now: pruning.sweep_keys(connection, now, limit))
