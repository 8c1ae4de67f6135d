"""A worker's heartbeat on PostgreSQL, as one statement: leases, its row, its counts."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    Boolean,
    ColumnElement,
    Executable,
    Integer,
    Text,
    Uuid,
    any_,
    bindparam,
    case,
    column,
    delete,
    exists,
    func,
    literal_column,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import Insert, aggregate_order_by, insert
from sqlalchemy.types import TypeEngine

from taskq.backends.sql.postgres.parts import (
    INSTANT,
    NOW,
    SECOND,
    SECONDS,
    constant,
    lasting,
    spread,
)
from taskq.backends.sql.statements import unindexed
from taskq.backends.sql.tables import BIG_INTEGER, ROLLUP_KEY, activities, rollup, spelled, workers
from taskq.model import Status

_activity = activities.c
_processing = unindexed(_activity.status) == spelled(Status.PROCESSING)

_BUCKET: Final[dict[str, TypeEngine[Any]]] = {
    "span": Integer(),
    "minute": INSTANT,
    "queue": Text(),
    "type": Text(),
    "outcome": Text(),
    "count": BigInteger(),
    "waits": Text(),
    "runs": Text(),
}


@cache
def heartbeat() -> Executable:
    """Renew leases for ``lease`` seconds, put the worker's row, add its counts.

    Answers id and whether a cancel was requested of each lease that holds; and, with id NULL, one
    row if ``beat`` was new: only then was the worker's row put and were the counts added.
    """
    held, renewed = _renewed()
    fresh = _put_worker().returning(workers.c.id).cte("fresh")
    counted = _add_counts(exists().select_from(fresh)).returning(rollup.c.count).cte("counted")
    nothing = (literal_column("NULL::uuid", Uuid()), literal_column("false", Boolean()))
    answer = union_all(
        select(held.c.id, held.c.cancelled).where(lasting()),
        select(*nothing).select_from(fresh),
    )
    return answer.add_cte(renewed, counted)


@cache
def renew() -> Executable:
    """Renew the leases alone; answers the same of each that holds."""
    held, renewed = _renewed()
    return select(held.c.id, held.c.cancelled).where(lasting()).add_cte(renewed)


def _renewed() -> tuple[CTE, CTE]:
    """The leases that hold, and their renewal."""
    given = spread("given", {"id": Uuid(), "claim": BigInteger()})
    mine = _activity.worker == bindparam("worker")
    held = (
        select(_activity.id, _activity.cancel_requested_at.is_not(None).label("cancelled"))
        .join_from(given, activities, _activity.id == given.c.id)
        .where(_processing, mine, _activity.claim == given.c.claim)
        .order_by(given.c.id)
        .with_for_update(of=activities)
        .cte("held")
    )
    until = NOW + bindparam("lease", type_=SECONDS) * SECOND
    renewed = update(activities).where(_activity.id == held.c.id).values(lease_until=until)
    return held, renewed.returning(_activity.id).cte("renewed")


def _put_worker() -> Insert:
    values = {each.name: bindparam(f"of_{each.name}", type_=each.type) for each in workers.c}
    statement = insert(workers).values({**values, "seen_at": NOW})
    changes = {each.name: statement.excluded[each.name] for each in workers.c if each.name != "id"}
    return statement.on_conflict_do_update(
        index_elements=["id"], set_=changes, where=workers.c.beat < statement.excluded.beat
    )


@cache
def report_progress() -> Executable:
    """Keep ``progress`` of the leases given by ``id`` and ``claim`` that ``worker`` still holds.

    Nobody waits for the disk: a report may be lost.
    """
    given = spread("given", {"id": Uuid(), "claim": BigInteger(), "progress": Text()})
    mine = _activity.worker == bindparam("worker")
    held = (
        select(_activity.id, given.c.progress)
        .join_from(given, activities, _activity.id == given.c.id)
        .where(_processing, mine, _activity.claim == given.c.claim)
        .order_by(given.c.id)
        .with_for_update(of=activities)
        .cte("held")
    )
    kept = update(activities).where(_activity.id == held.c.id).values(progress=held.c.progress)
    written = kept.returning(_activity.id).cte("written")
    return select(func.count()).select_from(written).where(lasting("off"))


@cache
def trees_to_cancel() -> Executable:
    """Of ``ids``, those whose whole trees are to be cancelled."""
    ids = bindparam("ids", type_=ARRAY(Uuid()))
    return select(_activity.id).where(_activity.id == any_(ids), _activity.cancel_tree)


@cache
def see_worker() -> Executable:
    """A worker's row again, for a heartbeat that came before: it is alive."""
    return update(workers).where(workers.c.id == bindparam("of_id")).values(seen_at=NOW)


@cache
def forget_workers() -> Executable:
    """Remove workers unseen for ``age`` seconds, all but those that another heartbeat removes."""
    unseen = workers.c.seen_at < NOW - bindparam("age", type_=SECONDS) * SECOND
    old = select(workers.c.id).where(unseen).order_by(workers.c.id)
    return delete(workers).where(workers.c.id.in_(old.with_for_update(skip_locked=True)), lasting())


def _add_counts(*conditions: ColumnElement[bool]) -> Insert:
    given = spread("bucket", _BUCKET, hidden=False)
    rows = select(*given.c).where(*conditions)
    statement = insert(rollup).from_select(list(_BUCKET), rows)
    new = statement.excluded
    most = literal_column(str(BIG_INTEGER), BigInteger())
    return statement.on_conflict_do_update(
        index_elements=list(ROLLUP_KEY),
        set_={
            "count": func.least(rollup.c.count, most - new["count"]) + new["count"],
            "waits": _added(rollup.c.waits, new.waits),
            "runs": _added(rollup.c.runs, new.runs),
        },
    )


def _added(before: ColumnElement[str], new: ColumnElement[str]) -> ColumnElement[str]:
    """The sum of two JSON arrays of counts; another length or other text is not mixed."""
    both = (
        func.unnest(_counts(before), _counts(new))
        .table_valued(
            column("a", Text()), column("b", Text()), with_ordinality="place", name="both"
        )
        .render_derived(name="both")
    )
    total = both.c.a.cast(BigInteger) + both.c.b.cast(BigInteger)
    ordered = func.array_agg(aggregate_order_by(total, both.c.place))
    summed = constant("[") + func.array_to_string(ordered, constant(",")) + constant("]")
    return case((_same_shape(before, new), select(summed).scalar_subquery()), else_=new)


def _counts(text: ColumnElement[str]) -> ColumnElement[Any]:
    return func.string_to_array(func.btrim(text, constant("[]")), constant(","))


def _same_shape(before: ColumnElement[str], new: ColumnElement[str]) -> ColumnElement[bool]:
    return before.bool_op("~")(constant(r"^\[[0-9]{1,15}(,[0-9]{1,15})*\]$")) & (
        func.cardinality(_counts(before)) == func.cardinality(_counts(new))
    )
