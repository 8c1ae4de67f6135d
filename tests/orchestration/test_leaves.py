"""Slots that are reserved for what waits for nobody (seed:S9, S11; D17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from taskq import ConfigurationError, TaskQ
from tests.engine.world import until


def two_types(app: TaskQ) -> dict[str, list[anyio.Event]]:
    """Types ``leaf`` and ``root``, whose handlers run until told; those that run, by type."""
    running: dict[str, list[anyio.Event]] = {"leaf": [], "root": []}

    async def hold(kind: str) -> None:
        told = anyio.Event()
        running[kind].append(told)
        await told.wait()
        running[kind].remove(told)

    @app.activity
    async def leaf() -> None:
        await hold("leaf")

    @app.activity
    async def root() -> None:
        await hold("root")

    return running


async def test_reserved_slots_go_to_leaves_while_some_wait(app: TaskQ) -> None:
    """seed:S9"""
    running = two_types(app)
    await app.aenqueue([app.tasks["root"].build() for _ in range(10)])
    await app.aenqueue([app.tasks["leaf"].build() for _ in range(2)])

    async with app.worker(concurrency=5, reserve_slots_for_leaves=2, leaf_types=["leaf"]) as worker:
        await until(lambda: worker.health().slots_used == 5)
        assert (len(running["root"]), len(running["leaf"])) == (3, 2)
        worker.stop(0)


async def test_reserved_slots_are_lent_while_no_leaf_waits(app: TaskQ) -> None:
    """D17"""
    running = two_types(app)
    await app.aenqueue([app.tasks["root"].build() for _ in range(10)])

    async with app.worker(concurrency=5, reserve_slots_for_leaves=2, leaf_types=["leaf"]) as worker:
        await until(lambda: len(running["root"]) == 5)
        # One that was lent comes back; a leaf has come meanwhile, behind many roots.
        await app.tasks["leaf"].adelay()
        running["root"][0].set()
        await until(lambda: len(running["leaf"]) == 1)
        assert len(running["root"]) == 4
        worker.stop(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reserve_slots_for_leaves": -1}, "0 or more, not -1"),
        (
            {"concurrency": 2, "reserve_slots_for_leaves": 2, "leaf_types": ["leaf"]},
            r"reserve_slots_for_leaves \(2\) must be less than concurrency \(2\)",
        ),
        ({"reserve_slots_for_leaves": 1}, "needs leaf_types"),
        (
            {"reserve_slots_for_leaves": 1, "leaf_types": ["leef"]},
            "leaf_types without a handler here: leef",
        ),
        (
            {"reserve_slots_for_leaves": 1, "leaf_types": ["leaf"], "types": ["root"]},
            "leaf_types that are not among types: leaf",
        ),
        ({"max_suspended": 0}, "max_suspended"),
    ],
    ids=["negative", "all", "untyped", "unknown", "unserved", "no suspension"],
)
def test_a_reserve_that_cannot_be_is_refused_at_start(
    app: TaskQ, options: Mapping[str, Any], message: str
) -> None:
    """seed:S11"""
    two_types(app)

    with pytest.raises(ConfigurationError, match=message):
        app.worker(**options)
