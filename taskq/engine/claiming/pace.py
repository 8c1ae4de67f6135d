"""How fast attempts run here, and how many may be claimed ahead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

SOON = 0.1
"""Seconds within which what is claimed ahead should start."""
PATIENCE = 0.15
"""Seconds after which what has not started is handed back."""
LOOK_AGAIN = SOON / 4
"""Seconds between two looks whether a slot is about to be free."""
MOST_AHEAD = 1000
"""More than this is never claimed ahead."""
WEIGHT = 0.2
"""How much the latest attempt counts in the moving average."""


class Running(Struct, frozen=True):
    """A handler that has a slot: its type, for how many seconds it has it, and whether it had one
    before, and gave it up while it waited."""

    type: str
    age: float
    resumed: bool


Look: TypeAlias = Callable[[], Iterable[Running]]
"""Gives the handlers that have a slot now."""


class Pace:
    """The moving average of how long each type keeps a slot, and the claim-ahead that follows
    (design 7.9).

    ``fixed`` replaces the answer: then nothing is measured and nothing gets impatient.
    """

    def __init__(self, slots: int, *, fixed: int | None = None) -> None:
        self._slots = slots
        self._fixed = fixed
        self._averages: dict[str, float] = {}
        self._slowest = math.inf
        self._latest = 0.0
        self._blocked = False

    @property
    def adaptive(self) -> bool:
        """Whether what waits too long is to be handed back."""
        return self._fixed is None

    def ahead(self, look: Look) -> int:
        """How many activities may wait here beyond those that have a slot: as many as will start
        within ``SOON``, if handlers run for as long as those of their type did before.

        A slot whose handlers are quick is free many times in that time. One that is held for longer
        is free once, at the end. What an idle one will have is taken to be as what ended lately.
        None before a run time was measured.
        """
        if self._fixed is not None:
            return self._fixed
        if not self._averages or self._blocked:
            return 0
        return self.starts(look)

    def starts(self, look: Look) -> int:
        """How many will start within ``SOON``, so far as run times say."""
        if self._slowest * MOST_AHEAD <= self._slots * SOON:
            return MOST_AHEAD
        running = list(look())
        idle = (self._slots - len(running)) * _times(self._latest)
        return min(MOST_AHEAD, int(idle + sum(map(self._starts, running))))

    @property
    def rhythm(self) -> float:
        """Seconds after which to ask ``ahead`` again, while no slot gets free."""
        slow = self._fixed is None and self._averages and self._slowest > SOON
        return LOOK_AGAIN if slow else math.inf

    def measure(self, type: str, seconds: float) -> None:
        """A handler of this type had its slot for so long, and waits now or has ended."""
        self._blocked = False
        before = self._averages.get(type)
        average = seconds if before is None else before + WEIGHT * (seconds - before)
        self._averages[type] = average
        self._latest = (
            seconds if before is None else self._latest + WEIGHT * (seconds - self._latest)
        )
        if len(self._averages) == 1:
            self._slowest = average
        else:
            self._slowest = max(self._averages.values())

    def block(self) -> None:
        """Something waited too long: claim nothing ahead until a slot was free."""
        self._blocked = True

    def _starts(self, running: Running) -> float:
        """How many attempts will start where this one runs, within ``SOON``."""
        average = self._averages.get(running.type)
        if average is None or abs(running.age - average) > SOON:
            return 0.0
        return 1.0 if running.resumed or average > SOON else _times(average)


def _times(average: float) -> float:
    """How often a slot gets free within ``SOON``, if its handlers take that long."""
    return 0.0 if average > SOON else SOON / max(average, SOON / MOST_AHEAD)
