"""Where a new activity stands: below which parent, in whose tree, after how many roots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from uuid import UUID

from msgspec import Struct

from taskq.context import Context
from taskq.errors import DepthExceeded
from taskq.model import COUNTED_TO

LONGEST_CHAIN = 64
"""Callers that are looked up for a message at the most."""


class Lineage(Struct, frozen=True, kw_only=True):
    """Where an activity stands in its tree, and what it has from its parent.

    ``deadline`` is the parent's. ``parent_ready_at`` is since when that was ready for its present
    run; both aware UTC, by the store's clock.
    """

    id: UUID
    root_id: UUID
    origin_id: UUID
    parent_id: UUID | None = None
    depth: int = 0
    generation: int = 0
    correlation_id: str | None = None
    user_id: str | None = None
    deadline: datetime | None = None
    parent_ready_at: datetime | None = None


class TooDeep(DepthExceeded):
    """DepthExceeded before the chain of its callers was looked up; ``caller`` is the last one."""

    def __init__(self, message: str, *, caller: UUID) -> None:
        super().__init__(message)
        self.caller = caller

    def explained(self, callers: str = "") -> DepthExceeded:
        """The same for users, naming its callers; an empty text says nothing."""
        return DepthExceeded(f"{self}. Callers: {callers}" if callers else str(self))


def child(type: str, id: UUID, context: Context, *, deepest: int) -> Lineage:
    """A call of ``type`` made by the running handler (seed:S3–S6, Q11). Raises TooDeep."""
    depth = context.depth + 1
    if depth > deepest:
        raise TooDeep(
            f"{type} would be generation {depth} below its root {context.root_id}, called by"
            f" {context.type} ({context.id}); max_depth is {deepest}. Use options(as_root=True) to"
            " start a tree of its own",
            caller=context.id,
        )
    return Lineage(
        id=id,
        root_id=context.root_id,
        origin_id=context.origin_id,
        parent_id=context.id,
        depth=depth,
        generation=context.generation,
        correlation_id=context.correlation_id,
        user_id=context.user_id,
        deadline=context.deadline,
        parent_ready_at=context.ready_at,
    )


def new_root(type: str, id: UUID, context: Context, *, most: int | None) -> Lineage:
    """The same with ``as_root``: a tree of its own, whose origin stays known (D24). Raises
    TooDeep."""
    generation = min(context.generation + 1, COUNTED_TO)
    if most is not None and generation > most:
        raise TooDeep(
            f"{type} would be root number {generation} after the first one {context.origin_id},"
            f" called by {context.type} ({context.id}) in the tree of {context.root_id};"
            f" max_generations is {most}",
            caller=context.id,
        )
    return Lineage(id=id, root_id=id, origin_id=context.origin_id, generation=generation)


def chain(types: Sequence[str], *, whole: bool) -> str:
    """Callers in words, from the root down; ``whole`` says whether the first is the root."""
    if not types:
        return ""
    runs = [(type, len(list(alike))) for type, alike in groupby(types)]
    named = [type if count == 1 else f"{type} ({count} times)" for type, count in runs]
    return " > ".join(named if whole else ["…", *named])
