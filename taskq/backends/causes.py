"""Causes, made of what has failed of them; for any backend."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from taskq.fingerprint import title
from taskq.model import Status
from taskq.snapshot import ActivityInfo, Cause

FAILED = (Status.DEAD_LETTER, Status.FAILED)
"""The states in which an activity has a cause."""


class Share(Struct, frozen=True, kw_only=True):
    """How many of a cause lie in one queue and state, and when the first and last of them ended."""

    queue: str
    status: Status
    count: int
    first: datetime
    last: datetime


def cause(example: ActivityInfo, shares: Sequence[Share], cap: int) -> Cause:
    """A cause of these shares, at least one; ``example`` is the newest of its activities."""
    error = example.error
    return Cause(
        fingerprint=example.fingerprint or "",
        type=example.type,
        title="" if error is None else title(error),
        queues=tuple(sorted({share.queue for share in shares})),
        count=sum(share.count for share in shares),
        dead=sum(share.count for share in shares if share.status is Status.DEAD_LETTER),
        first=min(share.first for share in shares),
        last=max(share.last for share in shares),
        example=example.id,
        cap=cap,
    )


def cause_of(infos: Iterable[ActivityInfo], cap: int) -> Cause:
    """The same of its activities, at least one, of which the newest ``cap`` count."""
    newest = heapq.nlargest(cap, infos, key=_id)
    shares = [
        Share(queue=each.queue, status=each.status, count=1, first=at, last=at)
        for each in newest
        for at in (each.finished_at or each.created_at,)
    ]
    return cause(newest[0], shares, cap)


def first_causes(causes: Iterable[Cause], limit: int) -> list[Cause]:
    """Those with the most activities, then the newest, up to ``limit``."""
    return heapq.nlargest(limit, causes, key=_rank)


def _id(info: ActivityInfo) -> UUID:
    return info.id


def _rank(cause: Cause) -> tuple[int, datetime, str]:
    return cause.count, cause.last, cause.fingerprint
