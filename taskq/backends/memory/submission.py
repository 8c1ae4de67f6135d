"""One batch of calls, worked out before any of it is stored, so that it is all or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from taskq.backends.instants import later
from taskq.backends.links import Link, link
from taskq.backends.memory.row import Row, new_row
from taskq.backends.memory.tables import Key, Tables
from taskq.backends.storable import check_activity
from taskq.idempotency import Holder, Resolution, resolve
from taskq.model import Activity, Idempotency, Receipt


class Submission:
    """Calls staged over ``tables`` at the instant ``now``; ``store`` makes them real."""

    def __init__(self, tables: Tables, now: datetime) -> None:
        self._tables = tables
        self._now = now
        self._rows: dict[UUID, Row] = {}
        self._keys: dict[bytes, Key] = {}
        self._links: list[Link] = []

    def add(self, activity: Activity[object]) -> Receipt:
        """Stage one call, after those before it. Raises IdempotencyConflict, BackendError."""
        if self._row(activity.id) is not None:
            return Receipt(activity.id, True)
        check_activity(activity)
        wanted = activity.idempotency
        if wanted is not None:
            holder = self._holder(wanted)
            if holder and resolve(activity.id, wanted, holder) is Resolution.RETURN:
                self._link(activity, holder.id)
                return Receipt(holder.id, False)
            until = None if wanted.unique_for is None else later(self._now, wanted.unique_for)
            self._keys[wanted.hash] = Key(activity.id, wanted.digest, until)
        self._rows[activity.id] = new_row(activity, self._now)
        return Receipt(activity.id, True)

    def store(self) -> Mapping[UUID, Row]:
        """Store what was staged; answers the new rows."""
        for row in self._rows.values():
            self._tables.insert(row)
        self._tables.keys.update(self._keys)
        for each in self._links:
            self._tables.rows[each.activity].link(each, self._now)
        return self._rows

    def _link(self, activity: Activity[object], holder: UUID) -> None:
        row = self._row(holder)
        assert row is not None
        new = link(activity, row.id, claim=row.claim, made_by=row.activity.parent_id)
        if new is not None:
            self._links.append(new)

    def _row(self, id: UUID) -> Row | None:
        return self._rows.get(id) or self._tables.rows.get(id)

    def _holder(self, wanted: Idempotency) -> Holder | None:
        key = self._keys.get(wanted.hash) or self._tables.keys.get(wanted.hash)
        row = None if key is None else self._row(key.activity)
        if key is None or row is None or key.has_expired(self._now):
            return None
        same = key.digest == wanted.digest
        return Holder(id=row.id, status=row.status, created_at=row.created_at, same_arguments=same)
