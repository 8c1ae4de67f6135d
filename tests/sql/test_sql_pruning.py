"""Deletion by retention: how much is looked at, and what comes between a look and the delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection

from taskq.backends import Pruned
from taskq.backends.sql import SQLiteBackend, pruning
from taskq.bridge import ResidentBridge
from taskq.model import Activity, Status
from taskq.testing.conformance.samples import call

RULES = {Status.CANCELLED: 0.0}


def ended(bridge: ResidentBridge, backend: SQLiteBackend, *made: Activity[object]) -> None:
    bridge.call_sync(backend.submit, made)
    bridge.call_sync(backend.cancel, [each.id for each in made])


def below(top: Activity[object]) -> Activity[object]:
    return call(parent_id=top.id, root_id=top.id)


def whole_pass(bridge: ResidentBridge, backend: SQLiteBackend) -> list[Pruned]:
    async def run() -> list[Pruned]:
        found = [await backend.prune(RULES)]
        while found[-1].next is not None:
            found.append(await backend.prune(RULES, after=found[-1].next))
        return found

    return bridge.call_sync(run)


@pytest.mark.parametrize(("size", "each"), [(8, 1), (1, 10), (40, 1)])
def test_large_trees_are_not_walked_again_and_again(
    backend: SQLiteBackend,
    bridge: ResidentBridge,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    each: int,
) -> None:
    """seed:N13: a batch stops walking where it has enough to delete."""
    monkeypatch.setattr(pruning, "MOST", 10)
    tops = [call() for _ in range(30)]
    ended(bridge, backend, *tops, *(below(top) for top in tops for _ in range(size - 1)))
    walk, rows = pruning._walked, list[int]()

    def walked(connection: Connection, tops: Sequence[UUID]) -> Any:
        found = walk(connection, tops)
        rows.append(sum(map(len, found.values())))
        return found

    monkeypatch.setattr(pruning, "_walked", walked)

    found = whole_pass(bridge, backend)

    assert sum(batch.trees for batch in found) == 30
    assert max(batch.trees for batch in found) == each
    assert sum(rows) <= 3 * 30 * size


def test_trees_that_stay_do_not_make_a_batch_long(
    backend: SQLiteBackend, bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something below them has not ended yet."""
    monkeypatch.setattr(pruning, "MOST", 10)
    tops = [call() for _ in range(5)]
    ended(bridge, backend, *tops, *(below(top) for top in tops for _ in range(5)))
    bridge.call_sync(backend.submit, [below(top) for top in tops[:4]])

    found = whole_pass(bridge, backend)

    assert [batch.trees for batch in found[:5]] == [0, 0, 0, 0, 1]


def test_a_tree_that_grows_before_it_is_deleted_stays_whole(
    backend: SQLiteBackend, bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """promise:G5: what outlived its lease may store a child of what has ended."""
    ended(bridge, backend, top := call())
    late = below(top)
    prune = pruning.prune

    def racing(connection: Connection, *others: Any) -> Any:
        values = (late.id.bytes, top.id.bytes, top.id.bytes)
        columns = "id, type, payload, parent_id, root_id"
        connection.exec_driver_sql(
            f"INSERT INTO taskq_activities ({columns}) VALUES (?, 'work', '{{}}', ?, ?)", values
        )
        return prune(connection, *others)

    monkeypatch.setattr(pruning, "prune", racing)

    assert [batch.trees for batch in whole_pass(bridge, backend)] == [0, 0]
    assert set(bridge.call_sync(backend.get, [top.id, late.id])) == {top.id, late.id}
