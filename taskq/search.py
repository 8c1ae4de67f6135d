"""Searching in slices: the orders that an index serves, where a search stands, what it has found.

A list waits until its page is full. A search stops when its time is up, says how far it has looked
and goes on from there, so that no filter makes anybody wait for a million rows.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct

from taskq.errors import ConfigurationError
from taskq.model import Status
from taskq.snapshot import ActivityInfo, Filter

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT: Final = re.compile(r"([0-9a-f]{32})(?:\.([0-9]{1,18}))?\Z")


class Order(StrEnum):
    """What comes first."""

    NEWEST = "newest"
    """By id, the highest first: ids grow with time."""
    OLDEST = "oldest"
    """By id, the lowest first."""
    DUE = "due"
    """What is to run next, of what is scheduled or retrying."""
    STARTED = "started"
    """What has run longest, of what is processing."""

    @property
    def statuses(self) -> frozenset[Status]:
        """The states that have this order."""
        return _STATUSES.get(self, frozenset(Status))


_STATUSES: Final = {
    Order.DUE: frozenset({Status.SCHEDULED, Status.RETRYING}),
    Order.STARTED: frozenset({Status.PROCESSING}),
}


class Cursor(Struct, frozen=True):
    """Where a search stands: behind the activity ``id``, and in the orders DUE and STARTED behind
    its instant ``at`` (aware UTC; None in the other orders)."""

    id: UUID
    at: datetime | None = None

    @property
    def text(self) -> str:
        """It for clients, to whom it means nothing: letters, digits and dots."""
        if self.at is None:
            return self.id.hex
        return f"{self.id.hex}.{(self.at - _EPOCH) // timedelta(microseconds=1)}"

    @classmethod
    def read(cls, text: str) -> Cursor:
        """What ``text`` wrote. Raises ConfigurationError for anything else."""
        found = _TEXT.match(text)
        if found is None:
            raise _no_cursor()
        try:
            at = None if found[2] is None else _EPOCH + timedelta(microseconds=int(found[2]))
        except OverflowError:
            raise _no_cursor() from None
        return cls(UUID(found[1]), at)


class SearchSlice(Struct, frozen=True, kw_only=True):
    """What one slice of a search has found.

    ``next`` is where the following slice begins, None at the end; it may be set although ``items``
    are few or none. ``searched_to`` is the instant (aware UTC) of the last activity that was looked
    at: when it was created; in the orders DUE and STARTED when it is due and when it was started;
    None at the end.
    """

    items: tuple[ActivityInfo, ...]
    next: Cursor | None
    searched_to: datetime | None


class Count(Struct, frozen=True):
    """How many activities match; not ``exact``: at least so many."""

    number: int
    exact: bool


def check_search(filter: Filter, order: Order, after: Cursor | None) -> None:
    """Raises ConfigurationError for an order that no index gives to what the filter asks for, and
    for a cursor of another order."""
    if order in _STATUSES:
        allowed = sorted(order.statuses)
        if not filter.statuses or not order.statuses.issuperset(filter.statuses):
            raise ConfigurationError(
                f"the order {order} is only for what is {' or '.join(allowed)}:"
                f" filter by status:{','.join(allowed)}, or order by newest or oldest"
            )
    if after is not None and (after.at is not None) != (order in _STATUSES):
        raise ConfigurationError(
            f"this cursor is not one of the order {order}: leave it out to begin anew"
        )


def _no_cursor() -> ConfigurationError:
    return ConfigurationError(
        "this is no cursor: give the one of the answer before, or leave it out to begin anew"
    )
