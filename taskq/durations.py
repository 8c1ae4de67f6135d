"""Lengths of time as people write them: ``90s``, ``1h30m``, ``7d``."""

from __future__ import annotations

import re
from typing import Final

UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
"""The seconds of each unit."""

_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhdw])")
_WHOLE: Final = re.compile(f"({_PART.pattern})+")


def seconds_in(text: str) -> float | None:
    """The seconds that a text means: numbers, each with its unit, one behind the other. None for a
    text that is no such thing."""
    if not _WHOLE.fullmatch(text):
        return None
    return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))


def written(seconds: float) -> str:
    """Seconds as such a text: ``7d``, ``1h30m``; with milliseconds at the finest."""
    left = round(seconds * 1000)
    parts: list[str] = []
    for unit in ("d", "h", "m", "s", "ms"):
        size = round(UNITS[unit] * 1000)
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return "".join(parts) or "0s"
