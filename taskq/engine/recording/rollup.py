"""Counts of what this worker recorded, for the console's charts (design 7.7)."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from taskq.snapshot import HISTOGRAM_BOUNDS, SPANS, Bucket


class Count(Struct, frozen=True, gc=False):
    """One recorded end of an attempt. ``waited`` and ``ran`` are seconds, None when unknown."""

    queue: str
    type: str
    outcome: str
    waited: float | None
    ran: float | None


class Rollup:
    """Counts by time, queue, type and outcome, handed over in numbered portions: each in a bucket
    of every span.

    ``add`` is called on the engine's loop, the rest beside the store. A portion stays the same,
    under the same number, until it is acknowledged, so it is neither lost nor added twice when the
    reply to a heartbeat is lost; what comes meanwhile goes into the next one.
    """

    def __init__(self) -> None:
        self._added: deque[tuple[datetime, tuple[Count, ...]]] = deque()
        self._number = 1
        self._portion: tuple[Bucket, ...] | None = None

    def add(self, at: datetime, counts: Iterable[Count]) -> None:
        """Count what was recorded at ``at`` (aware)."""
        self._added.append((at, tuple(counts)))

    @property
    def behind(self) -> bool:
        """Whether the latest portion is stored and something was counted that was not in it."""
        return self._portion is None and bool(self._added)

    def portion(self) -> tuple[int, tuple[Bucket, ...]]:
        """The number and buckets to send now."""
        if self._portion is None:
            self._portion = self._summed()
        return self._number, self._portion

    def acknowledge(self, number: int) -> None:
        """The portion of this number has been stored."""
        if number == self._number:
            self._number += 1
            self._portion = None

    def _summed(self) -> tuple[Bucket, ...]:
        """Each count is added to the finest span, and what comes of that to the others."""
        finest, *others = SPANS
        fine: dict[tuple[datetime, str, str, str], _Sum] = defaultdict(_Sum)
        while self._added:
            at, counts = self._added.popleft()
            begin = _begin(at, finest)
            for count in counts:
                fine[begin, count.queue, count.type, count.outcome].add(count)
        sums: dict[tuple[int, datetime, str, str, str], _Sum] = defaultdict(_Sum)
        for (begin, queue, type, outcome), sum in fine.items():
            sums[finest, begin, queue, type, outcome] = sum
            for span in others:
                sums[span, _begin(begin, span), queue, type, outcome].merge(sum)
        return tuple(
            Bucket(
                span=span,
                minute=minute,
                queue=queue,
                type=type,
                outcome=outcome,
                count=sum.count,
                waits=tuple(sum.waits),
                runs=tuple(sum.runs),
            )
            for (span, minute, queue, type, outcome), sum in sums.items()
        )


class _Sum:
    def __init__(self) -> None:
        self.count = 0
        self.waits = [0] * (len(HISTOGRAM_BOUNDS) + 1)
        self.runs = [0] * (len(HISTOGRAM_BOUNDS) + 1)

    def add(self, count: Count) -> None:
        self.count += 1
        if count.waited is not None:
            self.waits[bisect_right(HISTOGRAM_BOUNDS, count.waited)] += 1
        if count.ran is not None:
            self.runs[bisect_right(HISTOGRAM_BOUNDS, count.ran)] += 1

    def merge(self, other: _Sum) -> None:
        self.count += other.count
        self.waits = [*map(operator.add, self.waits, other.waits)]
        self.runs = [*map(operator.add, self.runs, other.runs)]


def _begin(at: datetime, span: int) -> datetime:
    """When the bucket begins that ``at`` falls in: spans are parts of an hour."""
    past = (at.minute * 60 + at.second) % span
    return at.replace(microsecond=0) - timedelta(seconds=past)
