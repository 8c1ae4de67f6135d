"""How fast attempts run here, and how many may be claimed ahead."""

from __future__ import annotations

SOON = 0.1
"""Seconds within which what is claimed ahead should start."""
PATIENCE = 0.15
"""Seconds after which what has not started is handed back."""
MOST_AHEAD = 1000
"""More than this is never claimed ahead."""
WEIGHT = 0.2
"""How much the latest attempt counts in the moving average."""


class Pace:
    """The moving average of run times, and the claim-ahead that follows from it (design 7.9).

    ``fixed`` replaces the answer: then nothing is measured and nothing gets impatient.
    """

    def __init__(self, slots: int, *, fixed: int | None = None) -> None:
        self._slots = slots
        self._fixed = fixed
        self._average: float | None = None
        self._blocked = False

    @property
    def adaptive(self) -> bool:
        """Whether what waits too long is to be handed back."""
        return self._fixed is None

    @property
    def ahead(self) -> int:
        """How many activities may wait here beyond those that have a slot.

        As many as will start within ``SOON``; none before a run time was measured.
        """
        if self._fixed is not None:
            return self._fixed
        if self._average is None or self._blocked:
            return 0
        if self._average * MOST_AHEAD <= self._slots * SOON:
            return MOST_AHEAD
        return int(self._slots * SOON / self._average)

    def measure(self, seconds: float) -> None:
        """An attempt ran that long, and its slot is free again."""
        self._blocked = False
        if self._average is None:
            self._average = seconds
        else:
            self._average += WEIGHT * (seconds - self._average)

    def block(self) -> None:
        """Something waited too long: claim nothing ahead until a slot was free."""
        self._blocked = True
