"""A handler that waits for its own activity, or for an ancestor of it, would wait for ever.

Itself, its parent and its root it knows. The ancestors between them, of a handler three or more
generations below the root, are asked for once, and only when it waits for what it did not make:
what it made itself is younger than any ancestor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from taskq.context import Context, current_or_none
from taskq.errors import ActivityNotFound, InvalidState
from taskq.model import Receipt

if TYPE_CHECKING:
    from taskq.future import ActivityFuture, Tracker

KNOWN = 2
"""Down to this depth the parent and the root are all the ancestors there are."""


def maker(receipt: Receipt) -> UUID | None:
    """The running activity, if the call that it has just made was stored anew."""
    context = current_or_none()
    return context.id if context is not None and receipt.created else None


async def refuse(awaited: Sequence[ActivityFuture[object]]) -> None:
    """Raise InvalidState if the running handler may not wait for one of these.

    BackendError when the store had to be asked and could not be.
    """
    context = current_or_none()
    if context is None:
        return
    for id, tracker in _strangers(context, awaited):
        if tracker not in context.ancestors:
            context.ancestors[tracker] = await _ancestors(context, tracker)
        _check(context, id, context.ancestors[tracker])


def refuse_sync(awaited: Sequence[ActivityFuture[object]]) -> None:
    """The same for a handler's thread."""
    context = current_or_none()
    if context is None:
        return
    for id, tracker in _strangers(context, awaited):
        if tracker not in context.ancestors:
            context.ancestors[tracker] = _ancestors_sync(context, tracker)
        _check(context, id, context.ancestors[tracker])


def _strangers(
    context: Context, awaited: Sequence[ActivityFuture[object]]
) -> Iterator[tuple[UUID, Tracker]]:
    """Those about which the store has to be asked, and where. Refuses the ancestors known here."""
    known = frozenset({context.id, context.parent_id, context.root_id})
    for future in awaited:
        if future.made_by == context.id:
            continue
        _check(context, future.id, known)
        if context.depth > KNOWN:
            yield future.id, future.tracker.committed(future.id)


def _check(context: Context, id: UUID, ancestors: frozenset[UUID | None]) -> None:
    if id in ancestors:
        whom = "itself" if id == context.id else f"its ancestor {id}"
        raise InvalidState(
            f"activity {context.id} ({context.type}) waits for {whom}: neither could ever end"
        )


async def _ancestors(context: Context, tracker: Tracker) -> frozenset[UUID | None]:
    chain: list[UUID | None] = []
    id = context.parent_id
    try:
        while id is not None and id != context.root_id and len(chain) < context.depth:
            chain.append(id)
            id = (await tracker.ainfo(id)).parent_id
    except ActivityNotFound:  # deleted, or this is another store: nobody waits there
        pass
    return frozenset(chain)


def _ancestors_sync(context: Context, tracker: Tracker) -> frozenset[UUID | None]:
    chain: list[UUID | None] = []
    id = context.parent_id
    try:
        while id is not None and id != context.root_id and len(chain) < context.depth:
            chain.append(id)
            id = tracker.info(id).parent_id
    except ActivityNotFound:
        pass
    return frozenset(chain)
