"""``/api/activities``: what matches a filter, page by page, and how many."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from msgspec import Struct

from taskq.search import Cursor, Order
from taskq.web.api.asking import Wanted, veil_of, wanted
from taskq.web.api.parameters import (
    Limit,
    PageCursor,
    ParentId,
    Query,
    QueueNames,
    RootsOnly,
    StatusNames,
    TypeNames,
)
from taskq.web.console import Console
from taskq.web.role import Identity
from taskq.web.views.activity import ActivitySummary
from taskq.web.views.stats import COUNTED_TO
from taskq.web.views.veil import Veil

SLICE: Final = 0.08
"""Seconds that a search may walk, about, before it answers with what it has."""
LEAST_SLICE: Final = 0.01
"""Seconds of it that are left for a look after the first, at the least."""
COUNTING: Final = 0.08
"""Seconds that counting may take, about: what it has by then is told as at least so many."""
LOOKED_AT: Final = 200
"""How many are looked at to count what cannot be counted by the store alone."""

OrderName: TypeAlias = Literal["newest", "oldest", "due", "started"]
InOrder: TypeAlias = Annotated[
    OrderName,
    QueryParameter(
        description="`newest` and `oldest` by when they were made; `due`: what is scheduled or"
        " retrying, the next first; `started`: what is processing, the longest first."
    ),
]


class ActivityPageView(Struct, frozen=True, kw_only=True):
    """What was found. ``next`` is the ``cursor`` of what follows, null at the end. A search that
    takes long ends early, with fewer or no items and a ``next``: it has then looked at everything
    back to ``searched_to`` (null where it came to the end)."""

    items: list[ActivitySummary]
    next: str | None
    searched_to: datetime | None


class CountView(Struct, frozen=True, kw_only=True):
    """How many match; at least so many where it is not ``exact``."""

    count: int
    exact: bool


async def page_of(
    console: Console,
    wanted: Wanted,
    veil: Veil,
    *,
    order: OrderName = "newest",
    limit: int = 50,
    cursor: str = "",
) -> ActivityPageView:
    """One page of what is wanted. What the store finds and may not be shown as found is looked
    past at once: where the page ends is not to tell of it."""
    after = Cursor.read(cursor) if cursor else None
    items: list[ActivitySummary] = []
    now = console.app.clock.monotonic
    until = now() + SLICE
    while True:
        search = partial(
            console.reader.search,
            order=Order(order),
            limit=limit - len(items),
            after=after,
            seconds=max(LEAST_SLICE, until - now()),
        )
        found = await console.ask(search, wanted.filter)
        held = [info for info in found.items if wanted.holds(info, veil)]
        items += [ActivitySummary.of(info, veil) for info in held]
        after = found.next
        if after is None or len(held) == len(found.items) or now() >= until:
            break
    return ActivityPageView(
        items=items,
        next=None if after is None else after.text,
        searched_to=found.searched_to,
    )


@get("/api/activities")
async def activities(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    q: Query = "",
    status: StatusNames = "",
    queue: QueueNames = "",
    type: TypeNames = "",
    roots: RootsOnly = False,
    parent: ParentId = None,
    order: InOrder = "newest",
    limit: Limit = 50,
    cursor: PageCursor = "",
) -> ActivityPageView:
    """Activities that match, without their payloads.

    A search for what no index knows (arguments, text, errors) looks for at most a tenth of a second
    and answers how far it has come.
    """
    veil = veil_of(console, identity)
    asked = wanted(veil, q=q, status=status, queue=queue, type=type, roots=roots, parent=parent)
    return await page_of(console, asked, veil, order=order, limit=limit, cursor=cursor)


@get("/api/activities/count")
async def count(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    q: Query = "",
    status: StatusNames = "",
    queue: QueueNames = "",
    type: TypeNames = "",
    roots: RootsOnly = False,
    parent: ParentId = None,
) -> CountView:
    """How many activities match, up to 10 000, as far as they can be counted in a tenth of a
    second."""
    veil = veil_of(console, identity)
    asked = wanted(veil, q=q, status=status, queue=queue, type=type, roots=roots, parent=parent)
    if asked.inside:
        page = await page_of(console, asked, veil, limit=LOOKED_AT)
        return CountView(count=len(page.items), exact=page.next is None)
    count_matching = partial(console.reader.count, cap=COUNTED_TO, seconds=COUNTING)
    found = await console.ask(count_matching, asked.filter)
    return CountView(count=found.number, exact=found.exact)


ACTIVITIES = (activities, count)
