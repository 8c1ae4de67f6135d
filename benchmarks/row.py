"""What a benchmark answers: measured values, the floor beside them, and the target for both."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TypeAlias, assert_never

from msgspec import Struct


class AtLeast(Struct, frozen=True, tag="at least"):
    """The value must be at least ``times`` the floor."""

    times: float


class AtMost(Struct, frozen=True, tag="at most"):
    """The value must not be above ``limit``, in its own unit."""

    limit: float


class Within(Struct, frozen=True, tag="within"):
    """The value must not be above ``times`` the floor."""

    times: float


Target: TypeAlias = AtLeast | AtMost | Within


class Row(Struct, frozen=True, kw_only=True):
    """One line of the table.

    ``values`` and ``floors`` are one for each round, in ``unit``; ``floor_is`` says what the floor
    does. A row without target is for information.
    """

    scenario: str
    what: str
    unit: str
    values: tuple[float, ...]
    floors: tuple[float, ...] = ()
    floor_is: str = ""
    target: Target | None = None

    @property
    def value(self) -> float:
        """The median of the rounds."""
        return median(self.values)

    @property
    def floor(self) -> float | None:
        """The median of the floor's rounds, None where there is none."""
        return median(self.floors) if self.floors else None

    @property
    def ratio(self) -> float | None:
        """The median of the rounds' ratios: value and floor of one round had the same machine."""
        if not self.floors:
            return None
        return median(
            value / floor for value, floor in zip(self.values, self.floors, strict=True) if floor
        )

    @property
    def met(self) -> bool | None:
        """Whether the target is met, None where there is none."""
        match self.target:
            case AtLeast(times=times):
                return self.ratio is not None and self.ratio >= times
            case Within(times=times):
                return self.ratio is not None and self.ratio <= times
            case AtMost(limit=limit):
                return self.value <= limit
            case None:
                return None
            case _:
                assert_never(self.target)


class Scale(Struct, frozen=True, kw_only=True):
    """How much is measured.

    ``rounds``: alternating runs. ``drain``, ``enqueue``, ``singles``: activities in a run of each.
    ``pickups``: activities of a latency run, ``pause`` seconds apart. ``big``: rows of each kind in
    the big tables. ``claims``: claims in a series. ``age``: seconds of the old snapshot.
    """

    rounds: int = 5
    drain: int = 20_000
    enqueue: int = 20_000
    singles: int = 1_000
    pickups: int = 100
    pause: float = 0.05
    big: int = 1_000_000
    claims: int = 50
    age: float = 60.0


FULL = Scale()
QUICK = Scale(
    rounds=3, drain=5_000, enqueue=5_000, singles=500, pickups=50, big=100_000, claims=20, age=5.0
)
TINY = Scale(rounds=1, drain=20, enqueue=20, singles=10, pickups=2, big=500, claims=2, age=0.1)
"""Measures nothing: for the test that all of it works."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of all lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
