"""What links cost on PostgreSQL, and that many at once are each written once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from sqlalchemy import Executable

from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres import statements
from taskq.backends.sql.postgres.connections import Session
from taskq.backends.sql.postgres.prepared import prepared
from taskq.bridge import ResidentBridge
from taskq.model import Activity
from taskq.testing.conformance.samples import call, keyed
from tests.postgres.conftest import MakeBackend, Sql

Seen = list[str]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The statements that are run, but for hints that are sent late."""
    seen: Seen = []
    fetch: Callable[..., Coroutine[Any, Any, Any]] = Session.fetch

    async def noting(self: Session, statement: Executable, *values: Any, **options: Any) -> Any:
        if statement is not statements.tell():
            seen.append(prepared(statement, None).sql)
        return await fetch(self, statement, *values, **options)

    monkeypatch.setattr(Session, "fetch", noting)
    return seen


def child(of: Activity[object]) -> Activity[object]:
    return keyed(parent_id=of.id, root_id=of.root_id)


def test_only_a_link_costs_a_statement(
    backend: PostgresBackend, bridge: ResidentBridge, seen: Seen
) -> None:
    """seed:I8: what is created, and what its own parent finds, cost what they did."""
    first, second = call(), call()

    def statements_of(activity: Activity[object]) -> Seen:
        seen.clear()
        bridge.call_sync(backend.submit, [activity])
        return list(seen)

    created, found, shared = map(statements_of, (child(first), child(first), child(second)))

    assert len(created) == 1
    assert not any("INTO taskq_events" in statement for statement in found)
    assert shared[:-1] == found
    assert "INTO taskq_events" in shared[-1]


def test_many_parents_at_once_are_each_linked_once(
    make_backend: MakeBackend, bridge: ResidentBridge, sql: Sql
) -> None:
    """seed:I8: from two stores, each parent twice."""
    stores = [make_backend(), make_backend()]
    parents = [call() for _ in range(20)]
    made = keyed()

    async def race() -> None:
        await stores[0].submit([made])
        calls = [store.submit([child(parent)]) for parent in parents for store in stores]
        await asyncio.gather(*calls)

    bridge.call_sync(race)

    linked = sql("SELECT detail::json ->> 'parent' FROM taskq_events WHERE kind = 'linked'")
    assert sorted(each for [each] in linked) == sorted(str(parent.id) for parent in parents)
