"""What settling and handing back write, worked out from rows that the write lock keeps still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from taskq.backends.arrival import after_a_run
from taskq.backends.changes import Changes
from taskq.backends.fence import holds, verdict
from taskq.backends.instants import later
from taskq.backends.sql import statements
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.rows import (
    Record,
    activity_values,
    error_text,
    event_values,
    status_of,
)
from taskq.backends.storable import check_storable
from taskq.backends.timeline import transition_detail
from taskq.lifecycle import Note, Settlement, Transition, Verdict, cancelled_error
from taskq.model import ErrorInfo, Lease, Status


class Holding(Struct, frozen=True):
    """A row of ``statements.holdings``."""

    id: UUID
    status: Status
    worker: UUID | None
    claim: int
    lease_until: datetime | None
    cancel_requested_at: datetime | None
    ready_at: datetime
    retry_count: int
    crash_count: int
    isolate: bool
    cancel_tree: bool
    started_at: datetime | None
    expires_at: datetime | None

    @classmethod
    def of(cls, row: Record) -> Holding:
        """From the row."""
        id, status, *others = row
        return cls(id, Status(status), *others)

    @property
    def attempt(self) -> int:
        """The number of the attempt that is running."""
        return self.retry_count + self.crash_count + 1


class Settling:
    """Collects what to write at ``now``, and ``changes``; ``rows`` are the rows meant, by id.

    ``trees``: what ends here whose trees are to be cancelled, see ``Backend.settle``.
    """

    def __init__(self, now: datetime, rows: Mapping[UUID, Holding]) -> None:
        self._now = now
        self._rows = dict(rows)
        self.changes = Changes()
        self.updates: list[dict[str, object]] = []
        self.events: list[dict[str, object]] = []
        self.hooks: list[dict[str, object]] = []
        self.trees: list[UUID] = []

    def settle(self, transition: Transition) -> Settlement:
        """Apply one transition, after those before it, where its lease still holds."""
        row = self._rows.get(transition.id)
        if row is None:
            return Settlement(transition.id, Verdict.LOST, None)
        answer = verdict(row, transition, self._now)
        if answer is Verdict.APPLIED:
            self._apply(row, transition)
        return Settlement(row.id, answer, self._rows[row.id].status)

    def hand_back(self, worker: UUID, lease: Lease) -> None:
        """Return one activity to its place where this lease still holds; nothing counts."""
        row = self._rows.get(lease.id)
        if row is None or not holds(row, worker, lease.claim):
            return
        if row.cancel_requested_at is not None:
            after = replace(row, status=Status.CANCELLED, worker=None)
            self._write(row, after, error=cancelled_error(row.attempt))
            return
        self._note(row, Note.HANDED_BACK, row.attempt, {})
        self._write(row, replace(row, status=Status.PENDING, worker=None))

    def _apply(self, row: Holding, transition: Transition) -> None:
        if transition.note is not None:
            detail = transition_detail(transition)
            self._note(row, transition.note, transition.attempt, detail)
            row = replace(row, expires_at=after_a_run(row.expires_at, row.started_at))
        after = replace(
            row,
            status=transition.status,
            worker=None if transition.only_if_expired else row.worker,
            retry_count=transition.retry_count,
            crash_count=transition.crash_count,
            isolate=transition.isolate,
        )
        instead = transition.if_cancel_requested if row.cancel_requested_at is not None else None
        if instead is not None:
            after = replace(after, status=instead)
            self._write(row, after, error=cancelled_error(transition.attempt))
        else:
            if transition.delay is not None:
                after = replace(after, ready_at=later(self._now, transition.delay))
            self._write(
                row,
                after,
                result=transition.result,
                error=transition.error,
                fingerprint=transition.fingerprint,
            )
        self.hooks += (activity_values(hook, self._now) for hook in transition.hooks)
        self.changes.ready = self.changes.ready or bool(transition.hooks)

    def _write(
        self,
        before: Holding,
        after: Holding,
        *,
        result: str | None = None,
        error: ErrorInfo | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self._rows[after.id] = after
        if before.cancel_tree:
            self.trees.append(before.id)
        self.changes.moved(after.id, after.status)
        check_storable(after.id, result)
        self.updates.append(
            {
                "of_id": before.id,
                "of_worker": before.worker,
                "of_claim": before.claim,
                "new_status": after.status.value,
                "new_worker": after.worker,
                "new_retry_count": after.retry_count,
                "new_crash_count": after.crash_count,
                "new_isolate": after.isolate,
                "new_ready_at": after.ready_at,
                "new_finished_at": self._now if after.status.terminal else None,
                "new_result": result,
                "new_error": error_text(error),
                "new_error_kind": None if error is None else error.kind.value,
                "new_fingerprint": fingerprint,
                "new_expires_at": after.expires_at,
            }
        )

    def _note(self, row: Holding, kind: Note, attempt: int, detail: Mapping[str, object]) -> None:
        event = event_values(
            row.id,
            kind,
            self._now,
            attempt=attempt,
            claim=row.claim,
            worker=row.worker,
            detail=detail,
        )
        self.events.append(event)


def ids_of(things: Sequence[Transition] | Sequence[Lease]) -> list[UUID]:
    """Their ids, each once, sorted."""
    return sorted({thing.id for thing in things})


def holdings(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, Holding]:
    """The rows of these ids, in this order, kept still until the transaction ends."""
    found = chunked(connection, statements.holdings(), "ids", ids)
    return {row.id: Holding.of(row) for row in found if status_of(row.status) is not None}
