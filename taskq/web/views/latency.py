"""How long things took, estimated from the counts of a histogram."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from taskq.snapshot import HISTOGRAM_BOUNDS


def summed(histograms: Iterable[Sequence[int]]) -> list[int]:
    """The counts of all of them, place by place; each has a place for each bound and one more."""
    return [sum(place) for place in zip(*histograms, strict=False)] or [0] * PLACES


def quantiles(counts: Sequence[int], shares: Sequence[float]) -> list[float | None]:
    """For each of the shares (more than 0, at most 1): the seconds below which so much of what was
    counted lies; None where nothing was.

    It lies in the same span between two of ``HISTOGRAM_BOUNDS`` as the true value, and is read off
    as if the span were evenly filled; so it is wrong by less than the span's width. Beyond the
    highest bound it is that bound: the true value is at least as much.
    """
    sums = list(accumulate(counts))
    total = sums[-1] if sums else 0
    if not total:
        return [None] * len(shares)
    return [_read_off(counts, sums, total * share) for share in shares]


def _read_off(counts: Sequence[int], sums: Sequence[int], wanted: float) -> float:
    place = bisect_left(sums, wanted)
    if place >= len(HISTOGRAM_BOUNDS):
        return HISTOGRAM_BOUNDS[-1]
    lower = HISTOGRAM_BOUNDS[place - 1] if place else 0.0
    below = sums[place - 1] if place else 0
    return lower + (HISTOGRAM_BOUNDS[place] - lower) * (wanted - below) / counts[place]


SHARES: Final = (0.5, 0.95, 0.99)
"""What is told of a histogram."""
PLACES: Final = len(HISTOGRAM_BOUNDS) + 1


class LatencyView(Struct, frozen=True, kw_only=True):
    """Seconds below which half, 95 and 99 of a hundred lie, as a histogram with the bounds 5 ms,
    20 ms, 100 ms, 500 ms, 2 s, 10 s, 1 min, 5 min and 1 h tells them: each is wrong by less than
    the span between two bounds that it lies in. Null where nothing was counted."""

    p50: float | None
    p95: float | None
    p99: float | None

    @classmethod
    def of(cls, counts: Sequence[int]) -> LatencyView:
        """Of these counts, as ``Bucket.waits`` has them."""
        p50, p95, p99 = quantiles(counts, SHARES)
        return cls(p50=p50, p95=p95, p99=p99)
