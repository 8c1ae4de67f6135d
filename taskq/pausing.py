"""What is paused, and how queues and types fare."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from taskq.model import Status
from taskq.reserved import RESERVED
from taskq.snapshot import WorkerInfo


class Kind(StrEnum):
    """What a name is one of."""

    QUEUE = "queue"
    TYPE = "type"


class Pause(Struct, frozen=True, kw_only=True):
    """A queue, or a type wherever it is, of which no worker begins anything. ``since`` is aware
    UTC, by the store's clock; ``by`` the actor of the command, ``reason`` its reason."""

    kind: Kind
    name: str
    since: datetime
    by: str
    reason: str = ""


class Paused(Struct, frozen=True):
    """The names that are paused, for whoever claims."""

    queues: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.queues or self.types)

    def holds(self, queue: str, type: str) -> bool:
        """Whether an activity of this queue and type is not to be begun."""
        return queue in self.queues or type in self.types


def paused(pauses: Collection[Pause]) -> Paused:
    """The names alone."""
    return Paused(
        frozenset(each.name for each in pauses if each.kind is Kind.QUEUE),
        frozenset(each.name for each in pauses if each.kind is Kind.TYPE),
    )


class Line(Struct, frozen=True):
    """What is pending of a type in one queue, counted up to the load's cap, and since how many
    seconds the first of it is ready."""

    queue: str
    pending: int
    oldest: float


class Load(Struct, frozen=True, kw_only=True):
    """What a queue, or a type wherever it is, holds, and who serves it.

    ``by_status`` counts its activities: of a queue in every status, of a type those that have not
    ended. Counts are exact up to ``cap`` and stop there. ``oldest_pending`` is the age in seconds
    of the pending one that has been ready longest. ``workers`` counts the live ones that serve it,
    paused or not; a type's are those of its queues. ``paused`` is None where it goes on. Of a
    type, ``lines`` are the queues in which some of it is pending, by name; a store need not tell.
    """

    kind: Kind
    name: str
    paused: Pause | None
    by_status: Mapping[Status, int]
    oldest_pending: float | None
    workers: int
    cap: int
    lines: tuple[Line, ...] = ()

    @property
    def waiting(self) -> int:
        """How many are pending, scheduled or retrying, as far as they were counted."""
        return sum(self.by_status.get(status, 0) for status in WAITING)


WAITING = (Status.PENDING, Status.SCHEDULED, Status.RETRYING)
"""What has been stored, and neither runs nor has ended."""


def serving(kind: Kind, name: str, queues: Collection[str], workers: Sequence[WorkerInfo]) -> int:
    """How many of these workers serve a queue, or a type in any of ``queues``."""
    if name in RESERVED:
        return len(workers)
    if kind is Kind.QUEUE:
        return sum(name in worker.queues for worker in workers)
    return sum(any(worker.serves(queue, name) for queue in queues) for worker in workers)
