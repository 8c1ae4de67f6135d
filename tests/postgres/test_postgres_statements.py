"""The statements of PostgreSQL, kept beside this file as SQL; and that they do what they must."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Executable

from taskq.backends import ClaimRequest
from taskq.backends.instants import FIRST
from taskq.backends.sql import (
    PostgresBackend,
    auditing,
    beats,
    bounding,
    causes,
    children,
    linking,
    loads,
    pauses,
    pruning_statements,
    queries,
    schedule_rows,
    search_statements,
    statements,
)
from taskq.backends.sql.postgres import aging as postgres_aging
from taskq.backends.sql.postgres import beats as postgres_beats
from taskq.backends.sql.postgres import parts as postgres_parts
from taskq.backends.sql.postgres import statements as postgres_statements
from taskq.backends.sql.postgres import storing as postgres_storing
from taskq.backends.sql.postgres import submission as postgres_submission
from taskq.backends.sql.postgres.connections import Session
from taskq.backends.sql.postgres.parts import constant
from taskq.backends.sql.postgres.prepared import prepared
from taskq.backends.sql.statements import ClaimShape
from taskq.bridge import ResidentBridge
from taskq.filtering.reading import narrowed, parsed
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, decide
from taskq.search import Cursor, Order
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.samples import beat, bucket, call, error, keyed, worker
from tests.postgres.conftest import Sql

SNAPSHOT = Path(__file__).with_name("statements.sql")
SHARED = (
    statements.held,
    beats.retire,
    statements.waiting_types,
    causes.fingerprints,
)
WRITES = (
    postgres_storing.submit,
    postgres_storing.submit_one,
    postgres_storing.insert_activities,
    postgres_storing.submit_keyed,
)
QUEUES = (
    pauses.pauses,
    pauses.pause_on_postgres,
    pauses.end_pause,
    loads.held,
    loads.waiting_of_type,
)
SCHEDULES = (
    schedule_rows.all_schedules,
    schedule_rows.lock_schedule,
    schedule_rows.lock_free_schedule,
    schedule_rows.waiting_schedules,
    schedule_rows.update_schedule,
    schedule_rows.delete_schedule,
    schedule_rows.last_state,
)
SHAPES = {
    "one queue": ClaimShape(queues=1, types=0),
    "one type": ClaimShape(queues=0, types=1),
    "two queues, and two types of others": ClaimShape(queues=2, types=2),
}
TERMS = "-status:failed -tag.a:b tag.a:c* -user:a* age>1h id:01985e3c error:x args.a.b:7 text"
SEARCHES = {
    Order.NEWEST: "status:failed type:a text",
    Order.OLDEST: "queue:a status:failed tag.a:b",
    Order.DUE: "status:retrying type:a",
    Order.STARTED: "status:processing type:a",
}


def searching() -> Iterator[tuple[str, Executable]]:
    for order, text in SEARCHES.items():
        filter = narrowed(Filter(), parsed(text))
        ground = search_statements.ground(filter, order, ["a", "b"], FIRST, postgres=True)
        after = Cursor(new_id(), FIRST if order in (Order.DUE, Order.STARTED) else None)
        yield f"search {order}", search_statements.matches(ground, after, window=128, most=51)
        if ground.windowed:
            yield f"search {order}: edge", search_statements.edge(ground, after, window=128)
        yield f"search {order}: count", search_statements.counted(ground, None, window=9, most=9)
    yield "search: along indexes", search_statements.along_indexes()


def all_statements() -> Iterator[tuple[str, Executable]]:
    for module in (postgres_storing, postgres_statements, postgres_beats):
        for name, function in vars(module).items():
            bare = inspect.unwrap(function) if callable(function) else None
            if not inspect.isfunction(bare) or bare.__module__ != module.__name__:
                continue
            if not name.startswith("_") and not inspect.signature(bare).parameters:
                yield name, cast("Callable[[], Executable]", function)()
    for shared in SHARED:
        yield shared.__name__, shared()
    for count in (1, 2):
        yield f"claim (children, {count})", children.on_postgres(count, typed=count == 1)
    yield "any_on_postgres", children.any_on_postgres(2, typed=True)
    yield "link", linking.on_postgres()
    yield "prune (due tops)", pruning_statements.due_tops(postgres=True)
    yield "prune (expired keys)", pruning_statements.expired_keys()
    yield "prune (alone)", pruning_statements.alone()
    for each in QUEUES:
        yield each.__name__, each()
    for name in ("turn_on_postgres", "keep_count", "count", "oldest_roots", "tell", "moment"):
        yield f"bounding {name}", getattr(bounding, name)()
    yield "claim (aging)", postgres_aging.claim(typed=False)
    yield "claim of types (aging)", postgres_aging.claim(typed=True)
    yield "audit", auditing.on_postgres()
    by_cause = causes.counted_each(narrowed(Filter(), parsed("-user:*")), FIRST)
    yield "listed by cause", by_cause
    yield "audit of what is left as it was", auditing.amended()
    yield "audit entries", auditing.recorded()
    for each in (*SCHEDULES, schedule_rows.add_on_postgres, schedule_rows.fire_on_postgres):
        yield each.__name__, each()
    for write in WRITES:
        yield write.__name__, write(rare=False)
        yield f"{write.__name__} (rare)", write(rare=True)
    for name, shape in SHAPES.items():
        yield f"claim ({name})", postgres_statements.claim(shape)
        yield f"any_candidate ({name})", postgres_statements.any_candidate(shape)
    yield "claim_served", postgres_statements.claim_served(2)
    yield "promote", postgres_statements.promote()
    yield "promote (lawful)", postgres_statements.promote(lawful=True)
    yield "claim_overdue", postgres_statements.claim_overdue()
    yield "claim_overdue (lawful)", postgres_statements.claim_overdue(lawful=True)
    yield "claim (lawful)", postgres_statements.claim(SHAPES["one queue"], lawful=True)
    yield "listed by tag", queries.listed(Filter(tags={"a": "b"}), Page(), [])
    yield "listed by terms", queries.listed(narrowed(Filter(), parsed(TERMS)), Page(), [])
    yield from searching()


def test_every_statement_is_as_it_was_reviewed() -> None:
    """After a wanted change: delete the snapshot, run this, review the difference."""
    texts = [f"-- {name}\n{prepared(each, None).sql.strip()};" for name, each in all_statements()]
    now = "\n".join(line.rstrip() for line in "\n\n".join(texts).splitlines()) + "\n"
    if not SNAPSHOT.exists():
        SNAPSHOT.write_text(now, encoding="utf-8")
        pytest.fail(f"{SNAPSHOT.name} was written anew: review it")

    assert now == SNAPSHOT.read_text(encoding="utf-8")


def test_statements_are_compiled_once() -> None:
    for name, statement in all_statements():
        if name.startswith(("listed", "search")):
            continue
        assert prepared(statement, None) is prepared(statement, None), name
    assert postgres_statements.claim(SHAPES["one type"]) is postgres_statements.claim(
        SHAPES["one type"]
    )


def test_another_schema_is_in_the_text() -> None:
    text = prepared(postgres_storing.submit(), 'my "own"').sql

    assert 'INSERT INTO "my ""own""".taskq_activities' in text


@pytest.fixture
def careless(sql: Sql) -> Iterator[None]:
    """A role whose commits do not wait for the disk."""
    sql("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
    yield
    sql("ALTER ROLE CURRENT_USER RESET synchronous_commit")


async def settled_durably(backend: PostgresBackend, verb: str) -> str:
    """The setting under which this verb's transaction would commit."""
    seen: list[str] = []

    class Watched(Session):
        async def fetch(self, statement: Executable, values: Any, **options: Any) -> Any:
            found = await super().fetch(statement, values, **options)
            [[setting]] = await self.raw.fetch("SELECT current_setting('synchronous_commit')")
            seen.append(setting)
            return found

    async def watched(function: Any, **options: Any) -> Any:
        async def run(session: Session) -> Any:
            return await function(Watched(session.raw, None))

        return await type(backend._engine).transact(backend._engine, run, **options)

    for connections in (backend._engine, backend._callers):
        connections.explicit = True
        connections.transact = watched  # type: ignore[method-assign]
    await VERBS[verb](backend)
    return seen[-1]


async def _claimed(backend: PostgresBackend) -> Any:
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=1, lease=30)
    return await backend.claim(request)


async def _settled(backend: PostgresBackend) -> Any:
    await backend.submit([call()])
    [attempt] = await _claimed(backend)
    return await backend.settle([decide(attempt, Failed(error=error()))])


VERBS: dict[str, Callable[[PostgresBackend], Any]] = {
    "submit": lambda backend: backend.submit([call()]),
    "submit keyed": lambda backend: backend.submit([keyed()]),
    "submit many keyed": lambda backend: backend.submit([keyed("a"), keyed("b")]),
    "claim": _claimed,
    "settle": _settled,
    "heartbeat": lambda backend: backend.heartbeat(beat(worker(), buckets=(bucket(),))),
    "promote": lambda backend: backend.promote(10),
    "claim overdue": lambda backend: backend.claim_overdue(new_id(), 10, 30.0),
}


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_commit_waits_for_the_disk_whatever_the_role_says(
    backend: PostgresBackend, bridge: ResidentBridge, careless: None, verb: str
) -> None:
    """promise:G1, design 7.12: the setting is really evaluated, in each statement that writes."""
    assert bridge.call_sync(settled_durably, backend, verb) == "on"


def test_constants_are_spelled_out() -> None:
    assert str(constant("a")) == "'a'"
    assert postgres_parts.constant is constant


def test_a_large_batch_goes_in_parts() -> None:
    activities = [call() for _ in range(2 * postgres_submission.BATCH + 1)]

    sizes = [len(part) for part in postgres_submission.parts(activities)]

    assert sizes == [postgres_submission.BATCH, postgres_submission.BATCH, 1]


def test_a_heavy_batch_goes_in_parts() -> None:
    heavy = call(payload='"' + "x" * (postgres_submission.BYTES // 2) + '"')

    assert [len(part) for part in postgres_submission.parts([heavy] * 3)] == [1, 1, 1]
