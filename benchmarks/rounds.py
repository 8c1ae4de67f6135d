"""Runs what is to be compared in turns, so that a busy machine is busy for all of it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def alternating(rounds: int, *measures: Callable[[], T]) -> list[tuple[T, ...]]:
    """Each measure once a round, every other round in reverse; for each its results, in order."""
    results: list[list[T]] = [[] for _ in measures]
    for number in range(rounds):
        order = list(enumerate(measures))
        for place, measure in order if number % 2 == 0 else reversed(order):
            gc.collect()
            results[place].append(measure())
    return [tuple(each) for each in results]
