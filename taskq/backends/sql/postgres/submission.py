"""How calls are stored on PostgreSQL, as steps: statements out, their rows in.

Who takes the steps decides where they run: ``writer`` on the store's own connections,
``enlisting`` on a caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import CursorResult, Executable

from taskq.backends.instants import FIRST
from taskq.backends.sql import linking, rows
from taskq.backends.sql.postgres import storing as statements
from taskq.backends.sql.postgres.channels import Message
from taskq.backends.sql.submission import KeyHolder, Submission
from taskq.errors import BackendUnavailable
from taskq.model import Activity, Receipt, Status

T = TypeVar("T")

Columns = dict[str, Sequence[object]]
Rows = Sequence[Iterable[Any]]
"""What a statement answers."""
Steps = Generator[tuple[Executable, Mapping[str, object]], Rows, T]
"""Yields statements with their values, is sent their rows, returns what comes of it."""

BATCH = 2000
"""Activities in one statement."""
BYTES = 16_000_000
"""Bytes of payload in one statement, about."""
TRIES = 3
"""How often keys are looked at that are freed and taken meanwhile."""

_LONGEST = 3e11
"""Seconds; what is delayed longer is stored as the last instant there is."""


def taken(
    steps: Steps[T], execute: Callable[[Executable, Mapping[str, object]], CursorResult[Any]]
) -> T:
    """Take the steps one after the other; what comes of them."""
    answer: Rows | None = None
    while True:
        try:
            statement, values = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        found = execute(statement, values)
        answer = found.all() if found.returns_rows else ()


def submit(
    activities: Sequence[Activity[object]], hints: Sequence[Message]
) -> Steps[list[Receipt]]:
    """See ``Backend.submit``; inside of a transaction that the caller has begun."""
    keyed = [each for each in activities if each.idempotency is not None]
    if keyed:
        return (yield from _submit_keyed(activities, keyed, hints))
    yield from insert(activities, hints)
    return [Receipt(each.id, True) for each in activities]


def insert(activities: Sequence[Activity[object]], hints: Sequence[Message] = ()) -> Steps[None]:
    """Insert activities; the hints go out with the first of them."""
    for part in parts(activities):
        values = given(part)
        yield statements.insert_activities(rare="step" in values), {**values, **told(hints)}
        hints = ()


def _submit_keyed(
    activities: Sequence[Activity[object]],
    keyed: Sequence[Activity[object]],
    hints: Sequence[Message],
) -> Steps[list[Receipt]]:
    """Design 2.2: take the keys that are free, keep the others still, look, then decide."""
    first: dict[bytes, Activity[object]] = {}
    for each in keyed:
        if each.idempotency is not None:
            first.setdefault(each.idempotency.hash, each)
    fresh = yield from _take_keys(first)
    found = yield statements.existing(), {"ids": [each.id for each in keyed]}
    stored = {id for [id] in found}
    others = sorted(first.keys() - fresh)
    found = yield statements.key_holders(), {"hashes": others}
    holders = {
        hash: KeyHolder(
            id=id,
            status=Status(status),
            created_at=created_at,
            digest=digest,
            payload=payload,
            parent_id=parent_id,
            claim=claim,
        )
        for hash, digest, id, status, created_at, payload, parent_id, claim in found
    }
    # The rows of keys that it makes are for SQLite: here the statements say when.
    submission = Submission(FIRST, stored=stored, holders=holders)
    receipts = [submission.add(activity) for activity in activities]
    yield from insert(submission.activities, hints)
    yield from _point_keys(submission, {hash: first[hash].id for hash in fresh})
    if submission.links:
        yield linking.on_postgres(), linking.postgres_values(submission.links)
    return receipts


def _take_keys(first: Mapping[bytes, Activity[object]]) -> Steps[set[bytes]]:
    """Take those keys that are free, lock the others; which were free."""
    fresh: set[bytes] = set()
    for _ in range(TRIES):
        wanted = sorted(first.keys() - fresh)
        key = [first[hash] for hash in wanted]
        values: Columns = {
            "key_hash": wanted,
            "key_queue": [each.queue for each in key],
            "key_type": [each.type for each in key],
            "key_activity_id": [each.id for each in key],
            "key_digest": [each.idempotency and each.idempotency.digest for each in key],
            "key_unique_for": [_unique_for(each) for each in key],
        }
        taken = yield statements.take_keys(), values
        fresh |= {hash for [hash] in taken}
        others = sorted(first.keys() - fresh)
        held = yield statements.lock_keys(), {"hashes": others}
        if len(held) == len(others):
            return fresh
    raise BackendUnavailable("an idempotency key was freed and taken again and again; try later")


def _point_keys(submission: Submission, taken: Mapping[bytes, UUID]) -> Steps[None]:
    keys = {key["hash"]: key for key in submission.keys}
    moved = [key for hash, key in keys.items() if taken.get(_bytes(hash)) != key["activity_id"]]
    if moved:
        names = ("hash", "activity_id", "digest")
        values: Columns = {f"key_{name}": [key[name] for key in moved] for name in names}
        lasting = {each.id: _unique_for(each) for each in submission.activities}
        values["key_unique_for"] = [lasting[_id(key["activity_id"])] for key in moved]
        yield statements.point_keys(), values
    vain = sorted(taken.keys() - keys.keys())
    if vain:
        yield statements.free_keys(), {"hashes": vain}


def _bytes(value: object) -> bytes:
    assert isinstance(value, bytes)
    return value


def _id(value: object) -> UUID:
    assert isinstance(value, UUID)
    return value


def _unique_for(activity: Activity[object]) -> float | None:
    """For how many seconds its key is its own."""
    return None if activity.idempotency is None else bounded(activity.idempotency.unique_for)


def parts(activities: Sequence[Activity[object]]) -> list[Sequence[Activity[object]]]:
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


def given(activities: Sequence[Activity[object]]) -> Columns:
    """The values of ``statements.GIVEN``, the times, and those of ``RARE`` if any call has some.

    Raises BackendError, see ``rows``.
    """
    values = [rows.given_values(activity) for activity in activities]
    columns: Columns = {name: [each[name] for each in values] for name in statements.GIVEN}
    columns["run_at"] = [each.run_at for each in activities]
    columns["delay"] = [bounded(each.delay) for each in activities]
    if any(each.limited for each in activities):
        more = [_rare(each) for each in activities]
        columns |= {name: [each[name] for each in more] for name in statements.RARE}
    return columns


def one(activity: Activity[object]) -> dict[str, object]:
    """The same for ``submit_one``."""
    times = {"run_at": activity.run_at, "delay": bounded(activity.delay)}
    more = _rare(activity) if activity.limited else {}
    return {**rows.given_values(activity), **times, **more}


def _rare(activity: Activity[object]) -> dict[str, object]:
    """The values of ``statements.RARE``."""
    return {
        **rows.rare_values(activity),
        "expires_at": activity.expires_at,
        "expires_in": bounded(activity.expires_in),
        "deadline_at": activity.deadline_at,
        "deadline_in": bounded(activity.deadline_in),
    }


def key_of(activity: Activity[object]) -> dict[str, object]:
    """The values of ``submit_keyed`` besides."""
    key = activity.idempotency
    assert key is not None
    return {
        "hash": key.hash,
        "digest": key.digest,
        "key_queue": activity.queue,
        "key_type": activity.type,
        "key_id": activity.id,
        "unique_for": bounded(key.unique_for),
    }


def told(hints: Sequence[Message]) -> Columns:
    """The values of ``telling``."""
    return {
        "channels": [each.channel for each in hints],
        "payloads": [each.payload for each in hints],
    }


def bounded(delay: float | None) -> float | None:
    """A delay that ends before time does."""
    return None if delay is None else min(delay, _LONGEST)
