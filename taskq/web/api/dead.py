"""``/api/dead-letters``: what activities have failed of."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from msgspec import Struct
from msgspec.structs import replace

from taskq.backends import Inspector
from taskq.backends.causes import FAILED, cause_of, first_causes
from taskq.filtering.terms import ErrorHas, TagIn, Term, plain
from taskq.snapshot import ActivityInfo, Cause, Filter
from taskq.web.api.activities import SLICE
from taskq.web.api.asking import veil_of, wanted
from taskq.web.api.parameters import Query, QueueNames, TypeNames
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.record import CauseView

COUNTED_TO: Final = 1000
LOOKED_AT: Final = 500
"""Of what cannot be counted by the store alone, how many are looked at."""


class CauseList(Struct, frozen=True, kw_only=True):
    """Causes, those with the most activities first, then the newest. Where ``searched_to`` is not
    null, only what is newer than that instant was looked at."""

    items: list[CauseView]
    searched_to: datetime | None


class Found(Struct, frozen=True):
    """Causes, and how far was looked."""

    causes: list[Cause]
    searched_to: datetime | None = None


async def look(reader: Inspector, filter: Filter, limit: int) -> Found:
    """Beside the store: the causes of what matches."""
    if not any(_needs_a_look(term) for term in filter.where):
        return Found(await reader.dead_letters(filter, limit=limit, cap=COUNTED_TO))
    statuses = tuple(set(filter.statuses or FAILED) & set(FAILED))
    if not statuses:
        return Found([])
    wanted = replace(filter, statuses=statuses)
    found = await reader.search(wanted, limit=LOOKED_AT, seconds=SLICE)
    by_cause: dict[str, list[ActivityInfo]] = {}
    for info in found.items:
        if info.fingerprint is not None:
            by_cause.setdefault(info.fingerprint, []).append(info)
    causes = first_causes((cause_of(each, COUNTED_TO) for each in by_cause.values()), limit)
    return Found(causes, found.searched_to)


def _needs_a_look(term: Term) -> bool:
    """Whether a term is about what no index and no plain comparison knows."""
    return isinstance(plain(term), (ErrorHas, TagIn))


@get("/api/dead-letters")
async def dead_letters(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    q: Query = "",
    queue: QueueNames = "",
    type: TypeNames = "",
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="How many causes.")] = 50,
) -> CauseList:
    """What activities ended dead_letter or failed of, by cause, each counted up to 1000.

    To see the activities of one, ask /api/activities for `cause:` and its fingerprint.
    """
    veil = veil_of(console, identity)
    asked = wanted(veil, q=q, queue=queue, type=type)
    if asked.inside:
        raise Problem(
            400,
            "bad_filter",
            "causes cannot be searched by arguments, text or hidden tags; use error:, cause: and"
            " other fields",
        )
    found = await console.ask(look, console.reader, asked.filter, limit)
    return CauseList(
        items=[CauseView.of(cause, veil) for cause in found.causes], searched_to=found.searched_to
    )


DEAD_LETTERS = (dead_letters,)
