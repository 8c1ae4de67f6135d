"""How a real server carries out what a verb does: each step, the rows that it read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import asyncpg

from taskq.backends.sql.postgres.connections import Connections, Session
from taskq.backends.sql.postgres.prepared import prepared

Verb = Callable[[Connections], Awaitable[object]]


class Node:
    """A step of a plan that was carried out. ``buffers`` are pages, those of its steps included."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.kind: str = plan["Node Type"]
        self.table: str | None = plan.get("Relation Name")
        self.index: str | None = plan.get("Index Name")
        kept = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
        self.read = round(
            plan["Actual Loops"] * (kept + plan.get("Rows Removed by Index Recheck", 0))
        )
        self.buffers: int = plan.get("Shared Hit Blocks", 0) + plan.get("Shared Read Blocks", 0)
        self.steps = [Node(each) for each in plan.get("Plans", [])]

    def all(self) -> Iterator[Node]:
        """It and all that it is made of."""
        yield self
        for step in self.steps:
            yield from step.all()


class Explained(Session):
    """Notes the plan of each statement, and rolls back what that did."""

    def __init__(self, raw: Any, nodes: list[Node]) -> None:
        super().__init__(raw, None)
        self._nodes = nodes

    async def fetch(self, statement: Any, values: Any, **options: Any) -> Any:
        """Explain it, then run it."""
        ready = prepared(statement, None)
        transaction = self.raw.transaction()
        await transaction.start()
        try:
            query = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {ready.sql}"
            [[plan]] = await self.raw.fetch(query, *ready.values(values))
        finally:
            await transaction.rollback()
        self._nodes += Node(json.loads(plan)[0]["Plan"]).all()
        return await super().fetch(statement, values, **options)


async def nodes_of(url: str, verb: Verb) -> list[Node]:
    """The steps on taskq's tables of what a verb does; nothing stays done."""
    nodes: list[Node] = []
    raw = await asyncpg.connect(url)

    class Spy:
        async def fetch(self, statement: Any, values: Any, **_: Any) -> Any:
            return await Explained(raw, nodes).fetch(statement, values)

        async def transact(self, function: Any) -> Any:
            return await function(Explained(raw, nodes))

    outer = raw.transaction()
    await outer.start()
    try:
        await verb(Spy())  # type: ignore[arg-type]
    finally:
        await outer.rollback()
        await raw.close()
    return [node for node in nodes if node.table is not None or node.index is not None]


def faults(nodes: Sequence[Node], *, indexes: set[str], rows: int) -> list[str]:
    """What is wrong with a plan: a table read whole, other indexes, more than ``rows`` read."""
    found = [
        f"{node.table} is read whole"
        for node in nodes
        if node.kind == "Seq Scan" and node.table == "taskq_activities"
    ]
    used = {node.index for node in nodes if node.index}
    if used != {f"taskq_{name}" for name in indexes}:
        found.append(f"it goes by {sorted(used)}")
    found += [
        f"{node.kind} on {node.table} by {node.index} reads {node.read} rows, more than {rows}"
        for node in nodes
        if node.read > rows
    ]
    return found
