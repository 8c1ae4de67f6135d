"""``/api/series``: throughput and latency over time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from taskq.web.api.asking import only_named
from taskq.web.api.parameters import QueueNames, TypeNames
from taskq.web.console import Console
from taskq.web.views.series import By, SeriesView, steps_until

Window: TypeAlias = Literal["5m", "1h", "24h"]

_STEPS: Final[Mapping[Window, tuple[int, int]]] = {"5m": (60, 6), "1h": (60, 60), "24h": (600, 144)}
"""The seconds of a step, and how many there are."""


@get("/api/series")
async def series(
    console: NamedDependency[Console],
    window: Annotated[Window, QueryParameter(description="How far back.")] = "1h",
    by: Annotated[By, QueryParameter(description="What there is a line of.")] = "none",
    type: TypeNames = "",
    queue: QueueNames = "",
    top: Annotated[int, QueryParameter(ge=1, le=10, description="How many lines.")] = 10,
) -> SeriesView:
    """How many attempts ended, how, and how long they waited and ran: in steps of a minute, of ten
    minutes for 24 h; from the rollup that workers keep, which outlives activities."""
    seconds, number = _STEPS[window]
    steps = steps_until(console.app.clock.now(), seconds, number)
    is_meant = only_named(type=type, queue=queue)
    ask = partial(console.reader.series, span=seconds)
    buckets = await console.ask(ask, steps.since, steps.until)
    return SeriesView.of(window, by, steps, filter(is_meant, buckets), top=top)


SERIES = (series,)
