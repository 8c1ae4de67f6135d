"""How long things took, estimated from the counts of a histogram."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from taskq.snapshot import HISTOGRAM_BOUNDS


def summed(histograms: Iterable[Sequence[int]]) -> list[int]:
    """The counts of all of them, place by place."""
    counts = [0] * (len(HISTOGRAM_BOUNDS) + 1)
    for histogram in histograms:
        for place, count in enumerate(histogram[: len(counts)]):
            counts[place] += count
    return counts


def quantile(counts: Sequence[int], share: float) -> float | None:
    """The seconds below which ``share`` (more than 0, at most 1) of what was counted lies; None
    where nothing was.

    It lies in the same span between two of ``HISTOGRAM_BOUNDS`` as the true value, and is read off
    as if the span were evenly filled; so it is wrong by less than the span's width. Beyond the
    highest bound it is that bound: the true value is at least as much.
    """
    wanted = sum(counts) * share
    if not wanted:
        return None
    lower, below = 0.0, 0
    for upper, count in zip(HISTOGRAM_BOUNDS, counts, strict=False):
        if count and below + count >= wanted:
            return lower + (upper - lower) * max(0.0, wanted - below) / count
        lower, below = upper, below + count
    return HISTOGRAM_BOUNDS[-1]


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
        return cls(
            p50=quantile(counts, 0.5), p95=quantile(counts, 0.95), p99=quantile(counts, 0.99)
        )
