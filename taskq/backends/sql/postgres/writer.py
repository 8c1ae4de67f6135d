"""What the engine and the call-sites write on PostgreSQL: one statement each, where that can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from taskq.backends import Heartbeat, ProgressReport, Promotion, Renewal
from taskq.backends.changes import Changes
from taskq.backends.presence import FORGOTTEN_AFTER
from taskq.backends.sql import rows
from taskq.backends.sql.postgres import beats, driver, statements, storing, submission
from taskq.backends.sql.postgres.channels import Message
from taskq.backends.sql.postgres.connections import Connections, Session
from taskq.backends.sql.postgres.driver import Record, Records
from taskq.backends.sql.postgres.failures import BROKEN_RULE, sqlstate
from taskq.backends.sql.postgres.submission import (
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
from taskq.backends.sql.tables import ROLLUP_KEY
from taskq.backends.timeline import transition_detail
from taskq.errors import Unstorable
from taskq.lifecycle import Settlement, Transition, Verdict, cancelled_error
from taskq.model import TERMINAL, Activity, Receipt, Status
from taskq.snapshot import Bucket

T = TypeVar("T")

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
        return await _take(session, submission.submit(activities, hints))

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
            await _take(session, submission.insert(hooks))
        return [answers[place] for place in range(len(transitions))], trees

    return await connections.transact(run)


async def trees_ending(connections: Connections, transitions: Sequence[Transition]) -> set[UUID]:
    """Of what these may end as cancelled, whose trees are to be cancelled first."""
    cancelled = [
        each.id for each in transitions if each.status is Status.CANCELLED or each.only_if_expired
    ]
    if not cancelled:
        return set()
    found = await connections.fetch(beats.trees_to_cancel(), {"ids": cancelled})
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
        transition.fingerprint,
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
    found = await connections.fetch(beats.heartbeat(), values, timeout=_patience(beat))
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
    await connections.fetch(beats.report_progress(), values)


async def renew(connections: Connections, beat: Heartbeat) -> Renewal:
    """Its leases alone."""
    return _renewal(beat, await connections.fetch(beats.renew(), _leases(beat)))


async def see(connections: Connections, beat: Heartbeat, *, counted: bool) -> None:
    """What follows a heartbeat: a worker whose row it left is alive, and old ones are forgotten."""
    patience = _patience(beat)
    if not counted:
        mine = {"of_id": beat.worker.id}
        await connections.fetch(beats.see_worker(), mine, timeout=patience)
    age = {"age": FORGOTTEN_AFTER}
    await connections.fetch(beats.forget_workers(), age, timeout=patience)


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
    names = (*ROLLUP_KEY, "count", "waits", "runs")
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
