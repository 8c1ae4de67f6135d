"""What a bulk command was asked to do, as the arguments of its activity."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from taskq.bulk.action import Action
from taskq.codec import from_json, to_json
from taskq.errors import SerializationError
from taskq.identifiers import new_id
from taskq.model import Activity, Policy, Priority
from taskq.reserved import BULK
from taskq.retry import RetryPolicy

CHUNK: Final = 500
"""How many are changed at a time, in one transaction."""
CAP: Final = 100_000
"""How many one command is about at the most, unless it says less."""
MOST_IDS: Final = 1000
"""How many ids one command may name."""
LONGEST_FILTER: Final = 2000
"""Characters of a filter."""
LOWEST_RATE: Final = 0.001
HIGHEST_RATE: Final = 1e6
"""So many a second, at the least and at the most."""


PACE: Final = 3.0
"""Seconds' worth of activities in a chunk of a bulk command with a rate: so long it leaves its slot
to others before the next one."""


def chunk_size(rate: float | None, most: int = CHUNK, *, seconds: float = 0.5) -> int:
    """How many to change at a time at this rate, in activities a second: so many ``seconds``'
    worth; ``most`` where no rate is given."""
    return most if rate is None else max(1, min(most, math.ceil(rate * seconds)))


_RETRY: Final = RetryPolicy(initial_delay=1.0, multiplier=2.0, max_delay=60.0)
_RETRIES, _CRASHES = 20, 10
TIMEOUT: Final = 300.0
"""Seconds for one attempt; it gives up its slot long before, and goes on in another one."""


class Order(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``action`` on what ``filter`` finds (a text of the filter language), or on ``ids``.

    ``actor`` and ``reason`` are those of who gave the command. ``total`` is how many there were
    then, at least where not ``exact``; no more than ``limit`` are taken, in chunks of ``size``, at
    the most ``rate`` a second. ``tree`` is for cancel, ``when`` (aware UTC) for reschedule,
    ``priority`` for priority, ``changes`` (arguments by name) for retry.

    Whoever can write to the store can write one: what is read from there has these bounds.
    """

    action: Action
    actor: Annotated[str, Meta(max_length=300)]
    reason: Annotated[str, Meta(max_length=1000)] = ""
    filter: Annotated[str, Meta(max_length=LONGEST_FILTER)] = ""
    ids: Annotated[list[UUID], Meta(max_length=MOST_IDS)] = []
    total: Annotated[int, Meta(ge=0)] = 0
    exact: bool = True
    limit: Annotated[int, Meta(ge=1, le=CAP)] = CAP
    size: Annotated[int, Meta(ge=1, le=CHUNK)] = CHUNK
    rate: Annotated[float, Meta(ge=LOWEST_RATE, le=HIGHEST_RATE)] | None = None
    tree: bool = False
    when: Annotated[datetime, Meta(tz=True)] | None = None
    priority: Priority | None = None
    changes: dict[str, Any] = {}


def activity_of(order: Order) -> Activity[Any]:
    """The activity that carries it out. Raises SerializationError for what cannot be stored."""
    id = new_id()
    return Activity(
        id=id,
        type=BULK,
        queue=BULK,
        payload=to_json(msgspec.to_builtins(order), label="the bulk command"),
        root_id=id,
        origin_id=id,
        priority=Priority.HIGH,
        max_retries=_RETRIES,
        max_crashes=_CRASHES,
        timeout=TIMEOUT,
        policy=Policy(retry=_RETRY),
    )


def order_of(payload: str) -> Order:
    """The order that an activity carries. Raises SerializationError for what is none."""
    try:
        order = msgspec.convert(from_json(payload, label="the bulk command"), Order)
    except msgspec.ValidationError as error:
        raise SerializationError(f"this is no bulk command: {error}") from error
    if order.action is Action.RESCHEDULE and order.when is None:
        raise SerializationError("this is no bulk command: it does not say when")
    return order
