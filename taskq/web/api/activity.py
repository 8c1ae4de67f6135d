"""``/api/activities/{id}``: one activity, what happened to it, and its family."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Struct

from taskq.backends import Inspector
from taskq.lifecycle import Note
from taskq.model import Status
from taskq.snapshot import ActivityInfo, Filter, TimelineEntry, WorkerInfo
from taskq.web.api.activities import ActivityPageView, page_of
from taskq.web.api.asking import Wanted, veil_of
from taskq.web.api.parameters import Limit, PageCursor
from taskq.web.console import Console, no_activity
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.activity import ActivityView, Surroundings
from taskq.web.views.history import EntryView, TimelineView, TreeView

CHILDREN_COUNTED: Final = 1000
BLOCKERS: Final = 20
LONGEST_TIMELINE: Final = 1000
LARGEST_TREE: Final = 1000

_UNFINISHED: Final = tuple(status for status in Status if not status.terminal)


class Found(Struct, frozen=True, kw_only=True):
    """An activity with what its own row does not tell."""

    info: ActivityInfo
    timeline: list[TimelineEntry]
    workers: list[WorkerInfo]
    children: int
    unfinished: list[ActivityInfo]


async def look(reader: Inspector, id: UUID) -> Found | None:
    """Beside the store: an activity and its surroundings; None for an unknown id."""
    info = (await reader.get([id])).get(id)
    if info is None:
        return None
    children = await reader.count(Filter(parent_id=id), cap=CHILDREN_COUNTED)
    unfinished: list[ActivityInfo] = []
    if children.number and not info.status.terminal:
        below = Filter(parent_id=id, statuses=_UNFINISHED)
        unfinished = list((await reader.search(below, limit=BLOCKERS)).items)
    return Found(
        info=info,
        timeline=await reader.timeline(id),
        workers=[] if info.worker is None else await reader.workers(),
        children=children.number,
        unfinished=unfinished,
    )


@get("/api/activities/{id:uuid}")
async def activity(
    id: FromPath[UUID],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> ActivityView:
    """Everything about one activity. 404 for an unknown id."""
    found = await console.ask(look, console.reader, id)
    if found is None:
        raise no_activity(id)
    names = {worker.id: worker.name for worker in found.workers}
    linked = (entry.detail for entry in found.timeline if entry.kind == Note.LINKED)
    around = Surroundings(
        known=console.app.registry.task(found.info.type) is not None,
        worker_name=names.get(found.info.worker) if found.info.worker else None,
        children=found.children,
        unfinished=found.unfinished,
        awaited_by=[UUID(parent) for each in linked if isinstance(parent := each["parent"], str)],
    )
    return ActivityView.of(found.info, around, veil_of(console, identity))


@get("/api/activities/{id:uuid}/timeline")
async def timeline(
    id: FromPath[UUID],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> TimelineView:
    """What happened to one activity, oldest first. 404 for an unknown id."""
    info = await console.activity(id)
    entries = await console.ask(console.reader.timeline, id)
    newest = entries[-LONGEST_TIMELINE:]
    shown = veil_of(console, identity).timeline(info, newest)
    return TimelineView(
        items=[EntryView.of(entry) for entry in shown], cut=len(newest) < len(entries)
    )


@get("/api/activities/{id:uuid}/tree")
async def tree(
    id: FromPath[UUID],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> TreeView:
    """The whole tree that an activity is in: the 1000 oldest of it. 404 for an unknown id, unless
    it is that of a root that was deleted and has left some."""
    found = await console.ask(console.reader.tree, id)
    if not found.nodes:
        raise no_activity(id)
    return TreeView.of(found, veil_of(console, identity))


@get("/api/activities/{id:uuid}/children")
async def children(
    id: FromPath[UUID],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    limit: Limit = 50,
    cursor: PageCursor = "",
) -> ActivityPageView:
    """What an activity has made, oldest first. 404 for an unknown id."""
    await console.activity(id)
    wanted = Wanted(Filter(parent_id=id))
    veil = veil_of(console, identity)
    return await page_of(console, wanted, veil, order="oldest", limit=limit, cursor=cursor)


@get("/api/activities/{id:uuid}/result", media_type="application/json")
async def result(
    id: FromPath[UUID],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Response[bytes]:
    """The result as it is stored, JSON of any kind but for what is redacted; `null` where there is
    none. 404 for an unknown id, 403 where payloads are hidden."""
    info = await console.activity(id)
    return raw_result(console, identity, info)


def raw_result(console: Console, identity: Identity, info: ActivityInfo) -> Response[bytes]:
    """The result alone. Raises Problem 403 where payloads are hidden."""
    veil = veil_of(console, identity)
    if not veil.shown:
        raise Problem(403, "forbidden", "payloads are hidden from you, results too")
    return Response((veil.result(info) or "null").encode(errors="replace"))


ACTIVITY = (activity, timeline, tree, children, result)
