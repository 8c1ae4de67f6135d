"""Who gets an idempotency key: the one decision, as a pure function."""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import Enum
from typing import assert_never
from uuid import UUID

from msgspec import Struct

from taskq.errors import IdempotencyConflict
from taskq.model import Idempotency, OnDuplicate, Status

_FREE_AFTER = frozenset({Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED})


class Holder(Struct, frozen=True, kw_only=True):
    """The activity that a key points at which has not expired. ``same_arguments``: its arguments
    equal the new call's.

    ``created_at`` is aware, by the store's clock.
    """

    id: UUID
    status: Status
    created_at: datetime
    same_arguments: bool


class Resolution(Enum):
    """What to do with a call whose key is held."""

    CREATE = "create a new activity and point the key at it"
    RETURN = "store nothing and answer the holder's id"


def key_hash(queue: str, type: str, key: str) -> bytes:
    """The 32 bytes under which a key is stored: SHA-256 over its scope (queue, type) and the key.

    The parts are separated by NUL, which none of them may contain.
    """
    return hashlib.sha256(f"{queue}\0{type}\0{key}".encode()).digest()


def step_hash(parent: UUID, step: str) -> bytes:
    """The 32 bytes under which a parent's step is stored. No key's scope begins with NUL."""
    return hashlib.sha256(f"\0step\0{parent}\0{step}".encode()).digest()


def step_digest(type: str, payload: str) -> bytes:
    """What two calls of one step must share: the type, which is no part of a step's name, and the
    canonical payload."""
    return hashlib.sha256(f"{type}\0{payload}".encode()).digest()


def renewed_digest(type: str, payload: str, *, step: bool) -> bytes:
    """What the key, or with ``step`` the step, of an activity stands for when its payload has
    become this one."""
    if step:
        return step_digest(type, payload)
    return hashlib.sha256(payload.encode()).digest()


def resolve(new_id: UUID, wanted: Idempotency, holder: Holder) -> Resolution:
    """What a call with id ``new_id`` gets when its key is held (seed:I2–I5, D22; design 2.2).

    A holder with the call's own id is a repeated call: RETURN. Raises IdempotencyConflict.

    A step (design 7.10) is found again while it lives and when it completed. One that ended badly
    is replaced if it was made before the parent became ready for this run, since then that was
    tried again on purpose; made later, it is found: only a crash or a hand-back lies between.
    """
    if holder.id == new_id:
        return Resolution.RETURN
    match wanted.on_duplicate:
        case OnDuplicate.ALLOW_REUSE:
            return Resolution.CREATE
        case OnDuplicate.NO_REUSE:
            raise IdempotencyConflict(
                f"{named(wanted)} is taken by activity {holder.id}"
                f" ({holder.status}) and on_duplicate is NO_REUSE",
                existing=holder.id,
            )
        case OnDuplicate.ALLOW_REUSE_ON_FAILURE if _is_free(wanted, holder):
            return Resolution.CREATE
        case OnDuplicate.RETURN_EXISTING | OnDuplicate.ALLOW_REUSE_ON_FAILURE:
            if wanted.check_arguments and not holder.same_arguments:
                raise IdempotencyConflict(
                    f"{named(wanted)} was used with other arguments by activity {holder.id};"
                    ' pass on_mismatch="ignore" to share it all the same',
                    existing=holder.id,
                )
            return Resolution.RETURN
        case _:
            assert_never(wanted.on_duplicate)


def _is_free(wanted: Idempotency, holder: Holder) -> bool:
    if holder.status not in _FREE_AFTER:
        return False
    return wanted.renew_before is None or holder.created_at < wanted.renew_before


def named(wanted: Idempotency) -> str:
    """A key or a step in the words of a message."""
    if wanted.step_of is None:
        return f"the idempotency key {wanted.key!r}"
    return f"the step {wanted.key!r} of activity {wanted.step_of}"
