"""Schedules as people define them, checked where they are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from taskq.errors import ConfigurationError
from taskq.model import Activity
from taskq.occurrences import Timing
from taskq.schedule import CATCH_UP, OVERLAP, Schedule, Template

T = TypeVar("T")

SHORTEST: Final = 100
"""Milliseconds between two occurrences of an interval at the least."""


def template(where: str, activity: Activity[object]) -> Template:
    """What is kept of a built call; what it has from a parent is not. Raises ConfigurationError for
    what each occurrence cannot have: a time of its own, an idempotency key, a step, an instant as
    ``expires`` or ``deadline``."""
    for name, given in (
        ("run_at", activity.run_at),
        ("delay", activity.delay),
        ("step", activity.step),
        ("idempotency_key", activity.idempotency),
    ):
        if given is not None:
            raise ConfigurationError(
                f"{where}: {name} is for a single call; a schedule's calls have times and ids of"
                " their own"
            )
    for name, instant in (("expires", "expires_at"), ("deadline", "deadline_at")):
        if getattr(activity, instant) is not None and instant not in activity.inherits:
            raise ConfigurationError(
                f"{where}: {name} is one instant for all of a schedule's calls; give a timedelta or"
                " seconds, which count for each from its own time"
            )
    kept = [name for name in Template.__struct_fields__ if name not in activity.inherits]
    return Template(**{name: getattr(activity, name) for name in kept})


def timing(
    where: str,
    *,
    cron: object = None,
    every: object = None,
    timezone: object = None,
) -> Timing:
    """Checked times: ``cron`` text, or ``every``: a timedelta or seconds. ``timezone`` is for cron
    text, UTC by default. Raises ConfigurationError naming what is wrong."""
    if cron is None and every is None:
        raise ConfigurationError(f"{where}: its times are not given: give cron text or every")
    if cron is not None and every is not None:
        raise ConfigurationError(f"{where}: cron text and every exclude each other: give one")
    if cron is None:
        if timezone is not None:
            raise ConfigurationError(
                f"{where}: tz is for cron text; every is counted from 1970-01-01T00:00Z"
            )
        step = milliseconds(where, "every", every)
        if step < SHORTEST:
            raise ConfigurationError(f"{where}: every must be at least 0.1 s, not {every!r}")
        return Timing(every=step)
    if not isinstance(cron, str):
        raise ConfigurationError(f"{where}: cron must be a text, not {cron!r}")
    if timezone is not None and not isinstance(timezone, str):
        raise ConfigurationError(f"{where}: tz must be a name of a time zone, not {timezone!r}")
    found = Timing(cron=cron.strip(), timezone=timezone or "UTC")
    try:
        first = found.after(datetime(2024, 1, 1, tzinfo=UTC))
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None
    if first is None:
        raise ConfigurationError(f"{where}: cron {cron!r} never fires: no day is like that")
    return found


def schedule(
    where: str,
    name: object,
    *,
    timing: Timing,
    template: Template,
    jitter: object = 0,
    catch_up: object = "latest",
    overlap: object = "allow",
) -> Schedule:
    """A checked schedule; ``jitter`` is a timedelta or seconds. Raises ConfigurationError."""
    if not isinstance(name, str) or not name or len(name) > 120 or not name.isprintable():
        raise ConfigurationError(
            f"{where}: a schedule's name has 1 to 120 characters, not {name!r}"
        )
    return Schedule(
        name=name,
        timing=timing,
        template=template,
        jitter=milliseconds(where, "jitter", jitter),
        catch_up=_choice(where, "catch_up", catch_up, CATCH_UP),
        overlap=_choice(where, "overlap", overlap, OVERLAP),
    )


def milliseconds(where: str, name: str, value: object) -> int:
    """A timedelta or seconds, not negative, as whole milliseconds. Raises ConfigurationError."""
    given = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise ConfigurationError(f"{where}: {name} must be a timedelta or seconds, not {value!r}")
    if not 0 <= given <= timedelta(days=36500).total_seconds():
        raise ConfigurationError(
            f"{where}: {name} must be at least 0 and at most a hundred years, not {value!r}"
        )
    return round(given * 1000)


def _choice(where: str, name: str, value: object, choices: tuple[T, ...]) -> T:
    for choice in choices:
        if value == choice:
            return choice
    allowed = ", ".join(map(repr, choices))
    raise ConfigurationError(f"{where}: {name} must be one of {allowed}, not {value!r}")
