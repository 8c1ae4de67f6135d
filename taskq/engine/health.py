"""How a worker fares."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """Where an engine is in its one life."""

    NEW = "new"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Stuck(StrEnum):
    """What an engine cannot get out of by itself: another process in its place would help."""

    LOOP = "loop"
    """Its event loop does not answer, for longer than the longest timeout and a minute."""
    SLOTS = "slots"
    """Every slot is held by a thread past its timeout."""


class Health(Struct, frozen=True, kw_only=True):
    """A look at a worker. ``healthy`` means that everything made progress lately, not that the
    process is up; otherwise ``reasons`` says in words what is wrong.

    ``slots`` are its permits, ``slots_used`` those in use, ``threads_stuck`` the ones held by
    threads past their timeout. ``suspended`` handlers wait for other activities without a slot.
    ``last_progress`` is the age in seconds of each loop's latest progress.
    """

    state: str
    healthy: bool
    reasons: tuple[str, ...]
    slots: int
    slots_used: int
    threads_stuck: int
    last_progress: Mapping[str, float]
    suspended: int = 0
