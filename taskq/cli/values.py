"""Values of arguments and options: priorities, times, lengths of time."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

import click

from taskq.durations import seconds_in
from taskq.model import Priority


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
    """An ISO 8601 time; whether it has a time zone is checked where it is used."""
    try:
        return None if value is None else datetime.fromisoformat(value)
    except ValueError:
        example = "2026-12-31T18:00:00+01:00"
        raise click.BadParameter(f"{value!r} is not a time such as {example}") from None
