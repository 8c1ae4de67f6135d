"""Whether a transition may be applied: only under the lease that still holds."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol
from uuid import UUID

from taskq.lifecycle import Transition, Verdict
from taskq.model import Status


class Fenced(Protocol):
    """What decides it, of a stored activity."""

    @property
    def status(self) -> Status:
        """The state that it is in."""
        ...

    @property
    def worker(self) -> UUID | None:
        """Who holds it or settled it last."""
        ...

    @property
    def claim(self) -> int:
        """The number of its latest claim."""
        ...

    @property
    def lease_until(self) -> datetime | None:
        """When its lease ends, while it is processing."""
        ...


def verdict(row: Fenced, transition: Transition, now: datetime) -> Verdict:
    """What becomes of a transition at ``now``, see ``Backend.settle``."""
    if row.worker != transition.worker or row.claim != transition.claim:
        return Verdict.LOST
    if row.status is not Status.PROCESSING:
        return Verdict.ALREADY_MINE
    if transition.only_if_expired and not lease_ended(row, now):
        return Verdict.LOST
    return Verdict.APPLIED


def holds(row: Fenced, worker: UUID, claim: int) -> bool:
    """Whether it is processing under exactly this lease."""
    return row.status is Status.PROCESSING and row.worker == worker and row.claim == claim


def lease_ended(row: Fenced, now: datetime) -> bool:
    """Whether the lease of a processing activity has ended."""
    return row.lease_until is not None and row.lease_until < now
