"""``/api/workers``: who runs things, and what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from litestar import get
from litestar.di import NamedDependency
from msgspec import Struct

from taskq.backends import Inspector
from taskq.backends.presence import FORGOTTEN_AFTER
from taskq.model import Status
from taskq.search import Order
from taskq.snapshot import ActivityInfo, Filter, WorkerInfo
from taskq.web.api.asking import veil_of
from taskq.web.console import Console
from taskq.web.role import Identity
from taskq.web.views.veil import Veil
from taskq.web.views.worker import WorkerView

RUNNING_SHOWN: Final = 20
"""Of each worker."""
RUNNING_READ: Final = 1000
"""Of all workers."""


class WorkerList(Struct, frozen=True, kw_only=True):
    """Workers that are alive, then those that were lost; those that started last first."""

    items: list[WorkerView]


class Present(Struct, frozen=True):
    """The workers that live, and those that were lost within an hour."""

    live: Sequence[WorkerInfo]
    lost: Sequence[WorkerInfo]


class Crew(Struct, frozen=True):
    """Who is there, and what they hold, by worker."""

    present: Present
    running: Mapping[UUID | None, Sequence[ActivityInfo]]

    def view(self, worker: WorkerInfo, veil: Veil, *, lost: bool) -> WorkerView:
        """One of them."""
        running = self.running.get(worker.id, ())
        return WorkerView.of(worker, running[:RUNNING_SHOWN], veil, lost=lost)


async def present(reader: Inspector) -> Present:
    """Beside the store: who is there, and who has not said that they would go."""
    live = await reader.workers()
    alive = {worker.id for worker in live}
    known = await reader.workers(alive_within=FORGOTTEN_AFTER)
    return Present(live, [worker for worker in known if worker.id not in alive])


async def look(reader: Inspector) -> Crew:
    """Beside the store: who is there, and what they hold."""
    found = await present(reader)
    running: dict[UUID | None, list[ActivityInfo]] = defaultdict(list)
    if found.live or found.lost:
        held = Filter(statuses=(Status.PROCESSING,))
        slice = await reader.search(held, order=Order.STARTED, limit=RUNNING_READ)
        for info in slice.items:
            running[info.worker].append(info)
    return Crew(found, running)


@get("/api/workers")
async def workers(
    console: NamedDependency[Console], identity: NamedDependency[Identity]
) -> WorkerList:
    """Workers that were heard of within a minute, and those that were lost within an hour; with
    what they run, of all of them the 1000 that have run longest."""
    crew = await console.ask(look, console.reader)
    veil = veil_of(console, identity)
    live = [crew.view(worker, veil, lost=False) for worker in crew.present.live]
    lost = [crew.view(worker, veil, lost=True) for worker in crew.present.lost]
    return WorkerList(items=[*live, *lost])


WORKERS = (workers,)
