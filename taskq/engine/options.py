"""How one worker is to run."""

from __future__ import annotations

import math
from collections.abc import Collection

from msgspec import Struct

from taskq.errors import ConfigurationError
from taskq.retention import Rules, check_rules

LONGEST_AGING = 1e8
"""Seconds, three years."""


class EngineOptions(Struct, frozen=True, kw_only=True):
    """What an engine needs to know besides its handlers. Times are seconds.

    - ``name, host, pid, version, async_backend``: shown in the worker's row; an ``async_backend``
      that is empty is found out when it runs.
    - ``queues``: those to claim from, at least one.
    - ``types``: those to claim; None is every type that has a handler. ``catch_all``: every type
      there is; what has no handler is put back for 5 s, nothing counted (seed:W21).
    - ``concurrency``: attempts at once; ``threads``: of these sync ones (None: all of them).
    - ``lease``: a claim's length; ``renew_interval``: at most a third of it, so that a lease
      outlives two failed renewals.
    - ``reaper_interval``, ``reaper_batch``: how often to look for lost workers, and how many
      activities to take back at once.
    - ``poll_interval``: pause after an empty claim, doubling up to ``poll_max``.
    - ``claim_ahead``: activities claimed beyond free slots; None adapts to how long attempts run.
    - ``suspend_on_await``: a handler that awaits other activities gives its slot up (seed:E12).
      ``max_suspended``: with so many waiting, only children are begun, the deepest first.
    - ``reserve_slots_for_leaves``: slots that only ``leaf_types`` get while any of these wait; lent
      to others while none does (seed:E13, S9, D17).
    - ``retention``: for how many seconds what has ended is kept, by status; ``prune_interval``: how
      often to look for what may go, if there is any rule.
    - ``priority_aging``: after each such time of waiting an activity counts as one priority higher.
    - ``shutdown_grace``: what running handlers get at a stop. ``burst``: stop when drained.
    - ``schedules``: fire what is periodic; with ``burst`` nothing is fired in any case.

    Raises ConfigurationError naming the option that is wrong (seed:W23).
    """

    name: str
    host: str
    pid: int
    queues: tuple[str, ...]
    version: str = ""
    async_backend: str = ""
    types: tuple[str, ...] | None = None
    catch_all: bool = False
    concurrency: int = 10
    threads: int | None = None
    lease: float = 30.0
    renew_interval: float = 10.0
    reaper_interval: float = 5.0
    reaper_batch: int = 100
    poll_interval: float = 1.0
    poll_max: float = 5.0
    claim_ahead: int | None = None
    suspend_on_await: bool = True
    max_suspended: int = 1000
    reserve_slots_for_leaves: int = 0
    leaf_types: tuple[str, ...] = ()
    priority_aging: float | None = None
    shutdown_grace: float = 30.0
    burst: bool = False
    retention: Rules = {}
    prune_interval: float = 60.0
    schedules: bool = True

    def __post_init__(self) -> None:
        _at_least_one("concurrency", self.concurrency)
        _at_least_one("reaper_batch", self.reaper_batch)
        if self.threads is not None:
            _at_least_one("threads", self.threads)
        for name in _POSITIVE:
            _finite(name, getattr(self, name), zero=False)
        if self.priority_aging is not None:
            _finite("priority_aging", self.priority_aging, zero=False)
            if self.priority_aging > LONGEST_AGING:
                raise ConfigurationError(
                    f"priority_aging must be at most {LONGEST_AGING:.0f} seconds, not"
                    f" {self.priority_aging!r}"
                )
        _finite("shutdown_grace", self.shutdown_grace, zero=True)
        if self.claim_ahead is not None and self.claim_ahead < 0:
            raise ConfigurationError(f"claim_ahead must be 0 or more, not {self.claim_ahead!r}")
        _at_least_one("max_suspended", self.max_suspended)
        check_rules(self.retention)
        _check_reserve(self)
        if not self.queues:
            raise ConfigurationError("queues must name at least one queue")
        if self.types is not None and self.catch_all:
            raise ConfigurationError("types and catch_all exclude each other")
        if self.types is not None and not self.types:
            raise ConfigurationError("types must name at least one activity type, or be left out")
        if self.renew_interval * 3 > self.lease * (1 + 1e-9):
            raise ConfigurationError(
                f"renew_interval ({self.renew_interval:g} s) must be at most a third of"
                f" lease ({self.lease:g} s)"
            )
        if self.poll_max < self.poll_interval:
            raise ConfigurationError(
                f"poll_max ({self.poll_max:g} s) must be at least"
                f" poll_interval ({self.poll_interval:g} s)"
            )

    def claimed_types(self, registered: Collection[str]) -> tuple[str, ...] | None:
        """The types to ask the store for, None for every type.

        Raises ConfigurationError when a listed type has no handler (seed:E5, D34), or when there is
        nothing to run at all.
        """
        if unknown := [type for type in self.leaf_types if type not in registered]:
            raise ConfigurationError(f"leaf_types without a handler here: {', '.join(unknown)}")
        if self.catch_all:
            return None
        if self.types is None:
            if not registered:
                raise ConfigurationError("there is no activity to run: no handler is registered")
            return tuple(sorted(registered))
        if unclaimed := [type for type in self.leaf_types if type not in self.types]:
            raise ConfigurationError(f"leaf_types that are not among types: {', '.join(unclaimed)}")
        if unknown := [type for type in self.types if type not in registered]:
            raise ConfigurationError(f"types without a handler here: {', '.join(unknown)}")
        return self.types


_POSITIVE = (
    "lease",
    "renew_interval",
    "reaper_interval",
    "poll_interval",
    "poll_max",
    "prune_interval",
)


def _check_reserve(options: EngineOptions) -> None:
    """seed:S11"""
    reserved = options.reserve_slots_for_leaves
    if reserved < 0:
        raise ConfigurationError(f"reserve_slots_for_leaves must be 0 or more, not {reserved!r}")
    if reserved >= options.concurrency:
        raise ConfigurationError(
            f"reserve_slots_for_leaves ({reserved}) must be less than"
            f" concurrency ({options.concurrency}): others need a slot too"
        )
    if reserved and not options.leaf_types:
        raise ConfigurationError(
            f"reserve_slots_for_leaves ({reserved}) needs leaf_types: the types that it is for"
        )


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ConfigurationError(f"{name} must be at least 1, not {value!r}")


def _finite(name: str, value: float, *, zero: bool) -> None:
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        least = "0 or more" if zero else "more than 0"
        raise ConfigurationError(
            f"{name} must be a finite number of seconds, {least}, not {value!r}"
        )
