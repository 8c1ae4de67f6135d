"""Deletion on PostgreSQL while others write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy import Connection

from taskq.audit import Command
from taskq.backends import Deletion, Mark
from taskq.backends.sql import PostgresBackend, pruning, pruning_statements
from taskq.bridge import ResidentBridge
from taskq.model import Activity, Status
from taskq.testing.conformance.samples import call, keyed
from tests.postgres.conftest import Sql

RULES = {Status.CANCELLED: 0.0}
ADA = Command(actor="ada")
Holding = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def holding(bridge: ResidentBridge, postgres_url: str) -> Holding:
    """Another program, in a transaction that has run one statement."""

    async def begin(statement: str) -> asyncpg.Connection:
        connection = await asyncpg.connect(postgres_url)
        await connection.execute("BEGIN")
        await connection.execute(statement)
        return connection

    async def end(connection: asyncpg.Connection) -> None:
        await connection.close()

    @contextmanager
    def holding(statement: str) -> Iterator[None]:
        connection = bridge.call_sync(begin, statement)
        try:
            yield
        finally:
            bridge.call_sync(end, connection)

    return holding


def ended(bridge: ResidentBridge, backend: PostgresBackend, *made: Activity[object]) -> None:
    bridge.call_sync(backend.submit, made)
    bridge.call_sync(backend.cancel, [each.id for each in made])


def pruned(bridge: ResidentBridge, backend: PostgresBackend) -> int:
    """Trees that go in one batch of a pass, which is all that there is."""

    async def prune() -> int:
        return (await backend.prune(RULES)).trees

    return bridge.call_sync(prune)


@pytest.mark.parametrize("table", ["taskq_activities", "taskq_keys"])
def test_a_prune_waits_for_nobody_and_takes_the_rest(
    backend: PostgresBackend, bridge: ResidentBridge, holding: Holding, table: str
) -> None:
    held = keyed("held", queue="held")
    ended(bridge, backend, held, call(), call(queue="held"))

    with holding(f"SELECT 1 FROM {table} WHERE queue = 'held' ORDER BY 1 LIMIT 1 FOR UPDATE"):
        first = pruned(bridge, backend)
        assert first == 1  # of the queue "default"

        async def rest() -> int:
            return (await backend.prune(RULES, after=Mark("default", Status.FAILED, _LAST))).trees

        assert bridge.call_sync(rest) == 1

    assert pruned(bridge, backend) == 1
    assert bridge.call_sync(backend.outcomes, [held.id]) == {held.id: None}


_LAST = UUID(int=(1 << 128) - 1)


def test_one_program_prunes_at_a_time(
    backend: PostgresBackend, bridge: ResidentBridge, holding: Holding
) -> None:
    ended(bridge, backend, call())
    lock = f"SELECT pg_advisory_xact_lock({pruning_statements.PRUNING}, {-(1 << 31)})"
    after = Mark("", Status.CANCELLED, _LAST)

    async def prune() -> Any:
        return await backend.prune(RULES, after=after)

    with holding(lock):
        busy = bridge.call_sync(prune)
        assert (busy.busy, busy.trees, busy.next) == (True, 0, after)

    assert bridge.call_sync(prune).trees == 1


def test_a_child_that_comes_while_its_tree_is_deleted_keeps_it(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after the walk, and before what that found is kept still."""
    root = call()
    ended(bridge, backend, root)
    late = call(parent_id=root.id, root_id=root.id)
    columns = "id, type, payload, parent_id, root_id"
    walk, walks = pruning._walked, list[int]()

    def walked(connection: Connection, tops: Sequence[UUID]) -> Any:
        found = walk(connection, tops)
        if not walks:
            values = f"'{late.id}', 'work', '{{}}', '{root.id}', '{root.id}'"
            sql(f"INSERT INTO taskq_activities ({columns}) VALUES ({values})")
        walks.append(len(found))
        return found

    monkeypatch.setattr(pruning, "_walked", walked)

    async def delete() -> Any:
        return await backend.delete([root.id], command=ADA)

    assert bridge.call_sync(delete) == {root.id: Deletion(Status.CANCELLED, alive=1)}
    assert len(walks) == 2
    assert set(bridge.call_sync(backend.get, [root.id, late.id])) == {root.id, late.id}


def test_a_tree_that_is_sent_round_again_between_is_no_longer_pruned(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """promise:G5: what was found is looked at again when it is kept still."""
    ended(bridge, backend, made := call())
    prune = pruning.prune

    def late(connection: Connection, *others: Any) -> Any:
        sql("UPDATE taskq_activities SET status = 'pending', finished_at = NULL")
        return prune(connection, *others)

    monkeypatch.setattr(pruning, "prune", late)

    assert pruned(bridge, backend) == 0
    assert bridge.call_sync(backend.get, [made.id])[made.id].status is Status.PENDING


@pytest.mark.parametrize("by", ["delete", "prune"])
def test_nothing_is_left_of_what_was_deleted(
    backend: PostgresBackend, bridge: ResidentBridge, sql: Sql, by: str
) -> None:
    """D23: keys, and events: of a link, which needs no run, and of a retry."""
    parent, made = call(), keyed()
    ended(bridge, backend, parent, made)
    bridge.call_sync(backend.submit, [keyed(parent_id=parent.id, root_id=parent.id)])

    async def go() -> None:
        await backend.retry([made.id], command=ADA)
        await backend.cancel([made.id])
        if by == "prune":
            assert (await backend.prune(RULES)).trees == 2
        else:
            await backend.delete([made.id, parent.id], command=ADA)

    [[before]] = sql("SELECT count(*) FROM taskq_events")
    bridge.call_sync(go)

    assert before == 1
    for table in ("taskq_activities", "taskq_events", "taskq_keys"):
        assert sql(f"SELECT * FROM {table}") == [], table


def test_an_edited_retry_keeps_keys_still_in_the_order_of_calls(
    backend: PostgresBackend, bridge: ResidentBridge, postgres_url: str
) -> None:
    """What calls with these keys have taken and still want is not held against them."""
    made = [keyed(str(number)) for number in range(20)]
    ended(bridge, backend, *made)
    hashes = sorted(each.idempotency.hash for each in made if each.idempotency is not None)
    edits = {each.id: '{"n":2}' for each in made}
    lock = "SELECT 1 FROM taskq_keys WHERE hash = ANY($1) ORDER BY hash FOR UPDATE"
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()"

    async def race() -> Mapping[UUID, Status]:
        connection = await asyncpg.connect(postgres_url)
        try:
            async with connection.transaction():
                await connection.execute(lock, hashes[:1])
                retry = asyncio.create_task(backend.retry([*edits], command=ADA, arguments=edits))
                async with asyncio.timeout(10):
                    while not await connection.fetchval(waiting):
                        await asyncio.sleep(0.005)
                await connection.execute(f"{lock} NOWAIT", hashes)
        finally:
            await connection.close()
        return await retry

    assert bridge.call_sync(race) == dict.fromkeys(edits, Status.CANCELLED)
