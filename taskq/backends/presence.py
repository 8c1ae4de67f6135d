"""Which workers count as live, what they serve, and when a silent one is forgotten."""

from __future__ import annotations

from typing import Final

from taskq.snapshot import WorkerInfo

ALIVE_WITHIN: Final = 60.0
"""A worker whose latest heartbeat is at most so many seconds old counts as live."""

FORGOTTEN_AFTER: Final = 3600.0
"""Seconds without a heartbeat after which the row of a worker that never retired is deleted."""


def serves(worker: WorkerInfo, queue: str, type: str) -> bool:
    """Whether the worker takes activities of this queue and type."""
    return queue in worker.queues and (not worker.types or type in worker.types)
