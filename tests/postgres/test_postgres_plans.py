"""With 50 000 rows no hot statement reads more than it returns, each by the index made for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, event

from taskq.backends import ClaimRequest
from taskq.backends.instants import FIRST, LAST
from taskq.backends.sql import (
    PostgresBackend,
    bounding,
    causes,
    loads,
    pruning_statements,
    reader,
    schedule_rows,
    searching,
)
from taskq.backends.sql import statements as shared
from taskq.backends.sql.postgres import claiming as postgres_claiming
from taskq.backends.sql.postgres import statements
from taskq.backends.sql.postgres import writer as postgres_writer
from taskq.backends.sql.postgres.connections import Connections
from taskq.backends.sql.searching import LARGEST_WINDOW, Patience
from taskq.bridge import ResidentBridge
from taskq.clock import SystemClock
from taskq.filtering.reading import narrowed, parsed
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Succeeded, decide
from taskq.model import Attempt, Status
from taskq.search import Order
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import beat, error, worker
from tests.postgres.crowded import (
    BY_HAND,
    CHILDREN,
    COUNTS,
    LEAVES,
    QUEUES,
    ROOT,
    SCHEDULES,
    TYPES,
    WORKER,
    fill,
)
from tests.postgres_databases import Databases
from tests.postgres_plans import Node, Verb, faults, nodes_of

SLACK = 40
"""Rows that a statement may read beyond those that it asks for."""
ANALYZED = pytest.mark.parametrize("backend", ["analyzed"], indirect=True)


@pytest.fixture(scope="module")
def bridge() -> Iterator[ResidentBridge]:
    """The storage loop of all these tests."""
    bridge = ResidentBridge()
    yield bridge
    bridge.close()


@pytest.fixture(scope="module")
def filled(databases: Databases, bridge: ResidentBridge) -> str:
    """The database that ``crowded`` fills."""
    url = databases.fresh()
    databases.run(url, BY_HAND)
    bridge.call_sync(fill, url, deadline=None)
    databases.run(url, SCHEDULES, COUNTS)
    return url


@pytest.fixture(scope="module")
def analyzed(databases: Databases, filled: str) -> str:
    """A copy of it, of which the planner knows what ANALYZE finds out."""
    url = databases.create(filled.rpartition("/")[2])
    databases.run(url, "ANALYZE")
    return url


@pytest.fixture(scope="module")
def backends(
    filled: str, analyzed: str, bridge: ResidentBridge
) -> Iterator[dict[str, PostgresBackend]]:
    """On the database of which the planner knows nothing, and on the other one."""
    backends = {"fresh": PostgresBackend(filled), "analyzed": PostgresBackend(analyzed)}
    for backend in backends.values():
        bridge.call_sync(backend.open)
    yield backends
    for backend in backends.values():
        bridge.call_sync(backend.close)


@pytest.fixture(params=["fresh", "analyzed"])
def backend(
    backends: dict[str, PostgresBackend], request: pytest.FixtureRequest
) -> PostgresBackend:
    """On either of them. Most tests are ``analyzed`` only: without any statistics the planner takes
    a large table for a small one, which it may read whole, until the server's first ANALYZE."""
    return backends[request.param]


def steps(backend: PostgresBackend, bridge: ResidentBridge, verb: Verb) -> list[Node]:
    """The steps on taskq's tables of what a verb does there; nothing stays done."""
    return bridge.call_sync(nodes_of, backend._address.dsn, verb)


def check(nodes: Sequence[Node], *, indexes: set[str], rows: int) -> None:
    """Nothing is read whole, these indexes serve, and no step reads much beyond ``rows``."""
    assert faults(nodes, indexes=indexes, rows=rows + SLACK) == []


def claiming(
    types: tuple[str, ...] | None, queues: tuple[str, ...], **fields: Any
) -> Callable[[Connections], Any]:
    request = ClaimRequest(
        worker=new_id(), queues=queues, types=types, limit=100, lease=30, **fields
    )
    return lambda connections: postgres_claiming.claim(connections, request)


CLAIMS: dict[str, tuple[Callable[[Connections], Any], set[str], int]] = {
    "one queue": (
        claiming(None, QUEUES[:1]),
        {"activities_ready", "activities_pkey"},
        100,
    ),
    "five queues": (
        claiming(None, QUEUES),
        {"activities_ready", "activities_pkey"},
        200,
    ),
    "one type": (
        claiming(TYPES[:1], QUEUES[:1]),
        {"activities_ready_by_type", "activities_pkey"},
        200,
    ),
    "ten types": (
        claiming(TYPES[:50:5], QUEUES[:1]),
        {"activities_ready_by_type", "activities_pkey"},
        200,
    ),
    "all 200 types": (
        claiming(TYPES, QUEUES[:1]),
        {"activities_ready", "activities_pkey"},
        500,
    ),
    "one queue where waiting counts": (
        claiming(None, QUEUES[:1], aging=600.0),
        {"activities_ready", "activities_pkey"},
        300,
    ),
    "ten types where waiting counts": (
        claiming(TYPES[:50:5], QUEUES[:1], aging=600.0),
        {"activities_ready_by_type", "activities_pkey"},
        1300,
    ),
    "two hundred types where waiting counts": (
        claiming(TYPES, QUEUES[:1], aging=600.0),
        {"activities_ready_by_type", "activities_pkey"},
        5000,  # of the forty that wait there, 116 each
    ),
    "children in one queue": (
        claiming(None, QUEUES[:1], children=True),
        {"activities_ready_children", "activities_pkey"},
        100,
    ),
    "children in two queues": (
        claiming(None, QUEUES[1:3], children=True),
        {"activities_ready_children", "activities_pkey"},
        200,
    ),
    "children of all types in two queues": (
        claiming(TYPES, QUEUES[3:], children=True),
        {"activities_ready_children", "activities_pkey"},
        200,
    ),
}


@pytest.mark.parametrize("name", list(CLAIMS))
def test_a_claim_reads_what_it_takes(
    backend: PostgresBackend, bridge: ResidentBridge, name: str
) -> None:
    """seed:B9"""
    verb, indexes, rows = CLAIMS[name]

    check(steps(backend, bridge, verb), indexes=indexes, rows=rows)


def attempts(backend: PostgresBackend, bridge: ResidentBridge) -> list[Attempt]:
    """Some that are running; they are marked as expired without being so."""

    async def look() -> list[Attempt]:
        held = await backend.held(WORKER)
        infos = await backend.get([lease.id for lease in held])
        return [
            Attempt(
                id=lease.id,
                worker=WORKER,
                claim=lease.claim,
                type=infos[lease.id].type,
                queue=infos[lease.id].queue,
                payload="{}",
                root_id=lease.id,
                origin_id=lease.id,
                created_at=infos[lease.id].created_at,
                ready_at=infos[lease.id].ready_at,
            )
            for lease in held[:100]
        ]

    return bridge.call_sync(look)


@ANALYZED
@pytest.mark.parametrize("cutoff", [FIRST, LAST], ids=["nothing", "everything"])
def test_a_prune_looks_at_a_bounded_part_of_one_state(
    backend: PostgresBackend, bridge: ResidentBridge, cutoff: datetime
) -> None:
    """Of ten thousand. Parents are asked for by their ids, for those only that are old enough."""
    values = {"queue": QUEUES[0], "status": "pending", "after": UUID(int=0), "cutoff": cutoff}

    async def look(connections: Connections) -> None:
        due = pruning_statements.due_tops(postgres=True)
        await connections.fetch(due, {**values, "limit": 100})
        await connections.fetch(pruning_statements.end_of_look(postgres=True), values)

    nodes = steps(backend, bridge, look)

    check(nodes, indexes={"activities_listed", "activities_pkey"}, rows=1000)


def test_settling_finds_each_row_by_its_id(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    transitions = [
        decide(attempt, Succeeded("1") if place % 2 else Failed(error=error()))
        for place, attempt in enumerate(attempts(backend, bridge))
    ]

    def verb(connections: Connections) -> Any:
        return postgres_writer.settle(connections, transitions, ())

    check(
        steps(backend, bridge, verb),
        indexes={"activities_pkey"},
        rows=100,
    )


def test_renewing_finds_each_row_by_its_id(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    leases = [attempt.lease for attempt in attempts(backend, bridge)]
    message = beat(worker(WORKER), *leases)

    def verb(connections: Connections) -> Any:
        return postgres_writer.heartbeat(connections, message)

    check(
        steps(backend, bridge, verb),
        indexes={"activities_pkey"},
        rows=100,
    )


def test_promoting_nothing_reads_next_to_nothing(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    def verb(connections: Connections) -> Any:
        return postgres_writer.promote(connections, 1000)

    nodes = steps(backend, bridge, verb)

    indexes = {"activities_due", "activities_pkey"}
    check(nodes, indexes=indexes, rows=100)  # retries that were rolled back, until a vacuum


@ANALYZED
def test_claiming_what_is_late_reads_what_it_takes(
    backend: PostgresBackend, bridge: ResidentBridge, databases: Databases
) -> None:
    """Whatever waits with limits that are far, each kind is found by its own index."""
    url = backend._address.dsn

    def verb(connections: Connections) -> Any:
        return postgres_claiming.claim_overdue(connections, new_id(), 100, 30.0)

    indexes = {"activities_expiring", "activities_deadlines", "activities_pkey"}
    check(steps(backend, bridge, verb), indexes=indexes, rows=0)
    for name in ("expires_at", "deadline_at"):
        databases.run(
            url,
            f"UPDATE taskq_activities SET {name} = now() - interval '1 h' WHERE id IN (SELECT id"
            f" FROM taskq_activities WHERE status = 'pending' AND {name} IS NOT NULL LIMIT 60)",
        )

    check(steps(backend, bridge, verb), indexes=indexes, rows=100)

    for name in ("expires_at", "deadline_at"):
        databases.run(url, f"UPDATE taskq_activities SET {name} = NULL WHERE {name} < now()")


@ANALYZED
def test_children_are_found_by_their_parents(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    parents = [attempt.id for attempt in attempts(backend, bridge)]

    def verb(connections: Connections) -> Any:
        return connections.fetch(statements.orphans(), {"ids": parents})

    indexes = {"activities_children", "activities_pkey"}
    check(steps(backend, bridge, verb), indexes=indexes, rows=100)


@ANALYZED
def test_looking_for_lost_leases_reads_what_runs(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    def verb(connections: Connections) -> Any:
        return connections.fetch(statements.expired(), {"limit": 100})

    check(
        steps(backend, bridge, verb),
        indexes={"activities_held"},
        rows=1000,  # what it was before its claim too, until that is vacuumed away
    )


READS: dict[str, Callable[[Connection], object]] = {
    "the newest": lambda connection: reader.listed(connection, FIRST, Filter(), Page()),
    "by status": lambda connection: reader.listed(
        connection, FIRST, Filter(statuses=(Status.COMPLETED,)), Page()
    ),
    "by queue": lambda connection: reader.listed(connection, FIRST, Filter(queues=("q1",)), Page()),
    "by status and terms": lambda connection: reader.listed(
        connection,
        FIRST,
        narrowed(Filter(), parsed("status:completed -user:* -error:x -args.a:1 -corr:c7")),
        Page(),
    ),
    "a tree, by its root": lambda connection: reader.tree(connection, ROOT.id, 1000),
    "a tree, by a leaf": lambda connection: reader.tree(connection, LEAVES[7].id, 1000),
    "the head of a tree": lambda connection: reader.tree(connection, ROOT.id, 10),
    "what is below": lambda connection: connection.execute(
        shared.descendants(), {"tops": [ROOT.id, CHILDREN[3].id]}
    ).all(),
    "what is below many": lambda connection: connection.execute(
        shared.descendants(), {"tops": [each.id for each in CHILDREN]}
    ).all(),
    "by cause": lambda connection: causes.dead_letters(connection, FIRST, Filter(), 10, 100),
    "room in a queue": lambda connection: connection.execute(
        bounding.count(), {"queue": "q1", "cap": 500}
    ).all(),
    "how a type fares": lambda connection: connection.execute(
        loads.waiting_of_type(), {"queue": "q0", "type": "t0", "cap": 100}
    ).all(),
    "by correlation": lambda connection: reader.listed(
        connection, FIRST, Filter(correlation_id="c7"), Page()
    ),
    "schedules that are due": lambda connection: schedule_rows.waiting(
        connection, datetime(2030, 1, 1, 0, 1, tzinfo=UTC), limit=1000
    ),
    "a schedule": lambda connection: schedule_rows.named(connection, ["s7"]),
}


@ANALYZED
@pytest.mark.parametrize("name", list(READS))
def test_a_list_stops_at_its_page(
    backend: PostgresBackend, bridge: ResidentBridge, name: str
) -> None:
    assert max(rows_read(backend, bridge, READS[name])) <= 600


SEARCHES: dict[str, tuple[str, Order]] = {
    "a type that there is": ("type:t7", Order.NEWEST),
    "a type that there is not": ("type:none", Order.NEWEST),
    "a state and a tag": ("status:pending tag.a:b", Order.NEWEST),
    "queues and a priority": ("queue:q0,q1 status:pending priority:low", Order.OLDEST),
    "an argument": ("args.a:1", Order.NEWEST),
    "text": ("nowhere", Order.OLDEST),
    "an error": ("error:x", Order.NEWEST),
    "what a user has not": ("-user:* -corr:c7", Order.NEWEST),
    "a correlation and a type": ("corr:c7 type:none", Order.NEWEST),
    "a tree and a type": (f"root:{ROOT.id} type:none", Order.OLDEST),
    "ids": (f"id:{ROOT.id.hex[:12]} type:none", Order.NEWEST),
    "what is due, of a type": ("status:scheduled type:none", Order.DUE),
    "what is due": ("status:scheduled,retrying", Order.DUE),
    "what runs": ("status:processing type:none", Order.STARTED),
}


@ANALYZED
@pytest.mark.parametrize("name", list(SEARCHES))
def test_whatever_is_searched_for_a_statement_reads_no_more_than_its_window(
    backend: PostgresBackend, bridge: ResidentBridge, name: str
) -> None:
    """threat:T7: of fifty thousand, to their end."""
    text, order = SEARCHES[name]
    filter = narrowed(Filter(), parsed(text))

    def search(connection: Connection) -> object:
        patience = Patience(60.0, SystemClock().monotonic)
        return searching.search(
            connection, FIRST, filter, order=order, limit=50, after=None, patience=patience
        )

    assert max(rows_read(backend, bridge, search)) <= LARGEST_WINDOW


@ANALYZED
@pytest.mark.parametrize("text", ["", "status:pending", "queue:q1 type:t1", "nowhere"])
def test_a_count_reads_no_more_than_its_cap_or_its_window(
    backend: PostgresBackend, bridge: ResidentBridge, text: str
) -> None:
    def count(connection: Connection) -> object:
        patience = Patience(60.0, SystemClock().monotonic)
        filter = narrowed(Filter(), parsed(text))
        return searching.count(connection, FIRST, filter, cap=1000, patience=patience)

    assert max(rows_read(backend, bridge, count)) <= LARGEST_WINDOW


def test_a_series_reads_the_buckets_that_it_answers(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    begin = datetime(2030, 1, 1, tzinfo=UTC)

    def series(connection: Connection) -> object:
        return reader.series(connection, begin, begin + timedelta(hours=6), 600)

    assert max(rows_read(backend, bridge, series)) <= 36 * 5 + SLACK


def rows_read(
    backend: PostgresBackend, bridge: ResidentBridge, read: Callable[[Connection], object]
) -> list[int]:
    """How many rows each step of a reader's statements read; none of them reads a table whole."""
    seen: list[tuple[str, Any]] = []

    def run(connection: Connection, _: object) -> list[int]:
        def note(*arguments: Any) -> None:
            seen.append((arguments[2], arguments[3]))

        event.listen(connection, "before_cursor_execute", note)
        read(connection)
        event.remove(connection, "before_cursor_execute", note)
        counts: list[int] = []
        for sql, values in seen:
            [[plan]] = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values)
            found = plan if isinstance(plan, list) else json.loads(plan)
            nodes = list(Node(found[0]["Plan"]).all())
            whole = [node.table for node in nodes if node.kind == "Seq Scan"]
            assert not {"taskq_activities", "taskq_rollup"}.intersection(whole), sql
            counts += [node.read for node in nodes]
        return counts

    return bridge.call_sync(backend._facade.read, run, deadline=None)
