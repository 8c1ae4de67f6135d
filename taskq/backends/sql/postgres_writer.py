"""What the engine and the call-sites write on PostgreSQL: one statement each, where that can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Executable

from taskq.backends import ClaimRequest, Heartbeat, ProgressReport, Promotion, Renewal
from taskq.backends.changes import Changes
from taskq.backends.presence import FORGOTTEN_AFTER
from taskq.backends.sql import children, driver, postgres_beats, postgres_submission, rows
from taskq.backends.sql import postgres_statements as statements
from taskq.backends.sql import postgres_storing as storing
from taskq.backends.sql.channels import Message
from taskq.backends.sql.connections import Connections, Session
from taskq.backends.sql.driver import Record, Records
from taskq.backends.sql.postgres_failures import BROKEN_RULE, sqlstate
from taskq.backends.sql.postgres_submission import (
    Columns,
    Rows,
    Steps,
    bounded,
    given,
    key_of,
    one,
    parts,
    told,
)
from taskq.backends.sql.statements import (
    MERGED,
    Place,
    claim_shape,
    place_values,
    waiting_types,
)
from taskq.backends.timeline import transition_detail
from taskq.errors import Unstorable
from taskq.lifecycle import Settlement, Transition, Verdict, cancelled_error
from taskq.model import TERMINAL, Activity, Attempt, Receipt, Status
from taskq.snapshot import Bucket

T = TypeVar("T")

WIDER = 4
"""How often a claim looks, each time further, where others have taken what it saw."""

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
    if len(activities) == 1 and not keyed:
        values = {**one(activities[0]), **told(hints), **patience}
        await connections.fetch(storing.submit_one(rare="step" in values), values)
        return [Receipt(activities[0].id, True)]
    if len(activities) == 1:
        values = {**one(activities[0]), **key_of(activities[0]), **told(hints), **patience}
        statement = storing.submit_keyed(rare="step" in values)
        [[taken]] = await connections.fetch(statement, values)
        if taken:
            return [Receipt(activities[0].id, True)]
    if not keyed and len(parts(activities)) == 1:
        values = {**given(activities), **told(hints), **patience}
        await connections.fetch(storing.submit(rare="step" in values), values)
        return [Receipt(each.id, True) for each in activities]

    async def run(session: Session) -> list[Receipt]:
        await session.fetch(statements.begin(), patience)
        return await _take(session, postgres_submission.submit(activities, hints))

    return await connections.transact(run)


async def _take(session: Session, steps: Steps[T]) -> T:
    """Take steps on a connection of the store's own; what comes of them."""
    answer: Rows | None = None
    while True:
        try:
            statement, values = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            done: T = end.value
            return done
        answer = await session.fetch(statement, values)


# -- claim --


async def claim(connections: Connections, request: ClaimRequest) -> list[Attempt]:
    """See ``Backend.claim``. Rows that a rule of the table keeps from being written are passed by:
    somebody has made that rule anew, NOT VALID, over what breaks it."""
    try:
        return await _claim(connections, request, lawful=False)
    except driver.PostgresError as error:
        if sqlstate(error) != BROKEN_RULE:
            raise
    return await _claim(connections, request, lawful=True)


async def _claim(connections: Connections, request: ClaimRequest, *, lawful: bool) -> list[Attempt]:
    queues = tuple(dict.fromkeys(request.queues))
    types = None if request.types is None else tuple(dict.fromkeys(request.types))
    if types is None and request.without:
        types = await _waiting_without(connections, queues, request.without)
    if not queues or types == ():
        return []
    if request.children:
        return await _claim_children(connections, request, queues, types, lawful=lawful)
    if types is None:
        places = [Place(queue) for queue in queues]
        found = await _claim_at(connections, request, places, lawful=lawful)
    elif len(queues) * len(types) <= MERGED:
        places = [Place(queue, type) for queue in queues for type in types]
        found = await _claim_at(connections, request, places, lawful=lawful)
    else:
        found = await _claim_served(connections, request, queues, types, lawful=lawful)
    return sorted(found, key=lambda each: (-each.priority, each.ready_at, each.id))


async def _waiting_without(
    connections: Connections, queues: Sequence[str], without: Sequence[str]
) -> tuple[str, ...]:
    """The types that wait in these queues, but for some."""
    waiting: set[str] = set()
    for queue in queues:
        waiting.update(row[0] for row in await connections.fetch(waiting_types(), {"queue": queue}))
    return tuple(sorted(waiting.difference(without)))


async def _claim_children(
    connections: Connections,
    request: ClaimRequest,
    queues: Sequence[str],
    types: Sequence[str] | None,
    *,
    lawful: bool,
) -> list[Attempt]:
    count, typed = len(queues), types is not None
    values = {**place_values([Place(queue) for queue in queues]), "types": types}
    found = await _widening(
        connections,
        request,
        children.on_postgres(count, typed=typed, lawful=lawful),
        children.any_on_postgres(count, typed=typed) if count > 1 else None,
        values,
    )
    return sorted(found, key=rows.by_depth)


async def _claim_at(
    connections: Connections, request: ClaimRequest, places: Sequence[Place], *, lawful: bool
) -> list[Attempt]:
    """From these places."""
    if not places:
        return []
    shape = claim_shape(places)
    look = statements.any_candidate(shape) if len(places) > 1 else None
    statement = statements.claim(shape, lawful=lawful)
    return await _widening(connections, request, statement, look, place_values(places))


async def _widening(
    connections: Connections,
    request: ClaimRequest,
    statement: Executable,
    look: Executable | None,
    places: Mapping[str, object],
) -> list[Attempt]:
    """Claim. Where others hold what was seen, and ``look`` finds some, see further before giving
    up; None: the statement has no window."""
    values = {**_claimer(request), **places}
    window = 2 * request.limit
    for _ in range(WIDER):
        found = await _attempts(connections, statement, {**values, "window": window})
        if found or look is None:
            return found
        if not await connections.fetch(look, {**values, "window": 1}):
            return []
        window *= 8
    return []


async def _claim_served(
    connections: Connections,
    request: ClaimRequest,
    queues: Sequence[str],
    types: Sequence[str],
    *,
    lawful: bool,
) -> list[Attempt]:
    """For a worker of many types: most of what is first in its queues will be for it.

    Where nothing is, from the places where something for it waits.
    """
    values = {
        **_claimer(request),
        **place_values([Place(queue) for queue in queues]),
        "window": 4 * request.limit + 100,
        "served": 2 * request.limit,
        "types": types,
    }
    statement = statements.claim_served(len(queues), lawful=lawful)
    found = await _attempts(connections, statement, values)
    if found:
        return found
    places: list[Place] = []
    for queue in queues:
        waiting = {row[0] for row in await connections.fetch(waiting_types(), {"queue": queue})}
        places += (Place(queue, type) for type in sorted(waiting.intersection(types)))
    return await _claim_at(connections, request, places, lawful=lawful)


async def claim_overdue(
    connections: Connections, worker: UUID, limit: int, lease: float
) -> list[Attempt]:
    """See ``Backend.claim_overdue``. As for a claim, what must not be written is passed by."""
    values = {"holder": worker, "limit": limit, "lease": lease}
    try:
        found = await _attempts(connections, statements.claim_overdue(), values)
    except driver.PostgresError as error:
        if sqlstate(error) != BROKEN_RULE:
            raise
        found = await _attempts(connections, statements.claim_overdue(lawful=True), values)
    return sorted(found, key=lambda each: each.id)


async def _attempts(
    connections: Connections, statement: Executable, values: Mapping[str, object]
) -> list[Attempt]:
    found = await connections.fetch(statement, values, repeatable=False)
    return [rows.attempt(row) for row in found]


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
) -> tuple[list[Settlement], set[UUID]]:
    """See ``Backend.settle``; and of what has ended, whose trees are to follow it now."""
    rounds = _rounds(transitions)
    if len(rounds) == 1 and not any(each.hooks for each in transitions):
        values = {**_outcomes(transitions), **told(hints)}
        found = await connections.fetch(statements.settle(), values)
        return _settlements(transitions, found), _trees(found)

    async def run(session: Session) -> tuple[list[Settlement], set[UUID]]:
        answers: dict[int, Settlement] = {}
        trees: set[UUID] = set()
        left = hints
        for places in rounds:
            batch = [transitions[place] for place in places]
            found = await session.fetch(statements.settle(), {**_outcomes(batch), **told(left)})
            left = ()
            settlements = _settlements(batch, found)
            trees |= _trees(found)
            answers |= zip(places, settlements, strict=True)
            applied = {each.id for each in settlements if each.verdict is Verdict.APPLIED}
            hooks = [hook for each in batch if each.id in applied for hook in each.hooks]
            await _take(session, postgres_submission.insert(hooks))
        return [answers[place] for place in range(len(transitions))], trees

    return await connections.transact(run)


async def trees_ending(connections: Connections, transitions: Sequence[Transition]) -> set[UUID]:
    """Of what these may end as cancelled, whose trees are to be cancelled first."""
    cancelled = [
        each.id for each in transitions if each.status is Status.CANCELLED or each.only_if_expired
    ]
    if not cancelled:
        return set()
    found = await connections.fetch(postgres_beats.trees_to_cancel(), {"ids": cancelled})
    return {row[0] for row in found}


def _trees(found: Records) -> set[UUID]:
    """Of the rows that ``settle`` answers, those that have ended and that their trees follow.

    Also one that an earlier call has settled: its reply, or what was to follow, may be lost.
    """
    return {
        row["id"]
        for row in found
        if row["cancel_tree"] and (row["applies"] or row["status_before"] in TERMINAL)
    }


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
        bounded(transition.delay),
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
        raise Unstorable(f"activity {id}: text with NUL cannot be stored")
    return text


def _settlements(transitions: Sequence[Transition], found: Records) -> list[Settlement]:
    answers = {row["id"]: row for row in found}
    return [_settlement(each, answers.get(each.id)) for each in transitions]


def _settlement(transition: Transition, row: Record | None) -> Settlement:
    if row is None:
        return Settlement(transition.id, Verdict.LOST, None)
    _, applies, before, worker, claim, instead, _ = row
    if applies:
        status = Status.CANCELLED if instead else transition.status
        return Settlement(transition.id, Verdict.APPLIED, status)
    known = rows.status_of(before)
    same = worker == transition.worker and claim == transition.claim
    mine = same and known not in (None, Status.PROCESSING)
    verdict = Verdict.ALREADY_MINE if mine else Verdict.LOST
    return Settlement(transition.id, verdict, known)


# -- leases, time --


async def heartbeat(connections: Connections, beat: Heartbeat) -> tuple[Renewal, bool]:
    """See ``Backend.heartbeat``; and whether it was counted, or another one as new before.

    Raises Slow where the small tables are not free.
    """
    worker = rows.worker_values(beat.worker, seen_at=beat.worker.seen_at, beat=beat.number)
    values: dict[str, object] = {
        **_leases(beat),
        **{f"of_{name}": value for name, value in worker.items()},
        "of_detail": None,
        **_buckets(beat.buckets),
    }
    found = await connections.fetch(postgres_beats.heartbeat(), values, timeout=_patience(beat))
    held = [row for row in found if row[0] is not None]
    return _renewal(beat, held), len(held) < len(found)


async def report_progress(
    connections: Connections, worker: UUID, reports: Sequence[ProgressReport]
) -> None:
    """See ``Backend.report_progress``."""
    latest = {each.lease: each.progress for each in reports}
    leases = sorted(latest, key=lambda lease: lease.id)
    values = {
        "id": [lease.id for lease in leases],
        "claim": [lease.claim for lease in leases],
        "progress": [rows.progress_text(latest[lease]) for lease in leases],
        "worker": worker,
    }
    await connections.fetch(postgres_beats.report_progress(), values)


async def renew(connections: Connections, beat: Heartbeat) -> Renewal:
    """Its leases alone."""
    return _renewal(beat, await connections.fetch(postgres_beats.renew(), _leases(beat)))


async def see(connections: Connections, beat: Heartbeat, *, counted: bool) -> None:
    """What follows a heartbeat: a worker whose row it left is alive, and old ones are forgotten."""
    patience = _patience(beat)
    if not counted:
        mine = {"of_id": beat.worker.id}
        await connections.fetch(postgres_beats.see_worker(), mine, timeout=patience)
    age = {"age": FORGOTTEN_AFTER}
    await connections.fetch(postgres_beats.forget_workers(), age, timeout=patience)


def _patience(beat: Heartbeat) -> float:
    """Seconds for what touches the small tables, so that leases can be renewed without them.

    No lock_timeout could do: a lock on a whole table is waited for before a statement begins.
    """
    return beat.lease / 10


def _leases(beat: Heartbeat) -> dict[str, object]:
    leases = sorted(beat.leases, key=lambda lease: lease.id)
    return {
        "id": [lease.id for lease in leases],
        "claim": [lease.claim for lease in leases],
        "worker": beat.worker.id,
        "lease": beat.lease,
    }


def _renewal(beat: Heartbeat, found: Records) -> Renewal:
    held = {row[0]: row[1] for row in found}
    return Renewal(
        lost=frozenset(lease.id for lease in beat.leases) - held.keys(),
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
    """See ``Backend.promote``. As for a claim, what must not be written is passed by."""
    try:
        [[moved, ahead]] = await connections.fetch(statements.promote(), {"limit": limit})
    except driver.PostgresError as error:
        if sqlstate(error) != BROKEN_RULE:
            raise
        lawful = statements.promote(lawful=True)
        [[moved, ahead]] = await connections.fetch(lawful, {"limit": limit})
    return Promotion(moved=moved, next_due=None if ahead is None else max(0.0, ahead))
