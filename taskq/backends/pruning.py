"""The protocol of deletion: by an operator, and by retention (seed:N13, D23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from taskq.audit import Command
from taskq.model import Status


class Deletion(Struct, frozen=True, gc=False):
    """What a delete met: an activity's ``status`` before; how many were ``deleted``, itself and all
    below it, 0 where it was left; how many of these were ``alive``, for which it was left."""

    status: Status
    deleted: int = 0
    alive: int = 0


class Mark(Struct, frozen=True, gc=False):
    """How far a pass of ``prune`` has come; only the store that gave it knows what it means."""

    queue: str
    status: Status
    id: UUID


class Pruned(Struct, frozen=True, kw_only=True, gc=False):
    """What one batch of ``prune`` deleted: so many ``trees``, of so many ``activities`` in all.

    ``next`` is where the next batch of this pass begins, None when the pass is over. ``busy``:
    another program prunes at this moment; nothing was done, and ``next`` is where this one began.
    """

    trees: int = 0
    activities: int = 0
    next: Mark | None = None
    busy: bool = False


class Pruner(Protocol):
    """Deletes what has ended. Nothing else that a store does ever deletes an activity (seed:B8).

    Its event rows, among them the links to it, and the idempotency keys that point at it go in the
    same transaction; a key that points at another activity meanwhile stays. What hangs above it
    stays. An outcome that comes later is LOST, and ``outcomes`` knows it no more: DONE hints tell
    those who wait.
    """

    async def delete(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Deletion]:
        """Delete activities, each with all that is below it by ``parent_id`` at any depth, where
        all of that has ended; else it is left as it is. Answers what each found one was; unknown
        ids are absent. Action ``delete`` in the record, none for no ids; a command that is there
        already deletes nothing.
        """
        ...

    async def prune(
        self,
        rules: Mapping[Status, float],
        *,
        limit: int = 100,
        after: Mark | None = None,
        dry_run: bool = False,
        command: Command | None = None,
    ) -> Pruned:
        """Delete one batch of up to ``limit`` whole trees, oldest first in each queue and status.

        ``rules``: for how many seconds an activity that ended so is kept, by the store's clock. A
        tree goes when it and all below it has ended, in states that have a rule, each for at least
        so long. What stands below nothing any more, as its parent was deleted, is a tree too.

        A batch is one short transaction; it looks at a bounded number of activities and waits for
        no lock: what others hold is left to the next pass. ``dry_run`` counts only. ``command``:
        action ``prune`` in the record, written with this batch; one that is there already deletes
        nothing in this batch, and the pass goes on behind it.

        Raises ConfigurationError for a state that is not terminal and a negative number.
        """
        ...

    async def sweep_keys(self, limit: int) -> int:
        """Delete up to ``limit`` idempotency keys that have expired; how many."""
        ...
