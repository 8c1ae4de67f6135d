"""What deleting old rows costs those who work, and how fast it is where nobody does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import anyio

from benchmarks import filling
from benchmarks.app import App
from benchmarks.ground import Ground
from benchmarks.rounds import alternating
from benchmarks.row import AtLeast, Row

RULES = {"completed": 3600.0}
"""Lets all go that ``filling.finished`` made, and nothing that is drained."""
SOON = 0.001
"""Seconds between two passes: it prunes all the time."""


def rows(ground: Ground) -> Iterator[Row]:
    """A drain beside the same without pruning, then what is left pruned by itself."""
    scale, url = ground.scale, ground.fresh()
    ground.run(url, *filling.finished(scale.big), *filling.settled())
    pruned: list[int] = []
    pruning, plain = alternating(
        scale.rounds,
        partial(_drained_and_pruned, ground, url, pruned),
        partial(_drained, ground, url),
    )
    yield Row(
        scenario="prune",
        what=f"drain of {scale.drain} while {scale.big} finished rows are pruned",
        unit="/s",
        values=pruning,
        floors=plain,
        floor_is="the same without pruning, beside the same rows",
        target=AtLeast(0.8),
    )
    yield Row(
        scenario="prune",
        what="trees pruned in such a drain",
        unit="",
        values=tuple(map(float, pruned)),
    )
    app = App(url)
    began = time.perf_counter()
    total = app.taskq.retention.prune(RULES)
    seconds = time.perf_counter() - began
    app.taskq.close()
    yield Row(
        scenario="prune",
        what=f"prune of {total.trees} finished rows, alone",
        unit="/s",
        values=(total.trees / seconds,),
    )


def _drained_and_pruned(ground: Ground, url: str, pruned: list[int]) -> float:
    """Drained a second; how many were deleted meanwhile goes into ``pruned``."""
    ground.refill(url, ground.scale.drain)
    before = _finished(ground, url)
    app = App(url, retention=RULES, prune_interval=SOON)
    rate = ground.scale.drain / anyio.run(app.drain)
    pruned.append(before - _finished(ground, url))
    return rate


def _drained(ground: Ground, url: str) -> float:
    ground.refill(url, ground.scale.drain)
    return ground.scale.drain / anyio.run(App(url).drain)


def _finished(ground: Ground, url: str) -> int:
    [[count]] = ground.run(url, "SELECT count(*) FROM taskq_activities WHERE type = 'done'")
    return int(count)
