"""Throughput and latency over time, for charts: sums of the rollup in even steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from taskq.snapshot import Bucket
from taskq.web.views.latency import SHARES, LatencyView, quantiles, summed

By = Literal["none", "type", "queue"]
"""What there is a line of: each type, each queue, or all together."""


class Steps(Struct, frozen=True):
    """``number`` steps of ``seconds`` each, the first from ``since`` on."""

    since: datetime
    seconds: int
    number: int

    def at(self, step: int) -> datetime:
        """When a step begins."""
        return self.since + timedelta(seconds=step * self.seconds)

    @property
    def until(self) -> datetime:
        """Where the last one ends."""
        return self.at(self.number)

    def of(self, instant: datetime) -> int | None:
        """The step in which an instant lies; None: in none."""
        step = int((instant - self.since).total_seconds() // self.seconds)
        return step if 0 <= step < self.number else None


def steps_until(now: datetime, seconds: int, number: int) -> Steps:
    """The steps that end with the one in which ``now`` lies; they begin at multiples of
    ``seconds`` since 1970."""
    begun = int(now.timestamp()) // seconds * seconds
    last = datetime.fromtimestamp(begun, tz=now.tzinfo)
    return Steps(last - timedelta(seconds=(number - 1) * seconds), seconds, number)


class PercentilesView(Struct, frozen=True, kw_only=True):
    """Seconds for each step, null where nothing was counted; estimates, see ``LatencyView``."""

    p50: list[float | None]
    p95: list[float | None]
    p99: list[float | None]

    @classmethod
    def of(cls, counts: Sequence[Sequence[int]]) -> PercentilesView:
        """Of a histogram for each step."""
        p50, p95, p99 = zip(*(quantiles(each, SHARES) for each in counts), strict=True)
        return cls(p50=[*p50], p95=[*p95], p99=[*p99])


class LineView(Struct, frozen=True, kw_only=True):
    """One line: how many attempts ended, by outcome, in each step; how long what ended had waited
    and run. ``total``, ``wait_total`` and ``run_total`` are those of all steps together. ``name``
    is null for all together, and for the ``others`` beyond the ``top`` ones."""

    name: str | None
    others: bool
    outcomes: Mapping[str, list[int]]
    total: Mapping[str, int]
    wait: PercentilesView
    run: PercentilesView
    wait_total: LatencyView
    run_total: LatencyView


class SeriesView(Struct, frozen=True, kw_only=True):
    """Lines over the same steps of ``step`` seconds; ``at`` says when each begins. The last one is
    not over yet. Workers report about every ten seconds."""

    window: str
    by: By
    step: int
    at: list[datetime]
    lines: list[LineView]

    @classmethod
    def of(
        cls, window: str, by: By, steps: Steps, buckets: Iterable[Bucket], *, top: int
    ) -> SeriesView:
        """The ``top`` lines with the most counts, then one with the sum of the others."""
        grouped: dict[str | None, list[Bucket]] = defaultdict(list)
        for bucket in buckets:
            grouped[_name(bucket, by)].append(bucket)
        if by == "none":
            grouped.setdefault(None, [])
        busiest = sorted(grouped, key=lambda name: (-_count(grouped[name]), name or ""))
        lines = [_line(name, grouped[name], steps) for name in busiest[:top]]
        rest = [bucket for name in busiest[top:] for bucket in grouped[name]]
        if rest:
            lines.append(_line(None, rest, steps, others=True))
        at = [steps.at(step) for step in range(steps.number)]
        return cls(window=window, by=by, step=steps.seconds, at=at, lines=lines)


def _name(bucket: Bucket, by: By) -> str | None:
    match by:
        case "type":
            return bucket.type
        case "queue":
            return bucket.queue
        case "none":
            return None


def _count(buckets: Iterable[Bucket]) -> int:
    return sum(bucket.count for bucket in buckets)


def _line(
    name: str | None, buckets: Sequence[Bucket], steps: Steps, *, others: bool = False
) -> LineView:
    outcomes: dict[str, list[int]] = {}
    within: list[list[Bucket]] = [[] for _ in range(steps.number)]
    for bucket in buckets:
        step = steps.of(bucket.minute)
        if step is not None:
            within[step].append(bucket)
            outcomes.setdefault(bucket.outcome, [0] * steps.number)[step] += bucket.count
    waits = [summed(bucket.waits for bucket in each) for each in within]
    runs = [summed(bucket.runs for bucket in each) for each in within]
    return LineView(
        name=name,
        others=others,
        outcomes=outcomes,
        total={outcome: sum(counts) for outcome, counts in outcomes.items()},
        wait=PercentilesView.of(waits),
        run=PercentilesView.of(runs),
        wait_total=LatencyView.of(summed(waits)),
        run_total=LatencyView.of(summed(runs)),
    )
