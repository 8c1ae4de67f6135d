"""``/api/queues`` and ``/api/types``: what they hold, who serves them, how they fare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from litestar import get
from litestar.di import NamedDependency
from msgspec import Struct

from taskq.app import TaskQ
from taskq.backends import Inspector
from taskq.pausing import Kind, Load, serving
from taskq.snapshot import Bucket, UnservedType, WorkerInfo
from taskq.web.console import Console
from taskq.web.views.load import QueueView, RateView, TaskView, TypeView, UnservedView
from taskq.web.views.series import Steps, steps_until
from taskq.web.views.stats import COUNTED_TO

STEP: Final = 600
STEPS: Final = 7
"""The last hour in the rollup's coarse steps, of which the last has just begun."""


class QueueList(Struct, frozen=True, kw_only=True):
    """Queues in order of their names."""

    items: list[QueueView]


class TypeList(Struct, frozen=True, kw_only=True):
    """Types in order of their names."""

    items: list[TypeView]


class Fares(Struct, frozen=True):
    """How all queues, or types, fare, by their names."""

    loads: Mapping[str, Load]
    unserved: Mapping[str, Sequence[UnservedType]]
    buckets: Mapping[str, Sequence[Bucket]]
    workers: Sequence[WorkerInfo]
    seconds: float

    def rates(self, name: str) -> RateView:
        """Of the last hour."""
        return RateView.of(self.buckets.get(name, ()), self.seconds)

    def gaps(self, name: str) -> list[UnservedView]:
        """What nobody serves."""
        return [UnservedView.of(each) for each in self.unserved.get(name, ())]

    def served(self, type: str, queue: str | None) -> int:
        """How many workers serve a type: in the queues where some of it has not ended; where all
        has, in ``queue``, that of its task, or by its name."""
        load = self.loads.get(type)
        if load is not None and any(load.by_status.values()):
            return load.workers
        if queue is not None:
            return serving(Kind.TYPE, type, {queue}, self.workers)
        return sum(type in worker.types for worker in self.workers)

    @property
    def names(self) -> set[str]:
        """Those that the store knows of."""
        return {*self.loads, *self.unserved, *self.buckets}


async def look(reader: Inspector, kind: Kind, steps: Steps, seconds: float) -> Fares:
    """Beside the store: how they fare."""
    unserved: dict[str, list[UnservedType]] = defaultdict(list)
    for gap in await reader.unserved():
        unserved[gap.queue if kind is Kind.QUEUE else gap.type].append(gap)
    buckets: dict[str, list[Bucket]] = defaultdict(list)
    for bucket in await reader.series(steps.since, steps.until, span=STEP):
        buckets[bucket.queue if kind is Kind.QUEUE else bucket.type].append(bucket)
    loads = {load.name: load for load in await reader.loads(kind, cap=COUNTED_TO)}
    workers = await reader.workers()
    return Fares(loads, unserved, buckets, workers, seconds)


async def fares(console: Console, kind: Kind) -> Fares:
    """How queues or types fare now."""
    now = console.app.clock.now()
    steps = steps_until(now, STEP, STEPS)
    seconds = (now - steps.since) / timedelta(seconds=1)
    return await console.ask(look, console.reader, kind, steps, seconds)


def task_view(app: TaskQ, type: str) -> TaskView:
    """What this app says of a task."""
    task = app.tasks[type]
    effective = app.registry.effective(task.definition.options)
    names = task.definition.codec.signature.parameters
    secret = app.registry.secrets(type).arguments | set(filter(app.redaction.hides, names))
    return TaskView.of(task, effective, secret)


@get("/api/queues")
async def queues(console: NamedDependency[Console]) -> QueueList:
    """Queues: those that hold something, have a worker, are paused, or belong to this app."""
    found = await fares(console, Kind.QUEUE)
    declared = frozenset(console.app.registry.queues())
    return QueueList(
        items=[
            QueueView.of(
                name,
                found.loads.get(name),
                declared=name in declared,
                unserved=found.gaps(name),
                rates=found.rates(name),
                cap=COUNTED_TO,
            )
            for name in sorted(found.names | declared)
        ]
    )


@get("/api/types")
async def types(console: NamedDependency[Console]) -> TypeList:
    """Activity types: the tasks of this app, and what else is stored or has run in the last
    hour."""
    found = await fares(console, Kind.TYPE)
    tasks = {name: task_view(console.app, name) for name in console.app.tasks}
    return TypeList(
        items=[
            TypeView.of(
                name,
                found.loads.get(name),
                task=(task := tasks.get(name)),
                workers=found.served(name, None if task is None else task.queue),
                unserved=found.gaps(name),
                rates=found.rates(name),
                cap=COUNTED_TO,
            )
            for name in sorted(found.names | tasks.keys())
        ]
    )


QUEUES = (queues, types)
