"""``/api/observability``: the routes of RunnerQ's console, for what was written for it (seed:O3).

Where they are not as they were: numbers that are none are refused, offsets end at 1000, and lists
are newest first by when activities were made, whatever their state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final
from uuid import UUID

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, PathParameter, QueryParameter
from msgspec import Struct

from taskq.app import TaskQ
from taskq.backends import Inspector
from taskq.filtering.terms import Not, Pattern, TextIn
from taskq.model import Status
from taskq.retry import RetryPolicy
from taskq.search import Cursor, Order
from taskq.snapshot import ActivityInfo, Filter, Stats
from taskq.web.api.activity import LARGEST_TREE, raw_result
from taskq.web.api.asking import veil_of
from taskq.web.api.parameters import Offset, SeedLimit
from taskq.web.console import Console, no_activity
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.seed import DeadLetterRecord, Event, QueueStats, Snapshot
from taskq.web.views.stats import COUNTED_TO

FURTHEST: Final = 1000
"""The highest offset."""
ROOTS_COUNTED_TO: Final = 200
ROOT_SECONDS: Final = 0.01
"""Seconds that counting the roots of one state may take."""
_LOOKS: Final = 10
"""Slices that are walked for one list at the most."""

_LISTED: Final = {
    status.value: status
    for status in (
        Status.PENDING,
        Status.PROCESSING,
        Status.SCHEDULED,
        Status.COMPLETED,
        Status.DEAD_LETTER,
    )
}
_ROOTS: Final = {status.value: status for status in Status if status is not Status.CANCELLED}
_CRON: Final = TextIn("source", (Pattern("cron"),))


class Numbers(Struct, frozen=True):
    """The counts, and how many roots there are by state."""

    stats: Stats
    roots: dict[Status, int]


async def count(reader: Inspector) -> Numbers:
    """Beside the store: all the numbers."""
    roots: dict[Status, int] = {}
    for status in _ROOTS.values():
        wanted = Filter(statuses=(status,), roots_only=True)
        found = await reader.count(wanted, cap=ROOTS_COUNTED_TO, seconds=ROOT_SECONDS)
        roots[status] = found.number
    return Numbers(await reader.stats(cap=COUNTED_TO), roots)


async def walk(reader: Inspector, filter: Filter, order: Order, most: int) -> list[ActivityInfo]:
    """Beside the store: the first ``most`` that match, by keyset."""
    found: list[ActivityInfo] = []
    after: Cursor | None = None
    for _ in range(_LOOKS):
        limit = min(1000, most - len(found))
        part = await reader.search(filter, order=order, limit=limit, after=after)
        found += part.items
        after = part.next
        if after is None or len(found) >= most:
            break
    return found


async def listed(
    console: Console, filter: Filter, offset: int, limit: int, order: Order = Order.NEWEST
) -> Sequence[ActivityInfo]:
    """Those from ``offset`` on. Raises Problem 400 for one that is too far."""
    if offset > FURTHEST:
        raise Problem(
            400,
            "bad_request",
            f"offset: at most {FURTHEST}; to go on, use the cursor of /api/activities",
        )
    found = await console.ask(walk, console.reader, filter, order, offset + limit)
    return found[offset:]


def retry_delay(app: TaskQ, type: str) -> float:
    """The seconds before the first retry, as far as this app knows the type."""
    task = app.registry.task(type)
    if task is None:
        return RetryPolicy().initial_delay
    return app.registry.effective(task.definition.options).policy.retry.initial_delay


def snapshots(
    console: Console, identity: Identity, infos: Sequence[ActivityInfo]
) -> list[Snapshot]:
    """As RunnerQ shows them."""
    veil = veil_of(console, identity)
    return [
        Snapshot.of(info, veil, retry_delay=retry_delay(console.app, info.type)) for info in infos
    ]


@get("/api/observability/stats")
async def seed_stats(console: NamedDependency[Console]) -> QueueStats:
    """Counts of activities by state and priority, and of workers."""
    found = await console.ask(count, console.reader)
    return QueueStats.of(found.stats, found.roots)


@get("/api/observability/roots")
async def seed_roots(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    offset: Offset = 0,
    limit: SeedLimit = 50,
    status: Annotated[
        str, QueryParameter(max_length=20, description="Only this state; empty: any.")
    ] = "",
    flatten: Annotated[
        str, QueryParameter(max_length=20, description="`1` or `true`: not only roots.")
    ] = "",
) -> list[Snapshot]:
    """Activities without a parent, newest first. Of those that completed or failed, what a schedule
    made is left out."""
    if status and status not in _ROOTS:
        raise Problem(400, "bad_request", f"status: {status!r} is none of {', '.join(_ROOTS)}")
    wanted = Filter(
        statuses=(_ROOTS[status],) if status else (),
        roots_only=flatten not in ("1", "true"),
        where=(Not(_CRON),) if status in ("completed", "failed") else (),
    )
    return snapshots(console, identity, await listed(console, wanted, offset, limit))


@get("/api/observability/cron")
async def seed_cron(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    offset: Offset = 0,
    limit: SeedLimit = 50,
) -> list[Snapshot]:
    """What schedules made, newest first."""
    found = await listed(console, Filter(source="cron"), offset, limit)
    return snapshots(console, identity, found)


@get("/api/observability/activities/{key:str}")
async def seed_activities(
    key: Annotated[
        str,
        PathParameter(
            max_length=100,
            description="An activity's id; or pending, processing, scheduled, completed, cron or"
            " dead_letter.",
        ),
    ],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    offset: Offset = 0,
    limit: SeedLimit = 50,
) -> Snapshot | list[Snapshot]:
    """One activity by its id; or those in a state, or made by schedules, newest first."""
    if key == "cron":
        wanted = Filter(source="cron")
    elif key in _LISTED:
        wanted = Filter(statuses=(_LISTED[key],))
    else:
        found = await console.activity(_id(key))
        return snapshots(console, identity, [found])[0]
    return snapshots(console, identity, await listed(console, wanted, offset, limit))


@get("/api/observability/activities/{key:str}/events")
async def seed_events(
    key: FromPath[str],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    limit: SeedLimit = 50,
) -> list[Event]:
    """What happened to an activity, oldest first."""
    info = await console.activity(_id(key))
    entries = await console.ask(console.reader.timeline, info.id)
    shown = veil_of(console, identity).timeline(info, entries[:limit])
    return [Event.of(info.id, entry) for entry in shown]


@get("/api/observability/activities/{key:str}/result", media_type="application/json")
async def seed_result(
    key: FromPath[str],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Response[bytes]:
    """The result of an activity, JSON of any kind, or `null`."""
    return raw_result(console, identity, await console.activity(_id(key)))


@get("/api/observability/activities/{key:str}/subtree")
async def seed_subtree(
    key: FromPath[str],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> list[Snapshot]:
    """The whole tree that an activity is in, by depth, then by age: the 1000 oldest of it."""
    id = _id(key)
    tree = await console.ask(partial(console.reader.tree, limit=LARGEST_TREE), id)
    if not tree.nodes:
        raise no_activity(id)
    infos = sorted((node.info for node in tree.nodes), key=lambda info: (info.depth, info.id))
    return snapshots(console, identity, infos)


@get("/api/observability/activities/{key:str}/children")
async def seed_children(
    key: FromPath[str],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    offset: Offset = 0,
    limit: SeedLimit = 50,
) -> list[Snapshot]:
    """What an activity has made, oldest first."""
    info = await console.activity(_id(key))
    below = Filter(parent_id=info.id)
    found = await listed(console, below, offset, limit, Order.OLDEST)
    return snapshots(console, identity, found)


@get("/api/observability/dead-letter")
async def seed_dead_letter(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    offset: Offset = 0,
    limit: SeedLimit = 50,
) -> list[DeadLetterRecord]:
    """What ended dead_letter, newest first."""
    found = await listed(console, Filter(statuses=(Status.DEAD_LETTER,)), offset, limit)
    veil = veil_of(console, identity)
    return [
        DeadLetterRecord.of(info, veil, retry_delay=retry_delay(console.app, info.type))
        for info in found
    ]


def _id(key: str) -> UUID:
    try:
        return UUID(key)
    except ValueError:
        raise Problem(
            400, "bad_request", f"{key!r} is neither an activity's id nor a list"
        ) from None


OBSERVABILITY = (
    seed_stats,
    seed_roots,
    seed_cron,
    seed_activities,
    seed_events,
    seed_result,
    seed_subtree,
    seed_children,
    seed_dead_letter,
)
