"""Doing it to one chunk, as one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from taskq.audit import Command
from taskq.backends import Store
from taskq.bulk.action import Action
from taskq.bulk.order import Order
from taskq.bulk.walking import Those
from taskq.editing import Edit, Edits, FindTask, edited
from taskq.errors import SerializationError
from taskq.model import Priority
from taskq.showing import Showing


async def do(
    store: Store,
    order: Order,
    ids: Sequence[UUID],
    edits: Edits,
    command: Command,
) -> Mapping[UUID, bool]:
    """Whether there was something to do, by id; what is not there is absent. Beside the store."""
    match order.action:
        case Action.RETRY:
            spread = 0.0 if order.rate is None else len(ids) / order.rate
            before = await store.retry(
                ids, command=command, arguments=edits.arguments, kept=edits.kept, spread=spread
            )
        case Action.RUN_NOW:
            before = await store.run_now(ids, command=command)
        case Action.RESCHEDULE:
            assert order.when is not None
            before = await store.reschedule(ids, order.when, command=command)
        case Action.PRIORITY:
            level = Priority.NORMAL if order.priority is None else order.priority
            before = await store.set_priority(ids, level, command=command)
        case Action.CANCEL:
            cancelled = await store.cancel(ids, tree=order.tree, command=command)
            return {id: each.accepted for id, each in cancelled.items()}
        case Action.DELETE:
            deleted = await store.delete(ids, command=command)
            return {id: each.deleted > 0 for id, each in deleted.items()}
    return {id: status in order.action.states for id, status in before.items()}


def edits_of(
    order: Order, those: Those, task_of: FindTask, showing: Showing
) -> tuple[Edits, Mapping[UUID, str]]:
    """The edits of a chunk, and why others of it cannot be edited: these are to be left."""
    arguments: dict[UUID, str] = {}
    kept: dict[UUID, str] = {}
    problems: dict[UUID, str] = {}
    edit = Edit(changes=order.changes)
    for id, info in those.items():
        if not edit or info is None:
            continue
        try:
            edits = edited([info], edit, task_of, showing)
        except (TypeError, SerializationError) as error:
            problems[id] = str(error)
            continue
        arguments |= edits.arguments
        kept |= edits.kept
    return Edits(arguments, kept), problems
