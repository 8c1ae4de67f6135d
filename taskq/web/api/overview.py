"""``/api/stats``: how everything stands, in numbers."""

from __future__ import annotations

from functools import partial

from litestar import get
from litestar.di import NamedDependency

from taskq.web.console import Console
from taskq.web.views.stats import COUNTED_TO, StatsView


async def current_stats(console: Console) -> StatsView:
    """The counts as they are now."""
    return StatsView.of(await console.ask(partial(console.reader.stats, cap=COUNTED_TO)))


@get("/api/stats")
async def stats(console: NamedDependency[Console]) -> StatsView:
    """Counts of activities by state, priority and queue, and of workers."""
    return await current_stats(console)


OVERVIEW = (stats,)
