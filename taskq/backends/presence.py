"""Which workers count as live, and when a silent one is forgotten."""

from __future__ import annotations

from typing import Final

ALIVE_WITHIN: Final = 60.0
"""A worker whose latest heartbeat is at most so many seconds old counts as live."""

FORGOTTEN_AFTER: Final = 3600.0
"""Seconds without a heartbeat after which the row of a worker that never retired is deleted."""
