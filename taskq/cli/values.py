"""Values of arguments and options: priorities, times, lengths of time."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

import click

from taskq.durations import seconds_in
from taskq.model import Priority

EXAMPLE: Final = "2026-12-31T18:00:00+01:00"


def priority(_: click.Context, __: click.Parameter, value: str | None) -> Priority | None:
    """A priority by name, in any case, or by number."""
    if value is None:
        return None
    for level in Priority:
        if value.upper() in (level.name, str(level.value)):
            return level
    names = ", ".join(f"{level.name} ({level.value})" for level in Priority)
    raise click.BadParameter(f"{value!r} is not one of {names}")


def seconds(text: str) -> float | None:
    """A number of seconds, or a duration such as ``1h30m``, as seconds; None for another text."""
    stripped = text.strip()
    found = seconds_in(stripped)
    if found is not None:
        return found
    try:
        number = float(stripped)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def duration(value: object) -> float:
    """What ``seconds`` reads. Raises click.BadParameter."""
    found = seconds(str(value))
    if found is None:
        raise click.BadParameter(f"{value!r} is no duration: seconds, or 90s, 1h30m, 2d")
    return found


DURATION: Final = click.types.FuncParamType(duration)
"""The type of arguments and options that are a length of time."""


def moment(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    """An ISO 8601 time with its time zone, as an option."""
    try:
        return None if value is None else instant(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def instant(text: str, *, example: str = EXAMPLE) -> datetime:
    """An ISO 8601 time with its time zone. Raises ValueError, whose sentence has the example."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time such as {example}") from None
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone: write a time such as {example}")
    return found
