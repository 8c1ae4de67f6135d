"""``/api/dead-letters``: what activities have failed of."""

from __future__ import annotations

from functools import partial
from typing import Final

from litestar import get
from litestar.di import NamedDependency
from msgspec import Struct

from taskq.web.api.asking import veil_of, wanted
from taskq.web.api.parameters import Limit, Query, QueueNames, TypeNames
from taskq.web.console import Console
from taskq.web.problem import Problem
from taskq.web.role import Identity
from taskq.web.views.record import CauseView

COUNTED_TO: Final = 10_000


class CauseList(Struct, frozen=True, kw_only=True):
    """Causes, those with the most activities first, then the newest."""

    items: list[CauseView]


@get("/api/dead-letters")
async def dead_letters(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    q: Query = "",
    queue: QueueNames = "",
    type: TypeNames = "",
    limit: Limit = 50,
) -> CauseList:
    """What activities ended dead_letter or failed of, by cause, each counted up to 10 000.

    To see the activities of one, ask /api/activities for `cause:` and its fingerprint.
    """
    veil = veil_of(console, identity)
    asked = wanted(veil, q=q, queue=queue, type=type)
    if asked.inside:
        raise Problem(
            400,
            "bad_filter",
            "causes cannot be searched by arguments or text; use error:, cause: and other fields",
        )
    ask = partial(console.reader.dead_letters, limit=limit, cap=COUNTED_TO)
    found = await console.ask(ask, asked.filter)
    return CauseList(items=[CauseView.of(cause, veil) for cause in found])


DEAD_LETTERS = (dead_letters,)
