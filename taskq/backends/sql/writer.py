"""What writes do inside one transaction, whose lock keeps every other writer out.

Each function takes the connection and ``now``, the store's instant. Callers open the transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import json
from msgspec.structs import replace
from sqlalchemy import Connection

from taskq.aging import LEVELS, place
from taskq.backends import ClaimRequest, Heartbeat, ProgressReport, Promotion, Renewal
from taskq.backends.changes import Changes
from taskq.backends.instants import FIRST, later
from taskq.backends.presence import FORGOTTEN_AFTER
from taskq.backends.sql import (
    aging,
    beats,
    cancelling,
    children,
    linking,
    queries,
    rows,
    statements,
)
from taskq.backends.sql.bounding import Room
from taskq.backends.sql.cancelling import cancel_below
from taskq.backends.sql.chunks import chunked
from taskq.backends.sql.rows import Record
from taskq.backends.sql.settling import Settling, holdings, ids_of
from taskq.backends.sql.statements import MERGED, Place
from taskq.backends.sql.submission import KeyHolder, Submission
from taskq.errors import BackendError
from taskq.lifecycle import (
    Settlement,
    Transition,
)
from taskq.model import Activity, Attempt, Lease, Receipt, Status
from taskq.snapshot import Bucket


def submit(
    connection: Connection, now: datetime, activities: Sequence[Activity[object]]
) -> tuple[list[Receipt], Changes]:
    """See ``Backend.submit``."""
    room = Room(connection, now, activities)
    keyed = [activity for activity in activities if activity.idempotency is not None]
    submission = Submission(
        now,
        stored=_stored(connection, [activity.id for activity in keyed]),
        holders=_holders(connection, now, keyed),
    )
    receipts = [submission.add(activity) for activity in activities]
    stored = _insert(
        connection, [rows.activity_values(each, now) for each in submission.activities]
    )
    if submission.keys:
        connection.execute(statements.point_keys(), submission.keys)
    if submission.links:
        values = linking.sqlite_values(submission.links, now)
        connection.execute(linking.on_sqlite(), values)
    room.keep(receipts)
    room.changes.ready = stored > 0
    return receipts, room.changes


def any_ready(connection: Connection, request: ClaimRequest) -> bool:
    """Whether a claim would find anything; reads only."""
    places = _places(connection, _included(connection, request))
    if not places:
        return False
    query = statements.candidates(statements.claim_shape(places))
    values = {**statements.place_values(places), "alone": request.alone, "limit": 1}
    return connection.execute(query, values).first() is not None


def claim(
    connection: Connection, now: datetime, request: ClaimRequest
) -> tuple[list[Attempt], Changes]:
    """See ``Backend.claim``."""
    request = _included(connection, request)
    if request.children:
        return _claim_children(connection, now, request), Changes()
    places = _places(connection, request)
    if not places:
        return [], Changes()
    if request.aging is not None:
        return _claim_risen(connection, now, request, request.aging, places), Changes()
    values = _claimer(now, request) | statements.place_values(places)
    claimed = connection.execute(statements.claim(statements.claim_shape(places)), values)
    attempts = rows.attempts(claimed)
    attempts.sort(key=lambda attempt: (-attempt.priority, attempt.ready_at, attempt.id))
    return attempts, Changes()


def _claim_risen(
    connection: Connection,
    now: datetime,
    request: ClaimRequest,
    seconds: float,
    places: Sequence[Place],
) -> list[Attempt]:
    since = {f"risen_{level}": later(now, -level * seconds) for level in range(1, LEVELS + 1)}
    named = json.encode([(each.queue, each.type) for each in places]).decode()
    values = {**_claimer(now, request), **since, "places": named}
    statement = aging.claim(typed=request.types is not None)
    attempts = rows.attempts(connection.execute(statement, values))
    return sorted(attempts, key=lambda attempt: place(attempt, seconds))


def _claim_children(connection: Connection, now: datetime, request: ClaimRequest) -> list[Attempt]:
    queues = tuple(dict.fromkeys(request.queues))
    if not queues:
        return []
    values = _claimer(now, request) | statements.place_values([Place(queue) for queue in queues])
    if request.types is not None:
        values["types"] = json.encode(request.types).decode()
    statement = children.on_sqlite(len(queues), typed=request.types is not None)
    return sorted(rows.attempts(connection.execute(statement, values)), key=rows.by_depth)


def _included(connection: Connection, request: ClaimRequest) -> ClaimRequest:
    """The same request by the types that wait, where it is for every type without some."""
    if request.types is not None or not request.without:
        return request
    waiting: set[str] = set()
    for queue in dict.fromkeys(request.queues):
        waiting.update(connection.scalars(statements.waiting_types(), {"queue": queue}))
    return replace(request, types=tuple(sorted(waiting.difference(request.without))), without=())


def _claimer(now: datetime, request: ClaimRequest) -> dict[str, object]:
    return {
        "alone": request.alone,
        "limit": request.limit,
        "holder": request.worker,
        "now": now,
        "until": later(now, request.lease),
    }


def any_overdue(connection: Connection, now: datetime) -> bool:
    """Whether ``claim_overdue`` would find anything; reads only."""
    found = connection.execute(statements.overdue(), {"now": now, "limit": 1})
    return found.first() is not None


def claim_overdue(
    connection: Connection, now: datetime, worker: UUID, limit: int, lease: float
) -> tuple[list[Attempt], Changes]:
    """See ``Backend.claim_overdue``."""
    values = {"now": now, "limit": limit, "holder": worker, "until": later(now, lease)}
    attempts = rows.attempts(connection.execute(statements.claim_overdue(), values))
    return sorted(attempts, key=lambda attempt: attempt.id), Changes()


def _places(connection: Connection, request: ClaimRequest) -> list[Place]:
    """Where this request may find something.

    A worker of many types takes whole queues where it serves all that waits there. It never walks
    over a backlog of what it does not serve. Where waiting counts, all places are of one kind.
    """
    queues = tuple(dict.fromkeys(request.queues))
    if request.types is None:
        return [Place(queue) for queue in queues]
    types = tuple(dict.fromkeys(request.types))
    if len(queues) * len(types) <= MERGED:
        return [Place(queue, type) for queue in queues for type in types]
    places: list[Place] = []
    for queue in queues:
        waiting = set(connection.scalars(statements.waiting_types(), {"queue": queue}))
        wanted = sorted(waiting.intersection(types))
        if len(wanted) == len(waiting) > 0 and request.aging is None:
            places.append(Place(queue))
        else:
            places += (Place(queue, type) for type in wanted)
    return places


def settle(
    connection: Connection, now: datetime, transitions: Sequence[Transition]
) -> tuple[list[Settlement], Changes]:
    """See ``Backend.settle``."""
    settling = Settling(now, holdings(connection, ids_of(transitions)))
    settlements = [settling.settle(transition) for transition in transitions]
    _write(connection, now, settling)
    return settlements, settling.changes


def hand_back(
    connection: Connection, now: datetime, worker: UUID, leases: Sequence[Lease]
) -> tuple[None, Changes]:
    """See ``Backend.hand_back``."""
    settling = Settling(now, holdings(connection, ids_of(leases)))
    for lease in leases:
        settling.hand_back(worker, lease)
    _write(connection, now, settling)
    return None, settling.changes


def heartbeat(connection: Connection, now: datetime, beat: Heartbeat) -> tuple[Renewal, Changes]:
    """See ``Backend.heartbeat``."""
    renewed = renew(connection, now, beat)
    _report(connection, now, beat)
    return renewed


def renew(connection: Connection, now: datetime, beat: Heartbeat) -> tuple[Renewal, Changes]:
    """Its leases alone."""
    holding = {row.id: row for row in held(connection, beat.worker.id)}
    kept = [
        lease
        for lease in beat.leases
        if lease.id in holding and holding[lease.id].claim == lease.claim
    ]
    until = later(now, beat.lease)
    if kept:
        connection.execute(
            statements.renew(),
            [
                {
                    "of_id": lease.id,
                    "of_worker": beat.worker.id,
                    "of_claim": lease.claim,
                    "until": until,
                }
                for lease in kept
            ],
        )
    renewal = Renewal(
        lost=frozenset(lease.id for lease in beat.leases) - {lease.id for lease in kept},
        cancelled=frozenset(
            lease.id for lease in kept if holding[lease.id].cancel_requested_at is not None
        ),
    )
    return renewal, Changes()


def held(connection: Connection, worker: UUID) -> Sequence[Record]:
    """What is processing in this worker's name: id, claim, cancel_requested_at."""
    return connection.execute(statements.held(), {"worker": worker}).all()


def retire(connection: Connection, worker: UUID) -> tuple[None, Changes]:
    """See ``Backend.retire``."""
    connection.execute(beats.retire(), {"worker": worker})
    return None, Changes()


def until_due(connection: Connection, now: datetime) -> float | None:
    """Seconds until a scheduled or retrying activity is due, 0 if one is; None: there is none."""
    due: datetime | None = connection.execute(statements.next_due()).scalar()
    return None if due is None else max(0.0, (due - now).total_seconds())


def promote(connection: Connection, now: datetime, limit: int) -> tuple[Promotion, Changes]:
    """See ``Backend.promote``."""
    moved = connection.execute(statements.promote(), {"now": now, "limit": limit}).rowcount
    promotion = Promotion(moved=moved, next_due=until_due(connection, now))
    return promotion, Changes(ready=moved > 0)


def report_progress(
    connection: Connection, worker: UUID, reports: Sequence[ProgressReport]
) -> tuple[None, Changes]:
    """See ``Backend.report_progress``."""
    values = [
        {
            "of_id": each.lease.id,
            "of_worker": worker,
            "of_claim": each.lease.claim,
            "new_progress": rows.progress_text(each.progress),
        }
        for each in reports
    ]
    connection.execute(statements.report_progress(), values)
    return None, Changes()


def orphans(connection: Connection, parents: Collection[UUID]) -> list[UUID]:
    """What ``Backend.cancel_children`` is about; reads only."""
    found = chunked(connection, queries.orphans(), "parents", sorted(set(parents)))
    return [row.id for row in found]


def cancel_children(
    connection: Connection, now: datetime, parents: Collection[UUID]
) -> tuple[list[UUID], Changes]:
    """See ``Backend.cancel_children``."""
    met, changes = cancelling.cancel(connection, now, orphans(connection, parents), tree=True)
    return [id for id, each in met.items() if not each.status.terminal], changes


# -- parts --


def _insert(connection: Connection, values: list[dict[str, object]]) -> int:
    if not values:
        return 0
    return connection.execute(statements.insert_activities(), values).rowcount


def _stored(connection: Connection, ids: Collection[UUID]) -> set[UUID]:
    return {row.id for row in chunked(connection, statements.existing(), "ids", sorted(ids))}


def _holders(
    connection: Connection, now: datetime, keyed: Sequence[Activity[object]]
) -> dict[bytes, KeyHolder]:
    hashes = sorted({activity.idempotency.hash for activity in keyed if activity.idempotency})
    found = chunked(connection, statements.key_holders(), "hashes", hashes, now=now)
    return {
        row.hash: KeyHolder(
            id=row.id,
            status=Status(row.status),
            created_at=row.created_at or FIRST,
            digest=row.digest,
            payload=row.payload,
            parent_id=row.parent_id,
            claim=row.claim,
        )
        for row in found
    }


def _write(connection: Connection, now: datetime, settling: Settling) -> None:
    if settling.updates:
        written = connection.execute(statements.settle(), settling.updates).rowcount
        counted = connection.dialect.supports_sane_multi_rowcount
        if counted and written != len(settling.updates):
            raise BackendError("a lease changed while its row was locked; nothing was settled")
    if settling.events:
        connection.execute(statements.insert_events(), settling.events)
    if settling.trees:
        cancel_below(connection, now, settling.trees, settling.changes)
    _insert(connection, settling.hooks)


def _report(connection: Connection, now: datetime, beat: Heartbeat) -> None:
    last = connection.execute(beats.last_beat(), {"worker": beat.worker.id}).scalar()
    if last is None or beat.number > last:
        for bucket in beat.buckets:
            _count(connection, bucket)
    worker = rows.worker_values(beat.worker, seen_at=now, beat=max(beat.number, last or 0))
    connection.execute(beats.put_worker(), worker)
    connection.execute(beats.forget_workers(), {"last": later(now, -FORGOTTEN_AFTER)})


def _count(connection: Connection, bucket: Bucket) -> None:
    before = connection.execute(beats.bucket(), rows.bucket_key(bucket)).first()
    connection.execute(beats.put_bucket(), rows.bucket_values(bucket, before))
