"""``/api/attention``: what somebody should look at, in one answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from litestar import get
from litestar.di import NamedDependency
from msgspec import Struct

from taskq.backends import Inspector
from taskq.filtering.terms import IdIn, Span
from taskq.model import Status
from taskq.pausing import Kind
from taskq.schedule import ScheduleInfo
from taskq.search import Order
from taskq.snapshot import Filter, WorkerInfo
from taskq.web.api.asking import veil_of
from taskq.web.api.workers import present
from taskq.web.console import Console
from taskq.web.role import Identity
from taskq.web.views.attention import OF_A_KIND, AttentionItem, Seen, attention, late

COUNTED_TO: Final = 1000
CAUSES: Final = 5
HELD_READ: Final = 200
"""Activities of lost workers that are read."""


class AttentionList(Struct, frozen=True, kw_only=True):
    """By kind, the most pressing first: ``unserved``, ``stuck``, ``lost_worker``,
    ``threads_stuck``, ``overdue``, ``broken``, ``paused_queue``, ``paused_type``, ``cause``; up to
    20 of a kind (``cut``: there are more), of causes 5."""

    items: list[AttentionItem]
    cut: bool
    cap: int


async def look(reader: Inspector, now: datetime) -> Seen:
    """Beside the store: what is to be judged."""
    there = await present(reader)
    schedules = await reader.schedules()
    dead = Filter(statuses=(Status.DEAD_LETTER,))
    return Seen(
        now=now,
        loads=await reader.loads(Kind.TYPE, cap=COUNTED_TO),
        pauses=await reader.pauses(),
        unserved=await reader.unserved(),
        live=there.live,
        lost=there.lost,
        holding=await _holding(reader, there.lost[:OF_A_KIND]),
        schedules=schedules,
        held=await _held(reader, schedules, now),
        causes=await reader.dead_letters(dead, limit=CAUSES, cap=COUNTED_TO),
    )


async def _holding(reader: Inspector, lost: Sequence[WorkerInfo]) -> Counter[UUID]:
    """How many activities these workers still hold."""
    if not lost:
        return Counter()
    theirs = IdIn("worker", tuple(Span(worker.id, worker.id) for worker in lost))
    wanted = Filter(statuses=(Status.PROCESSING,), where=(theirs,))
    found = await reader.search(wanted, order=Order.STARTED, limit=HELD_READ)
    return Counter(info.worker for info in found.items if info.worker is not None)


async def _held(
    reader: Inspector, schedules: Sequence[ScheduleInfo], now: datetime
) -> frozenset[str]:
    """Those of the late ones that only wait until what they made last has ended."""
    waiting = {
        info.last_id: info.name
        for info in schedules
        if info.last_id is not None and info.schedule.overlap == "queue" and late(info, now)
    }
    if not waiting:
        return frozenset()
    found = await reader.get(list(waiting)[:COUNTED_TO])
    return frozenset(waiting[id] for id, info in found.items() if not info.status.terminal)


@get("/api/attention")
async def needs_attention(
    console: NamedDependency[Console], identity: NamedDependency[Identity]
) -> AttentionList:
    """What needs attention: types that nobody serves, queues that are stuck, workers that were
    lost, schedules that are late or broken, pauses that something waits for, and what most dead
    letters have failed of."""
    seen = await console.ask(look, console.reader, console.app.clock.now())
    items, cut = attention(seen, veil_of(console, identity))
    return AttentionList(items=items, cut=cut, cap=COUNTED_TO)


ATTENTION = (needs_attention,)
