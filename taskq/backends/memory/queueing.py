"""Pauses in memory, and how queues and types fare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from taskq.audit import Command
from taskq.backends.changes import Changes
from taskq.backends.memory.reader import live
from taskq.backends.memory.recording import MemoryRecorder
from taskq.backends.memory.row import Row
from taskq.backends.presence import ALIVE_WITHIN
from taskq.model import Status
from taskq.pausing import Kind, Line, Load, Pause, serving
from taskq.snapshot import WorkerInfo


class Seen(Struct, frozen=True):
    """When somebody looks, the workers that live then, and how far is counted."""

    now: datetime
    workers: Sequence[WorkerInfo]
    cap: int


class MemoryQueues(MemoryRecorder):
    """``taskq.backends.Queues`` over tables in memory."""

    async def pauses(self) -> list[Pause]:
        """See ``Queues.pauses``."""
        with self._lock:
            return [pause for _, pause in sorted(self._tables.pauses.items())]

    async def pause(self, kind: Kind, name: str, *, command: Command) -> bool:
        """See ``Queues.pause``."""
        with self._lock:
            now = self._clock.now()
            recorded = self._recorded(now, command, f"{kind}.pause", target=name)
            new = recorded and (kind, name) not in self._tables.pauses
            if recorded:
                self._leave([] if new else [name])
            if new:
                self._tables.pauses[kind, name] = Pause(
                    kind=kind, name=name, since=now, by=command.actor, reason=command.reason
                )
        self._tell(Changes(control=new))
        return new

    async def resume(self, kind: Kind, name: str, *, command: Command) -> bool:
        """See ``Queues.resume``."""
        with self._lock:
            recorded = self._recorded(self._clock.now(), command, f"{kind}.resume", target=name)
            ended = recorded and self._tables.pauses.pop((kind, name), None) is not None
            if recorded:
                self._leave([] if ended else [name])
        self._tell(Changes(control=ended))
        return ended

    async def loads(self, kind: Kind, *, cap: int = 10_000) -> list[Load]:
        """See ``Queues.loads``."""
        with self._lock:
            now = self._clock.now()
            seen = Seen(now, live(self._tables, now, ALIVE_WITHIN), cap)
            rows: dict[str, list[Row]] = {}
            for row in self._rows():
                if kind is Kind.QUEUE:
                    rows.setdefault(row.activity.queue, []).append(row)
                elif not row.status.terminal:
                    rows.setdefault(row.activity.type, []).append(row)
            served = {queue for each in seen.workers for queue in each.queues}
            names = {name for paused, name in self._tables.pauses if paused is kind} | rows.keys()
            if kind is Kind.QUEUE:
                names |= served
            return [self._load(kind, name, rows.get(name, ()), seen) for name in sorted(names)]

    def _load(self, kind: Kind, name: str, rows: Sequence[Row], seen: Seen) -> Load:
        counts = Counter(row.status for row in rows)
        shown = [each for each in Status if kind is Kind.QUEUE or not each.terminal]
        pending: dict[str, list[datetime]] = {}
        for row in rows:
            if row.status is Status.PENDING:
                pending.setdefault(row.activity.queue, []).append(row.ready_at)
        firsts = {queue: min(each) for queue, each in sorted(pending.items())}
        return Load(
            kind=kind,
            name=name,
            paused=self._tables.pauses.get((kind, name)),
            by_status={status: min(seen.cap, counts[status]) for status in shown},
            oldest_pending=(seen.now - min(firsts.values())).total_seconds() if firsts else None,
            workers=serving(kind, name, {row.activity.queue for row in rows}, seen.workers),
            cap=seen.cap,
            lines=tuple(
                Line(queue, min(seen.cap, len(pending[queue])), (seen.now - at).total_seconds())
                for queue, at in firsts.items()
                if kind is Kind.TYPE
            ),
        )
