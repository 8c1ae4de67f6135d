"""How long to wait before a retry."""

from __future__ import annotations

import math

from msgspec import Struct

from taskq.errors import ConfigurationError


class RetryPolicy(Struct, frozen=True, omit_defaults=True):
    """Exponential backoff as data, stored with every activity that departs from the default.

    The delay before retry n (n = 1, 2, …) is
    ``min(max_delay, initial_delay × multiplier^(n−1))`` seconds, then spread by ± ``jitter``
    (a fraction of it: 0.1 is ± 10 %). Fields as Kodus has them (seed:R2); seed:R1 is ``runnerq()``.

    Raises ConfigurationError for a negative or non-finite field, a multiplier below 1 or a jitter
    outside 0–1.
    """

    initial_delay: float = 1.0
    multiplier: float = 2.0
    max_delay: float = 3600.0
    jitter: float = 0.1

    def __post_init__(self) -> None:
        for name in ("initial_delay", "multiplier", "max_delay", "jitter"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ConfigurationError(
                    f"RetryPolicy.{name} must be a finite number of at least 0, not {value!r}"
                )
        if self.multiplier < 1:
            raise ConfigurationError(
                f"RetryPolicy.multiplier must be at least 1, not {self.multiplier!r}"
            )
        if self.jitter > 1:
            raise ConfigurationError(f"RetryPolicy.jitter must be 0–1, not {self.jitter!r}")

    @classmethod
    def runnerq(cls) -> RetryPolicy:
        """RunnerQ's schedule: 2, 4, 8 … s, at most one hour, no jitter (seed:R1, seed:R3)."""
        return cls(initial_delay=2.0, multiplier=2.0, max_delay=3600.0, jitter=0.0)

    @classmethod
    def kodus(cls) -> RetryPolicy:
        """Kodus' schedule: 1, 2, 4 … s, at most 30 s, no jitter (seed:R2)."""
        return cls(initial_delay=1.0, multiplier=2.0, max_delay=30.0, jitter=0.0)

    def delay(self, retry: int, *, chance: float = 0.5) -> float:
        """Seconds before retry number ``retry`` (1 is the first); never negative, always finite.

        ``chance`` in 0–1 places the result inside the jitter: 0 is the earliest, 0.5 the middle.
        """
        middle = min(self.max_delay, self._grown(retry))
        return max(0.0, middle * (1 + self.jitter * (2 * chance - 1)))

    def _grown(self, retry: int) -> float:
        """``initial_delay × multiplier^(retry−1)``, or ``max_delay`` where it would be above.

        Decided on logarithms before the power is taken, which could overflow (bug:B10).
        """
        if self.multiplier == 1 or self.initial_delay == 0 or retry <= 1:
            return self.initial_delay
        if self.initial_delay >= self.max_delay:
            return self.max_delay
        growth = (retry - 1) * math.log(self.multiplier)
        if growth >= math.log(self.max_delay) - math.log(self.initial_delay):
            return self.max_delay
        if growth > _LARGEST:
            return math.exp(math.log(self.initial_delay) + growth)
        return self.initial_delay * self.multiplier ** (retry - 1)


_LARGEST = 700.0
"""The natural logarithm of about the largest float."""
