"""What needs somebody's attention: decided from what was read, without a store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Literal
from uuid import UUID

from msgspec import Struct

from taskq.durations import written
from taskq.filtering.completing import value_text
from taskq.pausing import Kind, Line, Load, Pause, paused
from taskq.schedule import ScheduleInfo
from taskq.snapshot import Cause, UnservedType, WorkerInfo
from taskq.web.views.veil import Veil

PATIENT: Final = 60.0
"""Seconds for which something may be pending that workers serve."""
LATE: Final = 30.0
"""Seconds by which a schedule may be late."""
OF_A_KIND: Final = 20
"""Items of one kind that are told."""
WAITING: Final = "status:pending,scheduled,retrying"

ItemKind = Literal[
    "unserved",
    "stuck",
    "lost_worker",
    "threads_stuck",
    "overdue",
    "broken",
    "paused_queue",
    "paused_type",
    "cause",
]


class AttentionItem(Struct, frozen=True, kw_only=True):
    """One thing. ``subject`` names it to programs: a type, a queue, a schedule, a worker's id, the
    fingerprint of a cause; ``title`` to people, null where messages are hidden, and ``detail`` says
    what is wrong. ``count`` is of activities, and stops at the list's ``cap``; of threads for
    ``threads_stuck``, else 1. ``since`` is null where nobody knows. ``filter`` finds the
    activities."""

    kind: ItemKind
    subject: str
    title: str | None
    detail: str
    count: int
    since: datetime | None = None
    filter: str | None = None


class Seen(Struct, frozen=True, kw_only=True):
    """What was read. ``loads`` are those of types; ``holding`` how many activities lost workers
    hold; ``held`` the schedules that wait for what they made last."""

    now: datetime
    loads: Sequence[Load]
    pauses: Sequence[Pause]
    unserved: Sequence[UnservedType]
    live: Sequence[WorkerInfo]
    lost: Sequence[WorkerInfo]
    holding: Mapping[UUID, int]
    schedules: Sequence[ScheduleInfo]
    held: Collection[str]
    causes: Sequence[Cause]

    @property
    def lines(self) -> Iterator[tuple[str, Line]]:
        """What is pending, by type and queue."""
        return ((load.name, line) for load in self.loads for line in load.lines)

    def ago(self, seconds: float) -> datetime:
        """The instant so many seconds before."""
        return self.now - timedelta(seconds=seconds)


def attention(seen: Seen, veil: Veil) -> tuple[list[AttentionItem], bool]:
    """What needs attention, kind by kind, and whether there is more of a kind than is told."""
    items: list[AttentionItem] = []
    cut = False
    for kind in _KINDS:
        found = list(islice(kind(seen), OF_A_KIND + 1))
        items += found[:OF_A_KIND]
        cut = cut or len(found) > OF_A_KIND
    items += [_cause(cause, veil) for cause in seen.causes]
    return items, cut


def late(info: ScheduleInfo, now: datetime) -> bool:
    """Whether a schedule should have been dealt with by now."""
    if info.next_at is None or info.paused_at is not None or info.broken is not None:
        return False
    return now - info.next_at > timedelta(seconds=LATE)


def _unserved(seen: Seen) -> Iterator[AttentionItem]:
    ages = {(line.queue, type): line.oldest for type, line in seen.lines}
    for gap in seen.unserved:
        age = ages.get((gap.queue, gap.type))
        yield AttentionItem(
            kind="unserved",
            subject=gap.type,
            title=gap.type,
            detail=f"its activities wait in the queue {gap.queue}",
            count=gap.waiting,
            since=None if age is None else seen.ago(age),
            filter=f"{_is('type', gap.type)} {_is('queue', gap.queue)} {WAITING}",
        )


def _stuck(seen: Seen) -> Iterator[AttentionItem]:
    """Queues in which something has been pending for long that is served and not paused."""
    stopped = paused(seen.pauses)
    gaps = {(gap.queue, gap.type) for gap in seen.unserved}
    stuck: dict[str, dict[str, Line]] = {}
    for type, line in seen.lines:
        served = (line.queue, type) not in gaps and not stopped.holds(line.queue, type)
        if served and line.oldest > PATIENT:
            stuck.setdefault(line.queue, {})[type] = line
    for queue, lines in sorted(stuck.items()):
        oldest = max(line.oldest for line in lines.values())
        yield AttentionItem(
            kind="stuck",
            subject=queue,
            title=queue,
            detail=f"{_listed(lines)} waits for {_rounded(oldest)}, though workers serve it",
            count=sum(line.pending for line in lines.values()),
            since=seen.ago(oldest),
            filter=f"{_is('queue', queue)} status:pending",
        )


def _lost(seen: Seen) -> Iterator[AttentionItem]:
    for worker in seen.lost:
        yield AttentionItem(
            kind="lost_worker",
            subject=str(worker.id),
            title=worker.name,
            detail=f"not heard of since then; it was process {worker.pid} on {worker.host}",
            count=seen.holding.get(worker.id, 0),
            since=worker.seen_at,
            filter=f"worker:{worker.id} status:processing",
        )


def _threads(seen: Seen) -> Iterator[AttentionItem]:
    for worker in seen.live:
        if worker.threads_stuck:
            yield AttentionItem(
                kind="threads_stuck",
                subject=str(worker.id),
                title=worker.name,
                detail="threads have outlived their timeout and still hold a slot",
                count=worker.threads_stuck,
            )


def _overdue(seen: Seen) -> Iterator[AttentionItem]:
    for info in seen.schedules:
        if info.next_at is None or not late(info, seen.now) or info.name in seen.held:
            continue
        age = (seen.now - info.next_at).total_seconds()
        yield AttentionItem(
            kind="overdue",
            subject=info.name,
            title=info.name,
            detail=f"it is {_rounded(age)} late: running workers make what schedules are due",
            count=1,
            since=info.next_at,
        )


def _broken(seen: Seen) -> Iterator[AttentionItem]:
    for info in seen.schedules:
        if info.broken is not None:
            yield AttentionItem(
                kind="broken", subject=info.name, title=info.name, detail=info.broken, count=1
            )


def _paused(seen: Seen) -> Iterator[AttentionItem]:
    """What is paused while something waits for it."""
    pending: dict[tuple[Kind, str], int] = {}
    for type, line in seen.lines:
        for key in ((Kind.TYPE, type), (Kind.QUEUE, line.queue)):
            pending[key] = pending.get(key, 0) + line.pending
    for pause in seen.pauses:
        if count := pending.get((pause.kind, pause.name), 0):
            yield AttentionItem(
                kind="paused_queue" if pause.kind is Kind.QUEUE else "paused_type",
                subject=pause.name,
                title=pause.name,
                detail=f"paused by {pause.by}" + (f": {pause.reason}" if pause.reason else ""),
                count=count,
                since=pause.since,
                filter=f"{_is(pause.kind.value, pause.name)} status:pending",
            )


_KINDS: Final[Sequence[Callable[[Seen], Iterator[AttentionItem]]]] = (
    _unserved,
    _stuck,
    _lost,
    _threads,
    _overdue,
    _broken,
    _paused,
)


def _cause(cause: Cause, veil: Veil) -> AttentionItem:
    return AttentionItem(
        kind="cause",
        subject=cause.fingerprint,
        title=veil.said(cause.title),
        detail=f"activities of type {cause.type} have failed for good with it",
        count=cause.count,
        since=cause.last,
        filter=f"cause:{cause.fingerprint} status:dead_letter",
    )


def _is(field: str, value: str) -> str:
    """A word of the filter language."""
    return f"{field}:{value_text(value)}"


def _rounded(seconds: float) -> str:
    return written(float(int(seconds)))


def _listed(names: Collection[str]) -> str:
    """Some of the names."""
    shown = ", ".join(sorted(names)[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
