"""What the memory backend keeps, and the only writes there are. The caller holds the lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from taskq.audit import AuditEntry, Command
from taskq.backends.memory.ready import DueLine, LimitLine, ReadyLines
from taskq.backends.memory.row import Row
from taskq.backends.presence import FORGOTTEN_AFTER
from taskq.hooks import hook_types
from taskq.lifecycle import TRANSITIONS
from taskq.model import Status
from taskq.pausing import WAITING, Kind, Pause
from taskq.schedule import ScheduleInfo
from taskq.snapshot import Bucket, WorkerInfo


class Key(Struct, frozen=True):
    """A row of taskq_keys: the activity that a key points at, the digest of its arguments, and when
    it is free again."""

    activity: UUID
    digest: bytes
    expires_at: datetime | None = None

    def has_expired(self, now: datetime) -> bool:
        """Whether it is free again whatever it points at."""
        return self.expires_at is not None and self.expires_at <= now


class WorkerRow(Struct, frozen=True):
    """A row of taskq_workers: ``number`` is that of the heartbeat last counted."""

    info: WorkerInfo
    number: int


class Tables:
    """Rows and their indexes. Each change of state passes ``move``, which asserts TRANSITIONS."""

    def __init__(self) -> None:
        self.rows: dict[UUID, Row] = {}
        self.keys: dict[bytes, Key] = {}
        self.workers: dict[UUID, WorkerRow] = {}
        self.rollup: dict[tuple[int, datetime, str, str, str], Bucket] = {}
        self.ready = ReadyLines(self.rows)
        self.due = DueLine(self.rows)
        self.limits = (
            LimitLine(self.rows, lambda row: row.expires_at),
            LimitLine(self.rows, lambda row: row.deadline_at),
        )
        self.children: dict[UUID, list[UUID]] = {}
        self.processing: dict[UUID, Row] = {}
        self.waiting: dict[str, dict[UUID, Row]] = {}
        self.audit: list[AuditEntry] = []
        self.pauses: dict[tuple[Kind, str], Pause] = {}
        self.schedules: dict[str, ScheduleInfo] = {}

    def insert(self, row: Row) -> None:
        """Store a new row."""
        self.rows[row.id] = row
        if row.activity.parent_id is not None:
            self.children.setdefault(row.activity.parent_id, []).append(row.id)
        self._index(row)

    def remove(self, row: Row) -> None:
        """Drop a row that has ended, with its events, and what has it as parent from its list.

        Its keys are dropped by the caller, for many rows at once."""
        assert row.status.terminal, f"{row.id} is {row.status}"
        del self.rows[row.id]
        self.children.pop(row.id, None)
        siblings = self.children.get(row.activity.parent_id or row.id)
        if siblings is not None:
            siblings.remove(row.id)

    def overdue(self, now: datetime) -> Iterator[Row]:
        """Remove from their line and give those that wait and whose limits have passed, as long as
        the caller goes on: it ends their waiting."""
        for line in self.limits:
            while (row := line.take(now)) is not None:
                yield row

    def orphans(self, parent: UUID) -> list[Row]:
        """See ``Backend.cancel_children``: what is left of the children of ``parent``."""
        mother = self.rows.get(parent)
        if mother is None:
            return []
        hooks = hook_types(mother.activity.type)
        return [
            row
            for row in map(self.rows.__getitem__, self.children.get(parent, ()))
            if not row.status.terminal
            and row.activity.step is None
            and row.activity.idempotency is None
            and row.activity.type not in hooks
        ]

    def move(self, row: Row, status: Status, now: datetime) -> None:
        """Change a row's state. What its indexes are made of must be set before.

        Leaving processing clears lease and cancel; ``finished_at`` is set in a terminal state only.
        """
        assert status in TRANSITIONS[row.status], f"{row.id}: {row.status} -> {status}"
        if row.status is Status.PROCESSING:
            del self.processing[row.id]
            row.lease_until = None
            row.cancel_requested_at = None
        row.status = status
        row.finished_at = now if status.terminal else None
        self._index(row)

    def again(self, row: Row) -> None:
        """Queue a row anew whose place, but not its state, has changed."""
        self._index(row)

    def holding(self, worker: UUID) -> Iterable[Row]:
        """The rows that are processing in this worker's name."""
        return [row for row in self.processing.values() if row.worker == worker]

    def below(self, top: UUID) -> Iterator[Row]:
        """The rows below an activity, that one left out, parents before their children."""
        waiting, seen = [top], {top}
        while waiting:
            fresh = [id for id in self.children.get(waiting.pop(), ()) if id not in seen]
            seen.update(fresh)
            waiting += fresh
            yield from (self.rows[id] for id in fresh)

    def report(self, worker: WorkerInfo, number: int, buckets: Iterable[Bucket]) -> None:
        """Write a worker's row; add its counts unless those of this heartbeat were added before."""
        known = self.workers.get(worker.id)
        if known is None or number > known.number:
            for bucket in buckets:
                self._count(bucket)
        counted = number if known is None else max(number, known.number)
        self.workers[worker.id] = WorkerRow(worker, counted)

    def forget_workers(self, now: datetime) -> None:
        """Drop the rows of workers that were not seen for so long that they are gone."""
        last = now - timedelta(seconds=FORGOTTEN_AFTER)
        for id in [id for id, row in self.workers.items() if row.info.seen_at < last]:
            del self.workers[id]

    def record(
        self,
        now: datetime,
        command: Command,
        action: str,
        *,
        target: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> bool:
        """Write an operator's command down; False where its id is there already: then the caller
        changes nothing."""
        done = {entry.command_id for entry in self.audit}
        if command.id is not None and command.id in done:
            return False
        entry = AuditEntry(
            number=len(self.audit) + 1,
            at=now,
            actor=command.actor,
            action=action,
            reason=command.reason,
            target=target,
            detail=dict(detail or {}),
            command_id=command.id,
        )
        self.audit.append(entry)
        return True

    def _count(self, bucket: Bucket) -> None:
        at = (bucket.span, bucket.minute, bucket.queue, bucket.type, bucket.outcome)
        before = self.rollup.get(at)
        self.rollup[at] = bucket if before is None else _sum(before, bucket)

    def _index(self, row: Row) -> None:
        waiting = self.waiting.setdefault(row.activity.queue, {})
        if row.status in WAITING:
            waiting[row.id] = row
        else:
            waiting.pop(row.id, None)
        match row.status:
            case Status.PENDING:
                self.ready.add(row)
                self._limit(row)
            case Status.SCHEDULED | Status.RETRYING:
                self.due.add(row)
                self._limit(row)
            case Status.PROCESSING:
                self.processing[row.id] = row
            case _:
                assert row.status.terminal

    def _limit(self, row: Row) -> None:
        for line in self.limits:
            line.add(row)


def _sum(one: Bucket, other: Bucket) -> Bucket:
    return replace(
        one,
        count=one.count + other.count,
        waits=tuple(map(int.__add__, one.waits, other.waits)),
        runs=tuple(map(int.__add__, one.runs, other.runs)),
    )
