"""Texts for a terminal or a pipe: nothing stored moves the cursor or forges a line (threat:T15)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from taskq.printing import instant, printable, printable_lines, shortened

__all__ = (
    "ascii_json",
    "duration",
    "instant",
    "json_text",
    "moment",
    "printable",
    "printable_lines",
    "shortened",
    "stored_json",
)

_NOT_ASCII = re.compile(r"[^ -~\n\t]")


def json_text(value: object) -> str:
    """A value as indented JSON of ASCII characters only, whatever the locale.

    ``value`` is what msgspec encodes; ``msgspec.Raw`` parts keep every digit of their numbers.
    """
    return ascii_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def ascii_json(text: str) -> str:
    """JSON text with every other character escaped, which may stand inside strings only."""
    return _NOT_ASCII.sub(_escape, text)


def stored_json(text: str | None) -> object:
    """A stored JSON text as a part of a larger one, unchanged; no JSON: a string."""
    if text is None:
        return None
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return msgspec.Raw(text)


def moment(at: datetime | None) -> str:
    """A time as ``2026-11-29 12:00:00Z``, or ``-``."""
    return "-" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def duration(seconds: float | None) -> str:
    """Seconds as a person reads them: ``12 ms``, ``3.4 s``, ``5 min``, ``2.5 h``, ``3 days``."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    for size, unit, limit in ((1, "s", 120), (60, "min", 120), (3600, "h", 48)):
        if seconds < size * limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400:.3g} days"


def _escape(match: re.Match[str]) -> str:
    if match.group() == "\r":
        return " "
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
