"""``/api/bulk``: the same command to everything that a filter finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta, Struct

from taskq.bulk.action import Action
from taskq.bulk.desk import Bulk, Desk, Preview
from taskq.bulk.order import (
    CAP,
    HIGHEST_RATE,
    LONGEST_FILTER,
    LOWEST_RATE,
    MOST_IDS,
    PACE,
    Order,
    activity_of,
    chunk_size,
)
from taskq.errors import ActivityNotFound
from taskq.filtering.terms import ArgumentIs, TagIn, plain
from taskq.model import Priority, Status
from taskq.options import instant
from taskq.search import Cursor
from taskq.web.api.asking import veil_of, wanted
from taskq.web.api.parameters import Limit, PageCursor, Query
from taskq.web.commanding import (
    Asked,
    Done,
    JsonObject,
    PriorityName,
    actor,
    exact,
    refusals,
    repeated,
    who,
)
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity, Role
from taskq.web.views.veil import Veil

ActionName = Literal["retry", "cancel", "run_now", "reschedule", "priority", "delete"]
"""The names of ``Action``."""


class BulkAsked(Asked, frozen=True, kw_only=True):
    """``action`` on all that ``filter`` finds, or on ``ids``, as a command that goes on by itself.

    Of what a filter finds it is about those in the states that the action is for, and no more than
    ``limit``. ``expected`` is the count of the preview: where more match now, nothing is done, and
    the answer is 409 ``stale``. ``rate``: at the most so many a second. ``tree`` is for cancel,
    ``when`` for reschedule, ``priority`` for priority, ``changes`` (single arguments) for retry.
    """

    action: Action
    filter: Annotated[str, Meta(max_length=LONGEST_FILTER)] | None = None
    ids: Annotated[list[UUID], Meta(min_length=1, max_length=MOST_IDS)] | None = None
    expected: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=1, le=CAP)] = CAP
    rate: Annotated[float, Meta(ge=LOWEST_RATE, le=HIGHEST_RATE)] | None = None
    tree: bool = False
    when: Annotated[datetime, Meta(tz=True)] | None = None
    priority: PriorityName | None = None
    changes: JsonObject | None = None


class BulkStarted(Struct, frozen=True, kw_only=True):
    """The bulk command ``id`` was taken, and is carried out by the workers. ``repeated``: it was
    taken before, under this ``command_id``."""

    id: UUID
    repeated: bool = False


class PreviewView(Struct, frozen=True, kw_only=True):
    """How many activities a bulk command would be about now. Not ``exact``: at least so many.
    ``cap`` is how many one command may be about."""

    count: int
    exact: bool
    by_status: Mapping[Status, int]
    cap: int


class BulkView(Struct, frozen=True, kw_only=True):
    """A bulk command and how it fares. ``status`` is that of its activity.

    ``total`` is how many it was about when it was given (at least, where not ``exact``); ``done``
    to how many it has been done, ``skipped`` how many were left as they were: in another state
    meanwhile, or gone; ``problem`` is why one of them was, where that is known. The counts of one
    that was interrupted are as of its last report, and right when it has ended. ``filter``,
    ``problem`` and ``error`` are null where payloads are hidden.
    """

    id: UUID
    action: Action | None
    filter: str | None
    ids: int | None
    status: Status
    actor: str
    reason: str
    total: int
    exact: bool
    done: int
    skipped: int
    problem: str | None
    rate: float | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None

    @classmethod
    def of(cls, bulk: Bulk, veil: Veil) -> BulkView:
        """What readers see of it."""
        info, order = bulk.info, bulk.order
        error = veil.error(info)
        return cls(
            id=info.id,
            action=None if order is None else order.action,
            filter=None if order is None or not order.filter else veil.said(order.filter),
            ids=None if order is None or not order.ids else len(order.ids),
            status=info.status,
            actor="" if order is None else order.actor,
            reason="" if order is None else order.reason,
            total=0 if order is None else order.total,
            exact=order is not None and order.exact,
            done=bulk.done,
            skipped=bulk.standing.skipped,
            problem=veil.said(bulk.standing.problem or None),
            rate=None if order is None else order.rate,
            created_at=info.created_at,
            started_at=info.started_at,
            finished_at=info.finished_at,
            error=None if error is None else veil.said(f"{error.type}: {error.message}"),
        )


class BulkPage(Struct, frozen=True, kw_only=True):
    """Bulk commands, newest first; ``next`` is the cursor of those before them, null at the end."""

    items: Sequence[BulkView]
    next: str | None


@get("/api/bulk/preview")
async def preview(
    action: Annotated[ActionName, QueryParameter(description="What is to be done.")],
    q: Query,
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> PreviewView:
    """How many activities a bulk command with this filter would be about now."""
    _check_filter(console, identity, q)
    found = await _desk(console).preview(Action(action), q, cap=CAP)
    return PreviewView(
        count=found.count, exact=found.exact, by_status=found.by_status, cap=found.cap
    )


@get("/api/bulk")
async def bulks(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    limit: Limit = 50,
    cursor: PageCursor = "",
) -> BulkPage:
    """The bulk commands, newest first."""
    after = Cursor.read(cursor) if cursor else None
    veil = veil_of(console, identity)
    items, following = await _desk(console).latest(limit=limit, after=after)
    veil = veil_of(console, identity)
    return BulkPage(
        items=[BulkView.of(each, veil) for each in items],
        next=None if following is None else following.text,
    )


@get("/api/bulk/{id:uuid}")
async def bulk(
    id: FromPath[UUID],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> BulkView:
    """One bulk command and how it fares."""
    return BulkView.of(await _found(console, id), veil_of(console, identity))


@post("/api/bulk", status_code=202)
async def start(
    data: JSONBody[BulkAsked],
    request: Request[Any, Any, Any],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> BulkStarted:
    """Do the same to everything that a filter finds, or to these ids."""
    asked = who(data, identity)
    if data.action is Action.DELETE and identity.role < Role.ADMIN:
        raise Problem(403, "forbidden", "bulk deletes are for admins")
    _check(data)
    _check_filter(console, identity, data.filter or "")
    desk = _desk(console)
    again = await repeated(console, data)
    with refusals():
        if not again:
            counted = await _counted(desk, data)
            order = _order(data, counted, actor(identity), await exact(request, "changes") or {})
            call = activity_of(order)
        else:  # it is answered by what is on record, and stores nothing
            call = activity_of(Order(action=data.action, actor=actor(identity)))
        [receipt] = await console.app.operator.aenqueue(
            [call], action=f"bulk.{data.action}", detail=_detail(data), **asked
        )
    return BulkStarted(id=receipt.id, repeated=not receipt.created)


@post("/api/bulk/{id:uuid}/cancel", status_code=200)
async def cancel_bulk(
    id: FromPath[UUID],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Done:
    """Stop a bulk command after the chunk that it is at. What is done stays done."""
    found = await _found(console, id)
    again = await repeated(console, data)
    if found.info.status.terminal and not again:
        detail = f"bulk command {id} cannot be cancelled: it has ended {found.info.status}"
        raise Problem(409, "wrong_state", detail)
    met = await console.app.operator.acancel([id], **who(data, identity))
    return Done(id=id, before=met[id].status if id in met else None, repeated=again)


def _desk(console: Console) -> Desk:
    return Desk(console.reader, console.ask)


async def _found(console: Console, id: UUID) -> Bulk:
    found = await _desk(console).get(id)
    if found is None:
        raise ActivityNotFound(f"there is no bulk command {id}", id=id)
    return found


async def _counted(desk: Desk, asked: BulkAsked) -> Preview:
    """How many it is about. Raises Problem where that is none, too many, or not as expected."""
    if asked.ids is not None:
        return await _named(desk, asked.ids)
    found = await desk.preview(asked.action, asked.filter or "", cap=asked.limit)
    if found.count == 0:
        states = ", ".join(status for status in Status if status in asked.action.states)
        raise Problem(409, "nothing_matches", f"no activity matches that is {states}")
    if asked.expected is not None and found.count > asked.expected:
        raise Problem(
            409, "stale", f"{found.count} match now, not {asked.expected}: look at them again"
        )
    if found.count > found.cap:
        raise Problem(
            409,
            "too_many",
            f"more than {found.cap} match, which is the most that this command may be about:"
            " narrow the filter",
        )
    return found


async def _named(desk: Desk, ids: Sequence[UUID]) -> Preview:
    if reserved := await desk.reserved(ids):
        raise Problem(
            400, "bad_request", f"activity {reserved[0]} is a bulk command: name it by itself"
        )
    return Preview(count=len(set(ids)), exact=True, by_status={}, cap=MOST_IDS)


def _check(asked: BulkAsked) -> None:
    """Raises Problem for what does not belong together."""
    if (asked.filter is None) == (asked.ids is None):
        raise Problem(400, "bad_request", "give a filter or ids: one of both")
    given = {
        Action.CANCEL: ("tree", asked.tree),
        Action.RESCHEDULE: ("when", asked.when is not None),
        Action.PRIORITY: ("priority", asked.priority is not None),
        Action.RETRY: ("changes", asked.changes is not None),
    }
    for action, (name, said) in given.items():
        if said and action is not asked.action:
            raise Problem(400, "bad_request", f"{name} is for {action}, not for {asked.action}")
    if asked.action in (Action.RESCHEDULE, Action.PRIORITY):
        name, said = given[asked.action]
        if not said:
            raise Problem(400, "bad_request", f"{asked.action} needs {name}")


def _check_filter(console: Console, identity: Identity, text: str) -> None:
    """Raises Problem for a filter that would tell, by what it counts, what is hidden: words that
    are looked for everywhere, and arguments that are shown to nobody."""
    for term in wanted(veil_of(console, identity), q=text).inside:
        match plain(term):
            case ArgumentIs(path=path) if not _is_hidden(console, path):
                continue
            case TagIn(key=key):
                detail = f"tag.{key} is hidden, so it cannot be asked for"
            case ArgumentIs(path=path):
                detail = f"args.{'.'.join(path)} is hidden, so it cannot be asked for"
            case _:
                detail = (
                    "text alone is not enough here: say in which field, for example error:timeout"
                )
        raise Problem(400, "bad_filter", detail)


def _is_hidden(console: Console, path: Sequence[str]) -> bool:
    showing = console.app.showing
    secret = {
        place.partition(".")[0]
        for type in console.app.tasks
        for place in showing.secrets(type).arguments
    }
    return path[0] in secret or any(showing.redaction.hides(step) for step in path)


def _order(asked: BulkAsked, counted: Preview, actor: str, changes: Mapping[str, object]) -> Order:
    when = None if asked.when is None else instant("bulk", asked.when, name="when")
    limit = asked.limit if asked.expected is None else min(asked.limit, max(1, asked.expected))
    return Order(
        action=asked.action,
        actor=actor,
        reason=asked.reason,
        filter=asked.filter or "",
        ids=sorted(set(asked.ids or ())),
        total=counted.count,
        exact=counted.exact,
        limit=limit,
        size=chunk_size(asked.rate, seconds=PACE),
        rate=asked.rate,
        tree=asked.tree,
        when=when,
        priority=None if asked.priority is None else Priority[asked.priority],
        changes=dict(changes),
    )


def _detail(asked: BulkAsked) -> Mapping[str, object]:
    """For the record, besides the bulk command's id."""
    if asked.filter is not None:
        return {"filter": asked.filter}
    return {"named": len(asked.ids or ())}


BULK_ROUTES = (preview, bulks, bulk, start, cancel_bulk)
