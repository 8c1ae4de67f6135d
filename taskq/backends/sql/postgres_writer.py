"""What the engine and the call-sites write on PostgreSQL: one statement each, where that can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Executable

from taskq.backends import ClaimRequest, Heartbeat, Promotion, Renewal
from taskq.backends.changes import Changes
from taskq.backends.presence import FORGOTTEN_AFTER
from taskq.backends.sql import postgres_beats, rows
from taskq.backends.sql import postgres_statements as statements
from taskq.backends.sql.channels import Message
from taskq.backends.sql.connections import Connections, Session
from taskq.backends.sql.driver import Record, Records
from taskq.backends.sql.statements import (
    MERGED,
    ClaimShape,
    Place,
    claim_shape,
    place_values,
    waiting_types,
)
from taskq.backends.sql.submission import KeyHolder, Submission
from taskq.backends.timeline import transition_detail
from taskq.errors import BackendError, BackendUnavailable
from taskq.lifecycle import Settlement, Transition, Verdict, cancelled_error
from taskq.model import Activity, Attempt, Receipt, Status
from taskq.snapshot import Bucket

Columns = dict[str, Sequence[object]]

BATCH = 2000
"""Activities in one statement."""
BYTES = 16_000_000
"""Bytes of payload in one statement, about."""
WIDER = 3
"""How often a claim looks further where others have taken what it saw."""

_LONGEST = 3e11
"""Seconds; what is delayed longer is stored as the last instant there is."""


# -- submit --


async def submit(
    connections: Connections,
    activities: Sequence[Activity[object]],
    hints: Sequence[Message],
    *,
    lock_timeout: str,
) -> list[Receipt]:
    """See ``Backend.submit``. ``lock_timeout`` as PostgreSQL writes it."""
    patience = {"lock_timeout": lock_timeout}
    keyed = [each for each in activities if each.idempotency is not None]
    if len(activities) == len(keyed) == 1:
        values = {**_given(activities), **_key_of(activities[0]), **_told(hints), **patience}
        [[taken]] = await connections.fetch(statements.submit_keyed(), values)
        if taken:
            return [Receipt(activities[0].id, True)]
    parts = list(_parts(activities))
    if not keyed and len(parts) == 1:
        values = {**_given(activities), **_told(hints), **patience}
        await connections.fetch(statements.submit(), values)
        return [Receipt(each.id, True) for each in activities]

    async def run(session: Session) -> list[Receipt]:
        [[now]] = await session.fetch(statements.begin(), patience)
        if not keyed:
            await _insert(session, activities, hints)
            return [Receipt(each.id, True) for each in activities]
        return await _submit_keyed(session, now, activities, keyed, hints)

    return await connections.transact(run)


async def _submit_keyed(
    session: Session,
    now: datetime,
    activities: Sequence[Activity[object]],
    keyed: Sequence[Activity[object]],
    hints: Sequence[Message],
) -> list[Receipt]:
    """Design 2.2: take the keys that are free, keep the others still, look, then decide."""
    first: dict[bytes, Activity[object]] = {}
    for each in keyed:
        if each.idempotency is not None:
            first.setdefault(each.idempotency.hash, each)
    fresh = await _take_keys(session, first)
    ids = {"ids": [each.id for each in keyed]}
    stored = {row[0] for row in await session.fetch(statements.existing(), ids)}
    others = sorted(first.keys() - fresh)
    found = await session.fetch(statements.key_holders(), {"hashes": others})
    holders = {
        hash: KeyHolder(id=id, status=Status(status), digest=digest, payload=payload)
        for hash, digest, id, status, payload in found
    }
    submission = Submission(now, stored=stored, holders=holders)
    receipts = [submission.add(activity) for activity in activities]
    await _insert(session, submission.activities, hints)
    await _point_keys(session, submission, {hash: first[hash].id for hash in fresh})
    return receipts


async def _take_keys(session: Session, first: Mapping[bytes, Activity[object]]) -> set[bytes]:
    """Take those keys that are free, lock the others; which were free."""
    fresh: set[bytes] = set()
    for _ in range(3):
        wanted = sorted(first.keys() - fresh)
        key = [first[hash] for hash in wanted]
        values: Columns = {
            "hash": wanted,
            "queue": [each.queue for each in key],
            "type": [each.type for each in key],
            "activity_id": [each.id for each in key],
            "digest": [each.idempotency and each.idempotency.digest for each in key],
        }
        fresh |= {row[0] for row in await session.fetch(statements.take_keys(), values)}
        others = sorted(first.keys() - fresh)
        held = await session.fetch(statements.lock_keys(), {"hashes": others})
        if len(held) == len(others):
            return fresh
    raise BackendUnavailable("an idempotency key was freed and taken again and again; try later")


async def _point_keys(
    session: Session, submission: Submission, taken: Mapping[bytes, UUID]
) -> None:
    keys = {key["hash"]: key for key in submission.keys}
    moved = [key for hash, key in keys.items() if taken.get(_bytes(hash)) != key["activity_id"]]
    if moved:
        names = ("hash", "activity_id", "digest")
        values = {name: [key[name] for key in moved] for name in names}
        await session.fetch(statements.point_keys(), values)
    vain = sorted(taken.keys() - keys.keys())
    if vain:
        await session.fetch(statements.free_keys(), {"hashes": vain})


def _bytes(value: object) -> bytes:
    assert isinstance(value, bytes)
    return value


async def _insert(
    session: Session, activities: Sequence[Activity[object]], hints: Sequence[Message] = ()
) -> None:
    for part in _parts(activities):
        await session.fetch(statements.insert_activities(), {**_given(part), **_told(hints)})
        hints = ()


def _parts(activities: Sequence[Activity[object]]) -> list[Sequence[Activity[object]]]:
    """As many at a time as one statement should have."""
    parts: list[Sequence[Activity[object]]] = []
    start, size = 0, 0
    for place, activity in enumerate(activities):
        size += len(activity.payload)
        if place - start >= BATCH or (size > BYTES and place > start):
            parts.append(activities[start:place])
            start, size = place, len(activity.payload)
    parts.append(activities[start:])
    return [part for part in parts if part]


def _given(activities: Sequence[Activity[object]]) -> Columns:
    values = [rows.given_values(activity) for activity in activities]
    columns: Columns = {name: [each[name] for each in values] for name in statements.GIVEN}
    columns["run_at"] = [each.run_at for each in activities]
    columns["delay"] = [_bounded(each.delay) for each in activities]
    return columns


def _key_of(activity: Activity[object]) -> dict[str, object]:
    key = activity.idempotency
    assert key is not None
    return {
        "hash": key.hash,
        "digest": key.digest,
        "key_queue": activity.queue,
        "key_type": activity.type,
        "key_id": activity.id,
    }


def _told(hints: Sequence[Message]) -> Columns:
    return {
        "channels": [each.channel for each in hints],
        "payloads": [each.payload for each in hints],
    }


def _bounded(delay: float | None) -> float | None:
    return None if delay is None else min(delay, _LONGEST)


# -- claim --


async def claim(connections: Connections, request: ClaimRequest) -> list[Attempt]:
    """See ``Backend.claim``."""
    queues = tuple(dict.fromkeys(request.queues))
    types = None if request.types is None else tuple(dict.fromkeys(request.types))
    if not queues or types == ():
        return []
    if types is None:
        found = await _claim_at(connections, request, [Place(queue) for queue in queues])
    elif len(queues) * len(types) <= MERGED:
        places = [Place(queue, type) for queue in queues for type in types]
        found = await _claim_at(connections, request, places)
    else:
        found = await _claim_served(connections, request, queues, types)
    return sorted(found, key=lambda each: (-each.priority, each.ready_at, each.id))


async def _claim_at(
    connections: Connections, request: ClaimRequest, places: Sequence[Place]
) -> list[Attempt]:
    """From these places. Where others hold what was seen, look further before giving up."""
    if not places:
        return []
    shape = claim_shape(places)
    window = 2 * request.limit
    values = {**_claimer(request), **place_values(places), "window": window}
    found = await _attempts(connections, statements.claim(shape), values)
    if len(places) == 1:
        return found
    for _ in range(WIDER):
        values["limit"] = request.limit - len(found)
        if not values["limit"] or not await _any(connections, shape, values):
            break
        window *= 8
        values["window"] = window
        found += await _attempts(connections, statements.claim(shape), values)
    return found


async def _any(connections: Connections, shape: ClaimShape, values: Mapping[str, object]) -> bool:
    one = {**values, "window": 1}
    return bool(await connections.fetch(statements.any_candidate(shape), one))


async def _claim_served(
    connections: Connections,
    request: ClaimRequest,
    queues: Sequence[str],
    types: Sequence[str],
) -> list[Attempt]:
    """For a worker of many types: most of what is first in its queues will be for it.

    Where that is not enough, from the places where something for it waits.
    """
    values = {
        **_claimer(request),
        **place_values([Place(queue) for queue in queues]),
        "window": 4 * request.limit + 100,
        "types": types,
    }
    found = await _attempts(connections, statements.claim_served(len(queues)), values)
    if len(found) == request.limit:
        return found
    places: list[Place] = []
    for queue in queues:
        waiting = {row[0] for row in await connections.fetch(waiting_types(), {"queue": queue})}
        places += (Place(queue, type) for type in sorted(waiting.intersection(types)))
    rest = msgspec.structs.replace(request, limit=request.limit - len(found))
    return found + await _claim_at(connections, rest, places)


async def _attempts(
    connections: Connections, statement: Executable, values: Mapping[str, object]
) -> list[Attempt]:
    return [rows.attempt(row) for row in await connections.fetch(statement, values)]


def _claimer(request: ClaimRequest) -> dict[str, object]:
    return {
        "holder": request.worker,
        "lease": request.lease,
        "limit": request.limit,
        "alone": request.alone,
    }


# -- settle --


async def settle(
    connections: Connections, transitions: Sequence[Transition], hints: Sequence[Message]
) -> list[Settlement]:
    """See ``Backend.settle``."""
    rounds = _rounds(transitions)
    if len(rounds) == 1 and not any(each.hooks for each in transitions):
        values = {**_outcomes(transitions), **_told(hints)}
        return _settlements(transitions, await connections.fetch(statements.settle(), values))

    async def run(session: Session) -> list[Settlement]:
        answers: dict[int, Settlement] = {}
        told = hints
        for places in rounds:
            batch = [transitions[place] for place in places]
            found = await session.fetch(statements.settle(), {**_outcomes(batch), **_told(told)})
            told = ()
            settlements = _settlements(batch, found)
            answers |= zip(places, settlements, strict=True)
            applied = {each.id for each in settlements if each.verdict is Verdict.APPLIED}
            hooks = [hook for each in batch if each.id in applied for hook in each.hooks]
            await _insert(session, hooks)
        return [answers[place] for place in range(len(transitions))]

    return await connections.transact(run)


def expected(transitions: Sequence[Transition]) -> Changes:
    """What transitions will change, if all are applied and no cancel was accepted."""
    return Changes(
        ready=any(each.hooks or not each.status.terminal for each in transitions),
        done={each.id for each in transitions if each.status.terminal},
    )


def applied(transitions: Sequence[Transition], settlements: Sequence[Settlement]) -> Changes:
    """What transitions did change."""
    both = [
        (transition, settlement.status)
        for transition, settlement in zip(transitions, settlements, strict=True)
        if settlement.verdict is Verdict.APPLIED and settlement.status is not None
    ]
    return Changes(
        ready=any(each.hooks or not status.terminal for each, status in both),
        done={each.id for each, status in both if status.terminal},
    )


def _rounds(transitions: Sequence[Transition]) -> list[list[int]]:
    """The places of transitions such that no round has an activity twice; nearly always one."""
    rounds: list[list[int]] = []
    times: dict[UUID, int] = {}
    for place, transition in enumerate(transitions):
        number = times.get(transition.id, 0)
        times[transition.id] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(place)
    return rounds


def _outcomes(transitions: Sequence[Transition]) -> Columns:
    values = [_outcome(each) for each in transitions]
    return dict(zip(statements.OUTCOME, zip(*values, strict=True), strict=True))


def _outcome(transition: Transition) -> tuple[object, ...]:
    """The values of ``OUTCOME``, in its order."""
    error, note = transition.error, transition.note
    cancelled = cancelled_error(transition.attempt) if transition.if_cancel_requested else None
    return (
        transition.id,
        transition.worker,
        transition.claim,
        transition.status.value,
        transition.retry_count,
        transition.crash_count,
        transition.isolate,
        _bounded(transition.delay),
        _storable(transition.id, transition.result),
        rows.error_text(error),
        None if error is None else error.kind.value,
        transition.only_if_expired,
        rows.error_text(cancelled),
        None if note is None else note.value,
        transition.attempt,
        None if note is None else rows.detail_text(transition_detail(transition)),
    )


def _storable(id: UUID, text: str | None) -> str | None:
    if text is not None and "\0" in text:
        raise BackendError(f"activity {id}: text with NUL cannot be stored")
    return text


def _settlements(transitions: Sequence[Transition], found: Records) -> list[Settlement]:
    answers = {row["id"]: row for row in found}
    return [_settlement(each, answers.get(each.id)) for each in transitions]


def _settlement(transition: Transition, row: Record | None) -> Settlement:
    if row is None:
        return Settlement(transition.id, Verdict.LOST, None)
    _, applies, before, worker, claim, instead = row
    if applies:
        status = Status.CANCELLED if instead else transition.status
        return Settlement(transition.id, Verdict.APPLIED, status)
    same = worker == transition.worker and claim == transition.claim
    mine = same and Status(before) is not Status.PROCESSING
    verdict = Verdict.ALREADY_MINE if mine else Verdict.LOST
    return Settlement(transition.id, verdict, Status(before))


# -- leases, time --


async def heartbeat(connections: Connections, beat: Heartbeat) -> Renewal:
    """See ``Backend.heartbeat``."""
    leases = sorted(beat.leases, key=lambda lease: lease.id)
    worker = rows.worker_values(beat.worker, seen_at=beat.worker.seen_at, beat=beat.number)
    values: dict[str, object] = {
        "id": [lease.id for lease in leases],
        "claim": [lease.claim for lease in leases],
        "worker": beat.worker.id,
        "lease": beat.lease,
        **{f"of_{name}": value for name, value in worker.items()},
        "of_detail": None,
        **_buckets(beat.buckets),
    }
    found = await connections.fetch(postgres_beats.heartbeat(), values)
    held = {row[0]: row[1] for row in found if row[0] is not None}
    if len(held) == len(found):  # it came before, or a newer one did
        await connections.fetch(postgres_beats.see_worker(), {"of_id": beat.worker.id})
    await connections.fetch(postgres_beats.forget_workers(), {"age": FORGOTTEN_AFTER})
    return Renewal(
        lost=frozenset(lease.id for lease in leases) - held.keys(),
        cancelled=frozenset(id for id, cancelled in held.items() if cancelled),
    )


def _buckets(buckets: Sequence[Bucket]) -> Columns:
    """In the order of their keys, in which every worker locks them; the same one once."""
    summed: dict[tuple[object, ...], dict[str, object]] = {}
    for bucket in buckets:
        key = tuple(rows.bucket_key(bucket).values())
        before = summed.get(key)
        so_far = None if before is None else (before["count"], before["waits"], before["runs"])
        summed[key] = rows.bucket_values(bucket, so_far)
    ordered = [summed[key] for key in sorted(summed, key=lambda key: tuple(map(str, key)))]
    names = ("minute", "queue", "type", "outcome", "count", "waits", "runs")
    return {f"bucket_{name}": [each[name] for each in ordered] for name in names}


async def promote(connections: Connections, limit: int) -> Promotion:
    """See ``Backend.promote``."""
    [[moved, ahead]] = await connections.fetch(statements.promote(), {"limit": limit})
    return Promotion(moved=moved, next_due=None if ahead is None else max(0.0, ahead))
