"""``/api/activities/{id}/…``: what an operator does to one activity."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from taskq.bulk.action import Action
from taskq.bulk.order import order_of
from taskq.editing import Edit
from taskq.model import Priority
from taskq.reserved import RESERVED
from taskq.snapshot import ActivityInfo
from taskq.web.commanding import (
    AskedOfOne,
    Done,
    JsonObject,
    PriorityName,
    answered,
    current,
    exact,
    refusals,
    repeated,
    who,
)
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity, Role


class RetryAsked(AskedOfOne, frozen=True, kw_only=True):
    """Retry, with the arguments that are stored, with ``arguments`` instead of all of them, or with
    ``changes`` to single ones. ``[redacted]`` in a hidden place keeps what is stored there."""

    arguments: JsonObject | None = None
    changes: JsonObject | None = None


class CancelAsked(AskedOfOne, frozen=True, kw_only=True):
    """Cancel; with ``tree`` all that is below it too."""

    tree: bool = False


class RescheduleAsked(AskedOfOne, frozen=True, kw_only=True):
    """Run at ``when``, an ISO 8601 time with its zone; one that has passed is now."""

    when: Annotated[datetime, Meta(tz=True)]


class PriorityAsked(AskedOfOne, frozen=True, kw_only=True):
    """Have this priority."""

    priority: PriorityName


@post("/api/activities/{id:uuid}/retry", status_code=200)
async def retry(
    id: FromPath[UUID],
    data: JSONBody[RetryAsked],
    request: Request[Any, Any, Any],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Done:
    """Send an ended activity round again with fresh budgets, with other arguments where given."""
    asked, again = who(data, identity), await repeated(console, data)
    info = await current(console, id, data, Action.RETRY, again=again)
    _check_reserved(info, data, identity)
    with refusals():
        edit = None if again else await _edit(request, data)
        met = await console.app.operator.aretry([id], edit=edit, **asked)
    return answered(id, Action.RETRY, met, again=again)


@post("/api/activities/{id:uuid}/cancel", status_code=200)
async def cancel(
    id: FromPath[UUID],
    data: JSONBody[CancelAsked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Done:
    """Cancel an activity, or ask it to stop where it runs."""
    asked, again = who(data, identity), await repeated(console, data)
    # Below what has ended there may be something to cancel yet.
    await current(console, id, data, Action.CANCEL, again=again, ended=data.tree)
    met = await console.app.operator.acancel([id], tree=data.tree, **asked)
    before = {id: each.status for id, each in met.items()}
    accepted = again or any(each.accepted for each in met.values())
    return answered(id, Action.CANCEL, before, again=again, ended=accepted)


@post("/api/activities/{id:uuid}/run-now", status_code=200)
async def run_now(
    id: FromPath[UUID],
    data: JSONBody[AskedOfOne],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Done:
    """Let what waits for its time run now."""
    asked, again = who(data, identity), await repeated(console, data)
    await current(console, id, data, Action.RUN_NOW, again=again)
    met = await console.app.operator.arun_now([id], **asked)
    return answered(id, Action.RUN_NOW, met, again=again)


@post("/api/activities/{id:uuid}/reschedule", status_code=200)
async def reschedule(
    id: FromPath[UUID],
    data: JSONBody[RescheduleAsked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Done:
    """Let what waits run at another time."""
    asked, again = who(data, identity), await repeated(console, data)
    await current(console, id, data, Action.RESCHEDULE, again=again)
    with refusals():
        met = await console.app.operator.areschedule([id], data.when, **asked)
    return answered(id, Action.RESCHEDULE, met, again=again)


@post("/api/activities/{id:uuid}/priority", status_code=200)
async def priority(
    id: FromPath[UUID],
    data: JSONBody[PriorityAsked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Done:
    """Change the priority of what has not ended; what runs has it from its next attempt on."""
    asked, again = who(data, identity), await repeated(console, data)
    await current(console, id, data, Action.PRIORITY, again=again)
    level = Priority[data.priority]
    met = await console.app.operator.aset_priority([id], level, **asked)
    return answered(id, Action.PRIORITY, met, again=again)


@post("/api/activities/{id:uuid}/delete", status_code=200)
async def delete(
    id: FromPath[UUID],
    data: JSONBody[AskedOfOne],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Done:
    """Delete an ended activity for good, with all that is below it, where all of that has ended."""
    asked, again = who(data, identity), await repeated(console, data)
    if again and not await console.ask(console.reader.get, [id]):
        return Done(id=id, before=None, repeated=True)
    await current(console, id, data, Action.DELETE, again=again)
    met = await console.app.operator.adelete([id], **asked)
    alive = sum(each.alive for each in met.values())
    if alive:
        detail = f"activity {id} cannot be deleted: {alive} below it have not ended"
        raise Problem(409, "wrong_state", detail)
    before = {id: each.status for id, each in met.items()}
    return answered(id, Action.DELETE, before, again=again)


def _check_reserved(info: ActivityInfo, asked: RetryAsked, identity: Identity) -> None:
    """A bulk command goes round again as it is, and only for those who may give it."""
    if info.type not in RESERVED:
        return
    if asked.arguments is not None or asked.changes is not None:
        raise Problem(400, "bad_request", "a bulk command cannot be changed; give another one")
    if order_of(info.payload).action is Action.DELETE and identity.role < Role.ADMIN:
        raise Problem(403, "forbidden", "a bulk delete is retried by an admin only")


async def _edit(request: Request[Any, Any, Any], asked: RetryAsked) -> Edit | None:
    """The other arguments that were given."""
    if asked.arguments is None and asked.changes is None:
        return None
    if asked.arguments is not None and asked.changes is not None:
        detail = "arguments are all of them anew, changes single ones: give one of both"
        raise Problem(400, "bad_request", detail)
    return Edit(
        arguments=await exact(request, "arguments"), changes=await exact(request, "changes")
    )


COMMANDS = (retry, cancel, run_now, reschedule, priority, delete)
