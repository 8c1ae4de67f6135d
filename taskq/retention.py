"""For how long what has ended is kept: rules, and what they let go. Pure.

Nothing is deleted unless a rule says so (seed:B8): a status that has none is kept for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import cast

from msgspec import Struct

from taskq.durations import UNITS, seconds_in, written
from taskq.errors import ConfigurationError
from taskq.model import TERMINAL, Status

Rules = Mapping[Status, float]
"""By the status that activities ended in, the seconds after which they may go."""


class Node(Struct, frozen=True, gc=False):
    """An activity of a tree as retention sees it: ``since`` is when it ended."""

    status: Status | None
    since: datetime


def rules_of(given: object, where: str = "retention") -> dict[Status, float]:
    """Rules as they may be written: a mapping of states to timedeltas, seconds or texts like
    ``7d``; or the text ``completed=7d,dead_letter=90d``. Raises ConfigurationError."""
    if isinstance(given, str):
        parts = [part.partition("=") for part in given.split(",") if part.strip()]
        pairs: list[tuple[object, object]] = [(name.strip(), text) for name, _, text in parts]
    elif isinstance(given, Mapping):
        pairs = list(cast("Mapping[object, object]", given).items())
    else:
        raise ConfigurationError(
            f"{where} must map states to durations, as completed=7d does, not {given!r}"
        )
    rules = {_status(name, where): _seconds(name, value, where) for name, value in pairs}
    check_rules(rules, where)
    return rules


def spelled(rules: Rules) -> str:
    """Rules as a text that ``rules_of`` reads."""
    return ",".join(f"{status}={written(seconds)}" for status, seconds in rules.items())


def _status(name: object, where: str) -> Status:
    try:
        return Status(cast("str", name))
    except ValueError:
        states = ", ".join(status for status in Status if status.terminal)
        raise ConfigurationError(
            f"{where}: {name!r} is no state that activities end in; these are {states}"
        ) from None


def _seconds(name: object, value: object, where: str) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    seconds = seconds_in(value.strip()) if isinstance(value, str) else None
    if seconds is None:
        raise ConfigurationError(
            f"{where}: {name}={value!r} is no duration; it has numbers and units"
            f" ({', '.join(UNITS)}): 7d, 12h30m"
        )
    return seconds


def check_rules(rules: Rules, where: str = "retention") -> None:
    """Raises ConfigurationError for a status that is not terminal, and for no number of at least 0.

    What runs or waits is never deleted, whatever anybody asks for.
    """
    for status, seconds in rules.items():
        if status not in TERMINAL:
            ended = ", ".join(each for each in Status if each in TERMINAL)
            raise ConfigurationError(
                f"{where}: an activity that is {status} has not ended and is never deleted;"
                f" rules are for {ended}"
            )
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ConfigurationError(
                f"{where}: {status} must be kept for a finite number of seconds, at least 0, not"
                f" {seconds!r}"
            )


def cutoffs(rules: Rules, now: datetime) -> dict[Status, datetime]:
    """What ended in a state at or before its cutoff may go."""
    return {status: _before(now, seconds) for status, seconds in rules.items()}


def ripe(tree: Iterable[Node], cutoffs: Mapping[Status, datetime]) -> bool:
    """Whether a whole tree may go: each of it ended, in a state with a rule, long enough ago."""
    return all(_has_passed(node, cutoffs) for node in tree)


def _has_passed(node: Node, cutoffs: Mapping[Status, datetime]) -> bool:
    cutoff = None if node.status is None else cutoffs.get(node.status)
    return cutoff is not None and node.since <= cutoff


def _before(now: datetime, seconds: float) -> datetime:
    """So long ago; in years before 1970 nothing has ended."""
    first = datetime(1970, 1, 1, tzinfo=now.tzinfo)
    return now - timedelta(seconds=seconds) if seconds < (now - first).total_seconds() else first
