"""Ids that grow with time."""

from __future__ import annotations

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562 section 5.7), strictly growing within one process.

    48 bits of Unix milliseconds, then a 42-bit counter seeded at random each millisecond (RFC 9562
    section 6.2, method 1, with its top bit clear), then 32 random bits. Thread-safe.
    """
    global _last
    random = int.from_bytes(os.urandom(10), "big")
    with _lock:
        milliseconds = time.time_ns() // 1_000_000
        if milliseconds > _last >> 42:
            _last = milliseconds << 42 | (random >> 32 & 0x1FF_FFFF_FFFF)
        else:
            _last += 1
        stamp = _last
    counter = stamp & 0x3FF_FFFF_FFFF
    return UUID(
        int=(stamp >> 42) << 80
        | 0x7 << 76
        | (counter >> 30) << 64
        | 0b10 << 62
        | (counter & 0x3FFF_FFFF) << 32
        | random & 0xFFFF_FFFF
    )


def _forget_after_fork() -> None:
    """A fork may copy the lock while another thread holds it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)


def as_id(given: UUID | str) -> UUID:
    """An id, or its text in one of the forms of a UUID. Raises ValueError that shows the text."""
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given)
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f"an activity's id is a UUID, and {given!r} is none") from None
