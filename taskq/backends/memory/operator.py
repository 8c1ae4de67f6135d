"""What operators do to the memory backend."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from taskq.audit import Command
from taskq.backends.arrival import isolated, still
from taskq.backends.changes import Changes
from taskq.backends.instants import later
from taskq.backends.memory.recording import MemoryRecorder
from taskq.backends.memory.row import Row
from taskq.backends.memory.tables import Tables
from taskq.backends.storable import check_storable
from taskq.backends.timeline import retry_detail, who
from taskq.idempotency import renewed_digest
from taskq.lifecycle import (
    REORDERABLE_BY_OPERATOR,
    RESCHEDULABLE_BY_OPERATOR,
    RETRYABLE_BY_OPERATOR,
    STARTABLE_BY_OPERATOR,
    Note,
    rescheduled,
)
from taskq.model import Priority, Status


class MemoryOperator(MemoryRecorder):
    """``taskq.backends.Operator`` over tables in memory."""

    async def retry(
        self,
        ids: Sequence[UUID],
        *,
        command: Command,
        arguments: Mapping[UUID, str] | None = None,
        kept: Mapping[UUID, str] | None = None,
        delay: float = 0.0,
        spread: float = 0.0,
    ) -> Mapping[UUID, Status]:
        """See ``Operator.retry``."""
        edited = arguments or {}
        for id, payload in edited.items():
            check_storable(id, payload)
        places = {id: place for place, id in enumerate(dict.fromkeys(ids))}

        def change(row: Row, now: datetime) -> None:
            wait = delay + spread * places[row.id] / len(places)
            payload = edited.get(row.id)
            before = None if payload is None else (kept or {}).get(row.id, row.activity.payload)
            detail = retry_detail(command, row.status, row.error, before)
            row.note(Note.RETRIED, now, detail, None)
            self._restart(row, now, payload, wait)

        def digests() -> dict[str, object]:
            return _digests(self._tables, RETRYABLE_BY_OPERATOR, places, edited)

        return self._change(ids, command, "retry", _in(RETRYABLE_BY_OPERATOR), change, digests)

    async def run_now(self, ids: Sequence[UUID], *, command: Command) -> Mapping[UUID, Status]:
        """See ``Operator.run_now``."""

        def change(row: Row, now: datetime) -> None:
            self._reschedule(row, now, now, command)

        return self._change(ids, command, "run_now", _in(STARTABLE_BY_OPERATOR), change)

    async def reschedule(
        self, ids: Sequence[UUID], when: datetime, *, command: Command
    ) -> Mapping[UUID, Status]:
        """See ``Operator.reschedule``."""

        def change(row: Row, now: datetime) -> None:
            self._reschedule(row, now, when, command)

        def detail() -> dict[str, object]:
            return {"when": when.isoformat()}

        fits = _in(RESCHEDULABLE_BY_OPERATOR)
        return self._change(ids, command, "reschedule", fits, change, detail)

    async def set_priority(
        self, ids: Sequence[UUID], priority: Priority, *, command: Command
    ) -> Mapping[UUID, Status]:
        """See ``Operator.set_priority``."""

        def change(row: Row, now: datetime) -> None:
            before = row.activity.priority
            detail = {**who(command), "from": before.name, "to": priority.name}
            row.note(Note.PRIORITY_CHANGED, now, detail, None)
            row.activity = replace(row.activity, priority=priority)
            self._tables.again(row)

        def detail() -> dict[str, object]:
            return {"priority": priority.name}

        def fits(row: Row) -> bool:
            return row.status in REORDERABLE_BY_OPERATOR and row.activity.priority is not priority

        return self._change(ids, command, "set_priority", fits, change, detail)

    def _change(
        self,
        ids: Sequence[UUID],
        command: Command,
        action: str,
        fits: Callable[[Row], bool],
        change: Callable[[Row, datetime], None],
        detail: Callable[[], Mapping[str, object]] = dict,
    ) -> Mapping[UUID, Status]:
        """Change those that fit, and record it; what each was before."""
        changes = Changes()
        with self._lock:
            now = self._clock.now()
            rows = [
                row for row in map(self._tables.rows.get, dict.fromkeys(ids)) if row is not None
            ]
            before = {row.id: row.status for row in rows}
            if not self._recorded_of(now, command, action, ids, **detail()):
                return before
            fitting = [row for row in rows if fits(row)]
            for row in fitting:
                change(row, now)
                changes.moved(row.id, row.status)
            done = {row.id for row in fitting}
            self._leave(id for id in dict.fromkeys(ids) if id not in done)
        self._tell(changes)
        return before

    def _restart(self, row: Row, now: datetime, payload: str | None, wait: float) -> None:
        if payload is not None:
            self._edit(row, payload)
        row.retry_count = row.crash_count = 0
        row.result = row.error = row.progress = row.fingerprint = None
        row.cancel_tree = False
        row.isolate = isolated(row.activity.max_crashes)
        row.ready_at = later(now, wait)
        row.expires_at = still(row.expires_at, now)
        row.deadline_at = still(row.deadline_at, now)
        self._tables.move(row, Status.SCHEDULED if wait > 0 else Status.PENDING, now)

    def _edit(self, row: Row, payload: str) -> None:
        """Let it have another payload, and its keys stand for that."""
        call = row.activity
        digest = renewed_digest(call.type, payload, step=call.step is not None)
        row.activity = replace(call, payload=payload)
        for hash, key in self._tables.keys.items():
            if key.activity == row.id:
                self._tables.keys[hash] = replace(key, digest=digest)

    def _reschedule(self, row: Row, now: datetime, when: datetime, command: Command) -> None:
        detail = {**who(command), "ready_at": row.ready_at.isoformat()}
        row.note(Note.RESCHEDULED, now, detail, None)
        row.ready_at = max(when, now)
        status = rescheduled(row.status, when, now)
        if status is row.status:
            self._tables.again(row)
        else:
            self._tables.move(row, status, now)


def _digests(
    tables: Tables,
    states: Collection[Status],
    ids: Collection[UUID],
    edited: Mapping[UUID, str],
) -> dict[str, object]:
    """For the record: what the payloads were that are edited now."""
    rows = [tables.rows[id] for id in edited if id in ids and id in tables.rows]
    digests = {
        str(row.id): hashlib.sha256(row.activity.payload.encode()).hexdigest()
        for row in rows
        if row.status in states
    }
    return {"edited": digests} if digests else {}


def _in(states: Collection[Status]) -> Callable[[Row], bool]:
    return lambda row: row.status in states
