"""Who gets an idempotency key: the one decision, as a pure function."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import assert_never
from uuid import UUID

from msgspec import Struct

from taskq.errors import IdempotencyConflict
from taskq.model import Idempotency, OnDuplicate, Status

_FREE_AFTER = frozenset({Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED})


class Holder(Struct, frozen=True, kw_only=True):
    """The activity that a key points at. ``same_arguments``: its arguments equal the new call's."""

    id: UUID
    status: Status
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


def resolve(new_id: UUID, wanted: Idempotency, holder: Holder) -> Resolution:
    """What a call with id ``new_id`` gets when its key is held (seed:I2–I5, D22; design 2.2).

    A holder with the call's own id is a repeated call: RETURN. Raises IdempotencyConflict.
    """
    if holder.id == new_id:
        return Resolution.RETURN
    match wanted.on_duplicate:
        case OnDuplicate.ALLOW_REUSE:
            return Resolution.CREATE
        case OnDuplicate.NO_REUSE:
            raise IdempotencyConflict(
                f"the idempotency key {wanted.key!r} is taken by activity {holder.id}"
                f" ({holder.status}) and on_duplicate is NO_REUSE",
                existing=holder.id,
            )
        case OnDuplicate.ALLOW_REUSE_ON_FAILURE if holder.status in _FREE_AFTER:
            return Resolution.CREATE
        case OnDuplicate.RETURN_EXISTING | OnDuplicate.ALLOW_REUSE_ON_FAILURE:
            if wanted.check_arguments and not holder.same_arguments:
                raise IdempotencyConflict(
                    f"the idempotency key {wanted.key!r} was used with other arguments by activity"
                    f' {holder.id}; pass on_mismatch="ignore" to share it all the same',
                    existing=holder.id,
                )
            return Resolution.RETURN
        case _:
            assert_never(wanted.on_duplicate)
