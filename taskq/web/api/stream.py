"""``/api/stream``: what happens, as it happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import QueryParameter

from taskq.web.console import Console
from taskq.web.live.admission import admitted
from taskq.web.live.broadcast import RING
from taskq.web.live.event import Form
from taskq.web.live.sse import EventStream
from taskq.web.problem import Problem

LONGEST_ID: Final = 64

After = Annotated[
    str | None,
    QueryParameter(
        max_length=LONGEST_ID,
        description="The id of the latest event that was received, for clients that cannot send the"
        " header Last-Event-ID.",
    ),
]

Most = Annotated[
    int | None,
    QueryParameter(
        ge=1,
        le=RING,
        description="Where more events than this have come together, a gap stands for all of them.",
    ),
]

ANSWER: Final = {
    200: ResponseSpec(
        str,
        description="Server-sent events.",
        media_type="text/event-stream",
        generate_examples=False,
    )
}


@get("/api/stream", media_type="text/event-stream", responses=ANSWER)
async def stream(
    request: Request[Any, Any, Any],
    console: NamedDependency[Console],
    after: After = None,
    most: Most = None,
) -> EventStream:
    """Server-sent events: what happens to activities, what is paused, and the numbers.

    A client that comes again gets what it has missed, by Last-Event-ID. 503 when all places are
    taken.
    """
    last = request.headers.get("last-event-id") or after
    return await _opened(console, request, last, most)


@get("/api/observability/stream", media_type="text/event-stream", responses=ANSWER)
async def seeds_stream(
    request: Request[Any, Any, Any], console: NamedDependency[Console]
) -> EventStream:
    """What happens to activities, as ``data:`` lines alone, in the shape of RunnerQ's stream."""
    return await _opened(console, request, None, None, Form.as_seeds)


async def _opened(
    console: Console,
    request: Request[Any, Any, Any],
    after: str | None,
    most: int | None,
    shaped: Callable[[Form], Form] = lambda form: form,
) -> EventStream:
    form = await admitted(console, request)
    if form is None:
        raise Problem(401, "unauthenticated", "who asks is not known")

    async def still() -> bool:
        return await admitted(console, request) is form

    return EventStream(console.hub, after=after, most=most, form=shaped(form), recheck=still)


STREAM = (stream, seeds_stream)
