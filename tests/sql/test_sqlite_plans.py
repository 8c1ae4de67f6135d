"""With 20 000 rows, every statement finds its rows by the index that was made for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Connection

from taskq.backends import ClaimRequest
from taskq.backends.sql import (
    bounding,
    causes,
    pruning_statements,
    queries,
    reader,
    schedule_rows,
    statements,
    writer,
)
from taskq.backends.sql.sqlite.connect import make_engine, transaction
from taskq.backends.sql.sqlite.schema import set_up
from taskq.filtering.reading import narrowed, parsed
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, decide
from taskq.model import Status
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import beat, call, worker
from tests.sqlite_plans import Undo, plans, searches

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ROWS = 20_000
QUEUES = tuple(f"q{number}" for number in range(5))
TYPES = tuple(f"t{number}" for number in range(200))
WORKER = new_id()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 000 rows: most pending, in five queues and 200 types; some due later, some running. Every
    other one has a parent."""
    path = tmp_path_factory.mktemp("filled") / "taskq.db"
    with make_engine(str(path), lock_timeout=3.0).connect() as connection:
        set_up(connection, str(path))
        with transaction(connection):
            for start in range(0, ROWS, 5000):
                rows = [
                    call(
                        TYPES[number % 200],
                        queue=QUEUES[number % 5],
                        delay=3600.0 if number % 10 == 0 else None,
                        correlation_id=f"c{number % 1000}",
                        parent_id=new_id() if number % 2 else None,
                        depth=number // 5 % 10,
                    )
                    for number in range(start, start + 5000)
                ]
                writer.submit(connection, NOW, rows)
        for limit in (500, 100):
            request = ClaimRequest(
                worker=WORKER, queues=QUEUES, types=None, limit=limit, lease=30.0
            )
            with transaction(connection):
                attempts, _ = writer.claim(connection, NOW, request)
                if limit == 500:
                    done = [decide(attempt, Succeeded("1")) for attempt in attempts]
                    writer.settle(connection, NOW, done)
    return path


@pytest.fixture(scope="module")
def analyzed(filled: Path) -> Path:
    """A copy of it after ANALYZE, whose statistics may mislead the planner."""
    path = filled.with_name("analyzed.db")
    with closing(sqlite3.connect(filled)) as source, closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
        copy.execute("ANALYZE")
    return path


@pytest.fixture(params=["filled", "analyzed"], ids=["fresh", "analyzed"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """To either of them."""
    path = str(request.getfixturevalue(request.param))
    with make_engine(path, lock_timeout=3.0).connect() as connection:
        yield connection


BY_ID = "SEARCH taskq_activities USING INDEX sqlite_autoindex_1 (id=?)"
BY_QUEUE = "SEARCH taskq_activities USING INDEX ready (queue=? AND isolate=?)"
BY_TYPE = "SEARCH taskq_activities USING INDEX ready_by_type (queue=? AND type=? AND isolate=?)"
BY_DEPTH = "SEARCH taskq_activities USING INDEX ready_children (queue=?)"


WAITING_TYPES = {
    "SEARCH taskq_activities USING INDEX ready_by_type (queue=?)",
    "SEARCH taskq_activities USING INDEX ready_by_type (queue=? AND type>?)",
    "SCAN steps",
}


@pytest.mark.parametrize(
    ("queues", "types", "index"),
    [
        (1, None, BY_QUEUE),
        (5, None, BY_QUEUE),
        (1, 1, BY_TYPE),
        (1, 8, BY_TYPE),
        (5, 8, BY_TYPE),
        (1, 200, BY_QUEUE),
        (5, 200, BY_QUEUE),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_a_claim_walks_a_claim_index_and_sorts_nothing(
    connection: Connection, queues: int, types: int | None, index: str, alone: bool
) -> None:
    """design 7.4, fault:L1, seed:B9"""
    request = ClaimRequest(
        worker=new_id(),
        queues=QUEUES[:queues],
        types=None if types is None else TYPES[:types],
        limit=100,
        lease=30.0,
        alone=alone,
    )

    *asked, peek = plans(connection, lambda: writer.any_ready(connection, request))
    *_, claim = plans(connection, lambda: writer.claim(connection, NOW, request))

    assert searches(peek) == {index}
    assert searches(claim) == {index, BY_ID}
    assert all(searches(plan) <= WAITING_TYPES for plan in asked)


@pytest.mark.parametrize("types", [None, 1, 200])
def test_a_claim_where_waiting_counts_takes_the_first_of_each_priority(
    connection: Connection, types: int | None
) -> None:
    """D6"""
    request = ClaimRequest(
        worker=new_id(),
        queues=QUEUES[:2],
        types=None if types is None else TYPES[:types],
        limit=100,
        lease=30.0,
        aging=600.0,
    )

    *_, claim = plans(connection, lambda: writer.claim(connection, NOW, request))

    index = BY_QUEUE if types is None else BY_TYPE
    first = index.replace("isolate=?", "isolate=? AND priority=?").replace(
        "taskq_activities", "waiting"
    )
    given = {
        "SCAN places VIRTUAL TABLE INDEX 1:",
        "SCAN levels VIRTUAL TABLE INDEX 1:",
        "SCAN best",
    }
    merging = "USE TEMP B-TREE FOR ORDER BY"  # of these, and of the first hundred of each
    named = {BY_ID.replace("taskq_activities", each) for each in ("head", "each")}
    assert searches(claim) == given | named | {first, merging, BY_ID}


def test_room_is_counted_in_an_index_and_made_from_it(connection: Connection) -> None:
    """seed:E25"""
    counted = {
        "SEARCH taskq_activities USING INDEX listed (queue=? AND status=?)",
        "SEARCH taskq_activities USING INDEX ready (queue=?)",
        "SEARCH taskq_activities USING INDEX due_by_type (queue=?)",
    }
    for query, values in (
        (bounding.count(), {"queue": "q1", "cap": 100}),
        (bounding.oldest_roots(), {"queue": "q1", "limit": 10}),
    ):
        [found] = plans(connection, lambda q=query, v=values: connection.execute(q, v).all())
        assert searches(found) - {"USE TEMP B-TREE FOR ORDER BY"} <= counted


@pytest.mark.parametrize("queues", [1, 2, 64])
@pytest.mark.parametrize("types", [None, TYPES], ids=["any type", "200 types"])
def test_a_claim_of_children_merges_the_deepest_of_all_queues(
    connection: Connection, queues: int, types: tuple[str, ...] | None
) -> None:
    """design 7.10. The types are read once into a list, and nothing else is sorted."""
    names = tuple(f"q{number}" for number in range(queues))
    request = ClaimRequest(
        worker=new_id(), queues=names, types=types, limit=9, lease=30.0, children=True
    )

    [claim] = plans(connection, lambda: writer.claim(connection, NOW, request))

    asked = {line for line in searches(claim) if "VIRTUAL TABLE" not in line}
    assert asked == {BY_ID, BY_DEPTH}


@pytest.mark.parametrize(
    ("queues", "types", "children"),
    [
        (QUEUES[:1], None, False),
        (QUEUES, None, False),
        (QUEUES[:1], TYPES[:8], False),
        (QUEUES, TYPES[:8], False),
        (QUEUES[:1], TYPES[:64], False),
        (QUEUES, TYPES, False),
        (QUEUES[:1], ("t5", *(f"mine{number}" for number in range(99))), False),
        (QUEUES, tuple(f"mine{number}" for number in range(100)), False),
        ((*QUEUES, *(f"empty{number}" for number in range(300))), None, False),
        (QUEUES, None, True),
        (QUEUES, TYPES, True),
        ((*QUEUES, *(f"empty{number}" for number in range(300))), None, True),
    ],
    ids=[
        "queue",
        "queues",
        "8",
        "8 in 5",
        "64",
        "all",
        "1 of 100",
        "0 of 100",
        "305 queues",
        "children",
        "children of all",
        "children in 305",
    ],
)
def test_a_claim_reads_few_rows_whatever_waits_beside(
    connection: Connection,
    queues: tuple[str, ...],
    types: tuple[str, ...] | None,
    children: bool,
) -> None:
    """design 7.4, fault:L1, fault:L5: counted by SQLite itself, in steps of its machine. 3 600 rows
    wait in each queue, and to step over each of them would take 40 000 and more."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    request = ClaimRequest(
        worker=new_id(), queues=queues, types=types, limit=10, lease=30.0, children=children
    )
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    driver.set_progress_handler(tick, 100)
    try:
        with suppress(Undo), transaction(connection):
            attempts, _ = writer.claim(connection, NOW, request)
            raise Undo
    finally:
        driver.set_progress_handler(None, 0)

    wanted = types is None or not set(types).isdisjoint(TYPES)
    assert len(attempts) == (10 if wanted else 0)
    assert ticks * 100 < 20_000


def test_what_is_late_and_what_is_left_of_children_is_found_by_its_own_index(
    connection: Connection,
) -> None:
    """Whatever waits beside, with or without limits."""
    [peek] = plans(connection, lambda: writer.any_overdue(connection, NOW))
    [claim] = plans(connection, lambda: writer.claim_overdue(connection, NOW, new_id(), 100, 30.0))
    [orphans] = plans(connection, lambda: writer.orphans(connection, [new_id(), new_id()]))

    limits = {
        "SEARCH taskq_activities USING INDEX expiring (expires_at<?)",
        "SEARCH taskq_activities USING INDEX deadlines (deadline_at<?)",
    }
    assert searches(peek) == limits
    assert searches(claim) == {*limits, BY_ID}
    assert searches(orphans) == {
        BY_ID.replace("taskq_activities", "parent"),
        "SEARCH taskq_activities USING INDEX children (parent_id=?)",
    }


def test_settling_and_renewing_find_rows_by_id(connection: Connection) -> None:
    held = connection.execute(statements.held(), {"worker": WORKER}).all()
    connection.rollback()
    leases = writer.held(connection, WORKER)
    connection.rollback()
    assert len(held) == len(leases) == 100
    attempts = reader.expired(connection, datetime(2031, 1, 1, tzinfo=UTC), 10)
    connection.rollback()
    done = [decide(attempt, Succeeded("1")) for attempt in attempts]

    settle = plans(connection, lambda: writer.settle(connection, NOW, done))
    renewal = beat(worker(WORKER), *(attempt.lease for attempt in attempts))
    held_plan, renew, *_ = plans(connection, lambda: writer.heartbeat(connection, NOW, renewal))

    assert [searches(plan) for plan in settle] == [{BY_ID}, {BY_ID}]
    assert searches(held_plan) == {"SEARCH taskq_activities USING INDEX held (worker=?)"}
    assert searches(renew) == {BY_ID}


def test_the_reaper_reads_what_is_running_only(connection: Connection) -> None:
    [plan] = plans(connection, lambda: reader.expired(connection, NOW, 100))

    assert searches(plan) == {
        "SCAN taskq_activities USING INDEX held",
        "USE TEMP B-TREE FOR ORDER BY",
    }


def test_promoting_reads_what_is_due_only(connection: Connection) -> None:
    """fault:L2"""
    promote, following = plans(connection, lambda: writer.promote(connection, NOW, 100))

    assert searches(promote) == {
        BY_ID,
        "SEARCH taskq_activities USING INDEX due (ready_at<?)",
    }
    assert searches(following) == {"SCAN taskq_activities USING INDEX due"}


def test_looking_for_schedules_reads_what_is_due_and_the_next(connection: Connection) -> None:
    [due] = plans(connection, lambda: schedule_rows.waiting(connection, NOW, limit=1000))
    [one] = plans(connection, lambda: schedule_rows.named(connection, ["a"]))

    index = "SEARCH taskq_schedules USING INDEX taskq_schedules_waiting"
    assert {line for line in searches(due) if "taskq_" in line} == {
        f"{index} ((next_at,name)>(?,?) AND next_at<?)",
        f"{index} (next_at>? AND next_at<?)",
        f"{index} (next_at>?)",
        BY_ID,
    }
    assert searches(one) == {
        "SEARCH taskq_schedules USING INDEX sqlite_autoindex_taskq_schedules_1 (name=?)"
    }


def test_counts_and_waiting_types_come_from_indexes(connection: Connection) -> None:
    by_status, *_ = plans(connection, lambda: reader.stats(connection, NOW, ["q1"], 1000))

    assert searches(by_status) == {
        "SEARCH taskq_activities USING INDEX listed (queue=? AND status=?)"
    }
    for query, values, index in (
        (statements.waiting_types(), {"queue": "q1"}, "ready_by_type"),
        (queries.due_types(), {"queue": "q1"}, "due_by_type"),
        (queries.queues(), {}, "listed"),
        (causes.fingerprints(), {"most": 9}, "causes"),
    ):
        [found] = plans(connection, lambda q=query, v=values: connection.execute(q, v).all())
        read = [line for line in searches(found) if line != "SCAN steps"]
        assert all(f"taskq_activities USING INDEX {index}" in line for line in read), read
        assert any(line.startswith("SEARCH") and ">?" in line for line in read), read


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (Filter(), {"sqlite_autoindex_1 (id<?)"}),
        (Filter(statuses=(Status.FAILED,)), {"listed (queue=? AND status=? AND id<?)"}),
        (Filter(queues=("q1",)), {"listed (queue=? AND status=? AND id<?)"}),
        (
            Filter(correlation_id="c1", statuses=(Status.FAILED,), queues=("q1",)),
            {"correlation (correlation_id=? AND id<?)"},
        ),
        (
            Filter(user_id="u1", statuses=(Status.FAILED,), queues=("q1",)),
            {"user (user_id=? AND id<?)"},
        ),
        (
            Filter(parent_id=WORKER, statuses=(Status.FAILED,), queues=("q1",)),
            {"children (parent_id=? AND id<?)"},
        ),
        (
            narrowed(Filter(), parsed("cause:0123456789abcdef status:failed queue:q1")),
            {"causes (fingerprint=? AND id<?)"},
        ),
        (
            narrowed(Filter(), parsed("status:failed -user:* error:x tag.a:b* age>1h -queue:q1 x")),
            {"listed (queue=? AND status=? AND id<?)"},
        ),
        (
            narrowed(Filter(), parsed("type:a* -corr:b -user:b args.a:1 priority>low")),
            {"sqlite_autoindex_1 (id<?)"},
        ),
        (narrowed(Filter(), parsed("id:01985e3c")), {"sqlite_autoindex_1 (id>? AND id<?)"}),
        (
            Filter(root_id=WORKER, queues=("q1",)),
            {"sqlite_autoindex_1 (id=?)", "tree (root_id=? AND id<?)"},
        ),
    ],
    ids=lambda value: None if isinstance(value, set) else " ".join(_names(value)) or "all",
)
def test_a_list_walks_one_index_newest_first(
    connection: Connection, filter: Filter, expected: set[str]
) -> None:
    query = queries.listed(filter, Page(before=new_id()), QUEUES)

    [plan] = plans(connection, lambda: connection.execute(query).all())

    assert {line.partition("USING INDEX ")[2] for line in searches(plan)} == expected


def test_a_tree_is_found_by_two_indexes(connection: Connection) -> None:
    found = plans(connection, lambda: reader.tree(connection, WORKER, 100))

    assert [{line.partition("USING INDEX ")[2] for line in searches(plan)} for plan in found] == [
        {"sqlite_autoindex_1 (id=?)"},
        {"sqlite_autoindex_1 (id=?)", "tree (root_id=?)", ""},
        {"sqlite_autoindex_1 (id=?)"},
    ]


def test_what_is_below_is_found_by_its_parent(connection: Connection) -> None:
    values = {"tops": [WORKER, new_id()]}

    [plan] = plans(connection, lambda: connection.execute(statements.descendants(), values).all())

    assert searches(plan) >= {"SEARCH child USING INDEX children (parent_id=?)"}
    assert not any(line.startswith("SCAN taskq_activities") for line in plan)


def _names(filter: Filter) -> list[str]:
    default = Filter()
    return [
        name for name in filter.__struct_fields__ if getattr(filter, name) != getattr(default, name)
    ]


def test_a_prune_walks_one_state_of_one_queue(connection: Connection) -> None:
    """Parents are asked for by their ids; what it has looked at it may sort."""
    values = {"queue": "q0", "status": "completed", "after": UUID(int=0), "cutoff": NOW}
    due = pruning_statements.due_tops(postgres=False)
    end = pruning_statements.end_of_look(postgres=False)

    found = plans(connection, lambda: connection.execute(due, {**values, "limit": 100}))
    found += plans(connection, lambda: connection.execute(end, values))

    read = {line for plan in found for line in searches(plan)}
    assert read - {"SCAN looked", "USE TEMP B-TREE FOR ORDER BY"} == {
        "SEARCH taskq_activities USING INDEX listed (queue=? AND status=? AND id>?)",
        "SEARCH mother USING INDEX sqlite_autoindex_1 (id=?)",
    }
