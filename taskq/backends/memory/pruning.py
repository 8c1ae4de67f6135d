"""Deletion in memory: of single trees, and of all that is older than it is to be kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from taskq.audit import Command
from taskq.backends import Deletion, Mark, Pruned
from taskq.backends.changes import Changes
from taskq.backends.memory.recording import MemoryRecorder
from taskq.backends.memory.row import Row
from taskq.model import Status
from taskq.retention import Node, check_rules, cutoffs, ripe


class MemoryPruner(MemoryRecorder):
    """``taskq.backends.Pruner`` over tables in memory."""

    async def delete(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Deletion]:
        """See ``Pruner.delete``."""
        changes = Changes()
        with self._lock:
            fresh = self._recorded_of(self._clock.now(), command, "delete", ids)
            trees = {id: self._tree(self._tables.rows[id]) for id in ids if id in self._tables.rows}
            answer = {id: _deletion(tree, fresh=fresh) for id, tree in trees.items()}
            gone = [tree for id, tree in trees.items() if answer[id].deleted]
            self._remove([row for tree in gone for row in tree], changes)
            if fresh:
                kept = (id for id in dict.fromkeys(ids) if id not in answer or answer[id].alive)
                self._leave(kept)
        self._tell(changes)
        return answer

    async def prune(
        self,
        rules: Mapping[Status, float],
        *,
        limit: int = 100,
        after: Mark | None = None,
        dry_run: bool = False,
        command: Command | None = None,
    ) -> Pruned:
        """See ``Pruner.prune``."""
        check_rules(rules)
        changes = Changes()
        with self._lock:
            now = self._clock.now()
            cut = cutoffs(rules, now)
            marks = sorted(_mark(row) for row in self._tops(cut))
            first = () if after is None else _place(after)
            coming = [mark for mark in marks if mark > first]
            next = _next(coming, limit)
            detail = {"rules": {status.value: kept for status, kept in rules.items()}}
            if command and not self._recorded(now, command, "prune", detail=detail):
                return Pruned(next=next)
            trees = [self._tree(self._tables.rows[id]) for *_, id in coming[:limit]]
            gone = [tree for tree in trees if ripe(map(_node, tree), cut)]
            if not dry_run:
                self._remove([row for tree in gone for row in tree], changes)
        self._tell(changes)
        return Pruned(trees=len(gone), activities=sum(map(len, gone)), next=next)

    async def sweep_keys(self, limit: int) -> int:
        """See ``Pruner.sweep_keys``."""
        with self._lock:
            now = self._clock.now()
            keys = self._tables.keys
            gone = [hash for hash, key in keys.items() if key.has_expired(now)][:limit]
            for hash in gone:
                del keys[hash]
        return len(gone)

    def _tree(self, top: Row) -> list[Row]:
        """A row and all below it, parents before their children."""
        return [top, *self._tables.below(top.id)]

    def _tops(self, cut: Mapping[Status, datetime]) -> Iterable[Row]:
        """What may go by itself and stands below nothing."""
        rows = self._tables.rows
        return (
            row
            for row in rows.values()
            if row.activity.parent_id not in rows and ripe([_node(row)], cut)
        )

    def _remove(self, rows: Sequence[Row], changes: Changes) -> None:
        """Delete rows, and the keys that point at them."""
        gone = {row.id for row in rows}
        for row in rows:
            if row.id in self._tables.rows:
                self._tables.remove(row)
        keys = self._tables.keys
        for hash in [hash for hash, key in keys.items() if gone and key.activity in gone]:
            del keys[hash]
        changes.done.update(gone)


def _deletion(tree: Sequence[Row], *, fresh: bool) -> Deletion:
    alive = sum(not row.status.terminal for row in tree)
    return Deletion(tree[0].status, len(tree) if fresh and not alive else 0, alive)


def _mark(row: Row) -> tuple[str, str, UUID]:
    return row.activity.queue, row.status.value, row.id


def _place(mark: Mark) -> tuple[str, str, UUID]:
    return mark.queue, mark.status.value, mark.id


def _next(coming: Sequence[tuple[str, str, UUID]], limit: int) -> Mark | None:
    """Where the batch after the next ``limit`` begins."""
    if len(coming) <= limit:
        return None
    queue, status, id = coming[limit - 1]
    return Mark(queue, Status(status), id)


def _node(row: Row) -> Node:
    return Node(row.status, row.finished_at or row.created_at)
