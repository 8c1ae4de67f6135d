"""Stored text and times as one line for people: nothing in it moves a cursor or forges a line."""

from __future__ import annotations

from datetime import UTC, datetime


def printable(text: str) -> str:
    """One line: every control, format and surrogate character is written as its escape."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def printable_lines(text: str) -> str:
    """The same for a text of several lines, which stay lines."""
    return "\n".join(printable(line.expandtabs(4)) for line in text.split("\n"))


def shortened(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, ending in ``…`` where something is left out."""
    line = printable(text[: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def instant(at: datetime) -> str:
    """A time to the millisecond."""
    return at.astimezone(UTC).isoformat(" ", "milliseconds").replace("+00:00", "Z")
