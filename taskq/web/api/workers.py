"""``/api/workers``: who runs things."""

from __future__ import annotations

from litestar import get
from litestar.di import NamedDependency
from msgspec import Struct

from taskq.web.console import Console
from taskq.web.views.worker import WorkerView


class WorkerList(Struct, frozen=True, kw_only=True):
    """Workers, those that started last first."""

    items: list[WorkerView]


@get("/api/workers")
async def workers(console: NamedDependency[Console]) -> WorkerList:
    """Workers that were heard of within a minute."""
    found = await console.ask(console.reader.workers)
    return WorkerList(items=[WorkerView.of(worker) for worker in found])


WORKERS = (workers,)
