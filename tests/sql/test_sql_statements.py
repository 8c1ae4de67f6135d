"""Every statement's SQL, kept beside this file, so that a change of it is read as SQL."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import Executable
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

from taskq.backends.instants import FIRST
from taskq.backends.sql import (
    aging,
    auditing,
    beats,
    bounding,
    causes,
    children,
    keying,
    linking,
    loads,
    operating_statements,
    pauses,
    pruning_statements,
    queries,
    schedule_rows,
    search_statements,
    statements,
)
from taskq.backends.sql.statements import ClaimShape
from taskq.filtering.reading import narrowed, parsed
from taskq.identifiers import new_id
from taskq.model import Priority, Status
from taskq.search import Cursor, Order
from taskq.snapshot import Filter, Page

SNAPSHOT = Path(__file__).with_name("statements.sql")

SCHEDULES = (
    schedule_rows.all_schedules,
    schedule_rows.named_schedules,
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
PRUNING = {
    "trees": pruning_statements.trees(),
    "kept still": pruning_statements.kept_still(patient=True),
    "next queue": pruning_statements.next_queue(),
    "due tops": pruning_statements.due_tops(postgres=False),
    "end of look": pruning_statements.end_of_look(postgres=False),
    "keys of": keying.keys_of(),
    "keys kept still": keying.kept_still(),
    "delete keys": pruning_statements.delete_keys(),
    "delete events": pruning_statements.delete_events(),
    "delete activities": pruning_statements.delete_activities(),
    "any expired": pruning_statements.any_expired(),
    "expired keys": pruning_statements.expired_keys(),
}
FILTERS = {
    "all": Filter(),
    "by queue and status": Filter(queues=("a",), statuses=(Status.FAILED,)),
    "by two statuses": Filter(statuses=(Status.FAILED, Status.DEAD_LETTER)),
    "by parent": Filter(parent_id=new_id()),
    "by root": Filter(root_id=new_id(), roots_only=True),
    "by correlation, everything else": Filter(
        correlation_id="c",
        user_id="u",
        source="s",
        queues=("a",),
        statuses=(Status.FAILED,),
        types=("mail.*", "work"),
        priorities=(Priority.HIGH,),
        tags={"a": "b"},
    ),
    "by every term": narrowed(
        Filter(),
        parsed(
            "-status:failed priority>critical type:a,b* -user:* corr:a,b* id:01985e3c"
            " -root:01985e3c tag.a:b,c* age>1h -age<=2h error:*,x args.a.0.b:7,d* -args.a:1"
            " args.n>1 text"
        ),
    ),
}
SEARCHES = {
    "everything": ("", Order.NEWEST),
    "what an index serves": ("queue:a status:failed", Order.NEWEST),
    "what none serves": ("type:mail* status:failed text", Order.OLDEST),
    "one tree": ("root:01985e3c-0000-7000-8000-000000000000 tag.a:b", Order.OLDEST),
    "a part of the ids": ("id:01985e3c error:x", Order.NEWEST),
    "what is due": ("status:scheduled type:a", Order.DUE),
    "what runs": ("status:processing type:a", Order.STARTED),
}


def searching() -> Iterator[tuple[str, Executable]]:
    for name, (text, order) in SEARCHES.items():
        filter = narrowed(Filter(), parsed(text))
        ground = search_statements.ground(filter, order, ["a", "b"], FIRST, postgres=False)
        after = Cursor(new_id(), FIRST if order in (Order.DUE, Order.STARTED) else None)
        yield f"search ({name})", search_statements.matches(ground, after, window=128, most=51)
        if ground.windowed:
            yield f"search ({name}: the edge)", search_statements.edge(ground, after, window=128)
    yield "search (a count)", search_statements.counted(ground, None, window=128, most=9)


def written(statement: Executable) -> str:
    compiled = cast("ClauseElement", statement).compile(dialect=sqlite.dialect(paramstyle="named"))
    return "\n".join(line.rstrip() for line in str(compiled).strip().splitlines())


def all_statements() -> Iterator[tuple[str, Executable]]:
    for module in (statements, beats, queries, operating_statements, causes):
        for name, function in vars(module).items():
            bare = inspect.unwrap(function) if callable(function) else None
            if not inspect.isfunction(bare) or bare.__module__ != module.__name__:
                continue
            if not name.startswith("_") and not inspect.signature(bare).parameters:
                yield name, cast("Callable[[], Executable]", function)()
    for name, shape in SHAPES.items():
        yield f"claim ({name})", statements.claim(shape)
    for count in (1, 2):
        yield f"claim (children, {count})", children.on_sqlite(count, typed=count == 1)
    yield "link", linking.on_sqlite()
    counted = narrowed(Filter(), parsed("queue:mail user:*"))
    yield "counted_of", causes.counted_of(counted, FIRST)
    yield "newest_of", causes.newest_of(counted, FIRST)
    for name, statement in PRUNING.items():
        yield f"prune ({name})", statement
    for name in ("pauses", "pause_on_sqlite", "end_pause"):
        yield f"pauses {name}", getattr(pauses, name)()
    for name in ("held", "waiting_of_type"):
        yield f"loads {name}", getattr(loads, name)()
    yield "turn", bounding.turn_on_sqlite()
    yield "room", bounding.count()
    yield "oldest roots", bounding.oldest_roots()
    yield "claim (aging)", aging.claim(typed=False)
    yield "claim of types (aging)", aging.claim(typed=True)
    yield "audit", auditing.on_sqlite()
    yield "audit of what is left as it was", auditing.amended()
    yield "audit entries", auditing.recorded()
    yield "audit entries of commands", auditing.of_commands()
    for each in (*SCHEDULES, schedule_rows.add_on_sqlite, schedule_rows.fire_on_sqlite):
        yield each.__name__, each()
    for name, filter in FILTERS.items():
        yield f"listed ({name})", queries.listed(filter, Page(before=new_id()), ["a", "b"])
    yield from searching()


def test_every_statement_is_as_it_was_reviewed() -> None:
    """After a wanted change: delete the snapshot, run this, review the difference."""
    now = "\n\n".join(f"-- {name}\n{written(each)};" for name, each in all_statements()) + "\n"
    if not SNAPSHOT.exists():
        SNAPSHOT.write_text(now, encoding="utf-8")
        pytest.fail(f"{SNAPSHOT.name} was written anew: review it")

    assert now == SNAPSHOT.read_text(encoding="utf-8")


def test_statements_keep_their_shape_so_that_they_are_compiled_once() -> None:
    for name, statement in all_statements():
        if not name.startswith("listed"):
            element = cast("ClauseElement", statement)
            assert element._generate_cache_key() is not None, name
    for shape in SHAPES.values():
        assert statements.claim(shape) is statements.claim(shape)
