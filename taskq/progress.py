"""How far a running attempt has come, as its handler says."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta, Struct

LONGEST_NOTE: Final = 1000
"""Characters of a note at the most."""
HIGHEST: Final = 9007199254740991
"""The highest number: what a JSON reader can hold exactly."""


class Progress(Struct, frozen=True, kw_only=True):
    """``done`` of ``total`` (None: nobody knows), with a ``note`` for people; said ``at``, UTC.

    ``at`` is by the clock of the worker's machine, which may differ from the store's. It is for
    people: nothing is decided by it.
    """

    done: int | float
    total: int | float | None = None
    note: str | None = None
    at: Annotated[datetime, Meta(tz=True)]


def progress_of(
    done: float, total: float | None = None, note: str | None = None, *, at: datetime
) -> Progress:
    """What a handler said, checked. Raises TypeError and ValueError.

    ``done`` is at least 0, ``total`` more, both at most ``HIGHEST``; ``note`` has at most
    ``LONGEST_NOTE`` characters, all of which can be stored.
    """
    _check_number("done", done)
    if total is not None:
        _check_number("total", total)
        if total <= 0:
            raise ValueError(f"total must be more than 0, not {total!r}")
    if note is not None:
        _check_note(note)
    return Progress(done=done, total=total, note=note, at=at)


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    if not 0 <= value <= HIGHEST or math.isnan(value):
        raise ValueError(f"{name} must be a finite number from 0 to {HIGHEST}, not {value!r}")


def _check_note(note: object) -> None:
    if not isinstance(note, str):
        raise TypeError(f"note must be a text, not {type(note).__name__}")
    if len(note) > LONGEST_NOTE:
        raise ValueError(f"note may have {LONGEST_NOTE} characters, not {len(note)}")
    if "\0" in note or any("\ud800" <= char <= "\udfff" for char in note):
        raise ValueError("note has NUL or a lone surrogate, which cannot be stored")
