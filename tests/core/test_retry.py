"""Retry delays (promise:G9)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskq.errors import ConfigurationError
from taskq.retry import RetryPolicy

policies = st.builds(
    RetryPolicy,
    initial_delay=st.floats(0, 1e9),
    multiplier=st.floats(1, 1e9),
    max_delay=st.floats(0, 1e9),
    jitter=st.floats(0, 1),
)


def delays(policy: RetryPolicy, count: int) -> list[float]:
    return [policy.delay(retry) for retry in range(1, count + 1)]


def test_the_default_doubles_from_one_second() -> None:
    """seed:Q5"""

    assert delays(RetryPolicy(), 5) == [1, 2, 4, 8, 16]


def test_runnerq_starts_at_two_seconds_and_stops_at_an_hour() -> None:
    """seed:R1, seed:R3"""
    assert delays(RetryPolicy.runnerq(), 3) == [2, 4, 8]
    assert RetryPolicy.runnerq().delay(40) == 3600


def test_kodus_starts_at_one_second_and_stops_at_thirty() -> None:
    """seed:R2"""
    assert delays(RetryPolicy.kodus(), 7) == [1, 2, 4, 8, 16, 30, 30]


@given(policies, st.integers(1, 10**9), st.floats(0, 1))
def test_every_delay_is_finite_and_within_the_cap_and_its_jitter(
    policy: RetryPolicy, retry: int, chance: float
) -> None:
    """promise:G9, bug:B10"""
    delay = policy.delay(retry, chance=chance)
    assert math.isfinite(delay)
    assert 0 <= delay <= policy.max_delay * (1 + policy.jitter) * 1.000001


@given(policies, st.integers(1, 200))
def test_delays_never_shrink(policy: RetryPolicy, retry: int) -> None:
    """promise:G9"""
    assert policy.delay(retry) <= policy.delay(retry + 1) * 1.000001


@given(policies, st.integers(1, 60))
def test_the_middle_is_the_documented_formula(policy: RetryPolicy, retry: int) -> None:
    exact = Fraction(policy.initial_delay) * Fraction(policy.multiplier) ** (retry - 1)
    expected = float(min(Fraction(policy.max_delay), exact))
    assert policy.delay(retry) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "fields",
    [
        {"initial_delay": -1},
        {"max_delay": math.inf},
        {"initial_delay": math.nan},
        {"multiplier": 0.5},
        {"jitter": 1.5},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(fields))):
        RetryPolicy(**fields)
