"""Values of arguments and options: priorities, times, rates."""

from __future__ import annotations

from datetime import datetime

import click

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


def moment(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    """An ISO 8601 time; whether it has a time zone is checked where it is used."""
    try:
        return None if value is None else datetime.fromisoformat(value)
    except ValueError:
        example = "2026-12-31T18:00:00+01:00"
        raise click.BadParameter(f"{value!r} is not a time such as {example}") from None
