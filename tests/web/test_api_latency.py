"""Percentiles from histograms, and the lines of charts: pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskq.snapshot import HISTOGRAM_BOUNDS, Bucket
from taskq.web.views.latency import LatencyView, quantiles, summed
from taskq.web.views.series import SeriesView, Steps, steps_until

NOW = datetime(2030, 1, 1, 12, 34, 56, tzinfo=UTC)


def histogram(values: list[float]) -> list[int]:
    counts = [0] * (len(HISTOGRAM_BOUNDS) + 1)
    for value in values:
        counts[bisect_right(HISTOGRAM_BOUNDS, value)] += 1
    return counts


def quantile(counts: list[int], share: float) -> float | None:
    [found] = quantiles(counts, [share])
    return found


@given(
    st.lists(st.floats(0, 5000), min_size=1, max_size=200),
    st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]),
)
def test_an_estimate_lies_in_the_span_of_the_true_value(values: list[float], share: float) -> None:
    true = sorted(values)[max(0, math.ceil(len(values) * share - 1e-9) - 1)]
    estimate = quantile(histogram(values), share)
    place = bisect_right(HISTOGRAM_BOUNDS, true)
    assert estimate is not None
    lower = HISTOGRAM_BOUNDS[place - 1] if place else 0.0
    upper = HISTOGRAM_BOUNDS[min(place, len(HISTOGRAM_BOUNDS) - 1)]
    assert lower <= estimate <= upper


def test_a_histogram_evenly_filled_is_read_in_its_middle() -> None:
    counts = histogram([1.0] * 100)
    assert quantile(counts, 0.5) == pytest.approx(0.5 + 1.5 / 2)


def test_where_nothing_was_counted_there_is_no_percentile() -> None:
    assert LatencyView.of(histogram([])) == LatencyView(p50=None, p95=None, p99=None)


def test_beyond_the_highest_bound_it_is_that_bound() -> None:
    assert quantile(histogram([100_000.0]), 0.99) == HISTOGRAM_BOUNDS[-1]


def test_histograms_are_summed_place_by_place() -> None:
    assert summed([histogram([0.001]), histogram([0.001, 9.0])]) == histogram([0.001, 0.001, 9.0])


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.sampled_from([60, 600]))
def test_now_lies_in_the_last_step(naive: datetime, seconds: int) -> None:
    now = naive.replace(tzinfo=UTC)
    steps = steps_until(now, seconds, 6)
    assert steps.of(now) == 5
    assert steps.since.timestamp() % seconds == 0


def bucket(minute: int, type: str, count: int = 1, outcome: str = "completed") -> Bucket:
    at = NOW.replace(second=0) + timedelta(minutes=minute)
    spread = tuple(histogram([1.0] * count))
    return Bucket(
        minute=at, queue="q", type=type, outcome=outcome, count=count, waits=spread, runs=spread
    )


def steps() -> Steps:
    return steps_until(NOW, 60, 5)


def test_counts_stand_at_the_step_in_which_they_ended() -> None:
    view = SeriesView.of(
        "5m", "none", steps(), [bucket(0, "a", 3), bucket(-4, "a", 2, "failed")], top=10
    )
    [line] = view.lines
    assert line.name is None
    assert line.outcomes == {"completed": [0, 0, 0, 0, 3], "failed": [2, 0, 0, 0, 0]}
    assert line.total == {"completed": 3, "failed": 2}
    assert [each is None for each in line.run.p50] == [False, True, True, True, False]


def test_what_lies_outside_of_the_steps_is_not_counted() -> None:
    view = SeriesView.of("5m", "none", steps(), [bucket(-5, "a"), bucket(1, "a")], top=10)
    assert view.lines[0].total == {}


def test_the_busiest_have_lines_and_the_others_one() -> None:
    buckets = [bucket(0, "a", 1), bucket(0, "b", 5), bucket(0, "c", 2)]
    view = SeriesView.of("5m", "type", steps(), buckets, top=1)
    assert [(line.name, line.others, line.total) for line in view.lines] == [
        ("b", False, {"completed": 5}),
        (None, True, {"completed": 3}),
    ]


def test_without_counts_there_is_one_empty_line_for_all() -> None:
    view = SeriesView.of("5m", "none", steps(), [], top=10)
    assert [line.outcomes for line in view.lines] == [{}]
    assert SeriesView.of("5m", "type", steps(), [], top=10).lines == []
