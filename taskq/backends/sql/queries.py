"""What readers ask: pure functions returning statements, as in ``statements``.

A list follows one index, newest first, and stops at its limit; conditions that this index does not
serve are written so that the database is not led to another one (``unindexed``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from msgspec import Struct
from sqlalchemy import (
    Column,
    ColumnElement,
    Executable,
    ScalarSelect,
    Select,
    bindparam,
    desc,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from taskq.backends.instants import FIRST
from taskq.backends.sql.conditions import condition
from taskq.backends.sql.statements import MERGED, unindexed
from taskq.backends.sql.tables import activities, events, rollup, spelled, workers
from taskq.backends.sql.tagged import has_tag
from taskq.hooks import HOOKS, hook_type
from taskq.model import Priority, Status
from taskq.snapshot import ActivityInfo, Filter, Page

_activity = activities.c
_pending = _activity.status == spelled(Status.PENDING)
_due = _activity.status.in_([spelled(Status.SCHEDULED), spelled(Status.RETRYING)])

_LIVE = [spelled(status) for status in Status if not status.terminal]

_ONE: ColumnElement[int] = literal_column("1")

INFO = (
    *(
        _activity["timeout_ms" if name == "timeout" else name]
        for name in ActivityInfo.__struct_fields__
    ),
    _activity.error_kind,
)
"""The columns of an ActivityInfo's fields, in their order, and one that helps to read ``error``."""


@cache
def get() -> Executable:
    """Snapshots of ``ids``."""
    return select(*INFO).where(_activity.id.in_(bindparam("ids", expanding=True)))


@cache
def inside() -> Executable:
    """What ``matching.matches_inside`` needs of ``ids``; see ``rows.Inside``."""
    return select(
        _activity.id,
        _activity.type,
        _activity.payload,
        _activity.error,
        _activity.error_kind,
        _activity.tags,
    ).where(_activity.id.in_(bindparam("ids", expanding=True)))


@cache
def outcomes() -> Executable:
    """The states of ``ids``, and how those that ended did."""
    return select(
        _activity.id, _activity.status, _activity.result, _activity.error, _activity.error_kind
    ).where(_activity.id.in_(bindparam("ids", expanding=True)))


@cache
def timeline() -> Executable:
    """The event rows of ``activity``, as they were stored."""
    return select(events).where(events.c.activity_id == bindparam("activity")).order_by(events.c.id)


@cache
def root_of() -> Executable:
    """The root of the activity ``id``: itself, or of its tree."""
    root = func.coalesce(_activity.root_id, _activity.id)
    return select(root).where(_activity.id == bindparam("id"))


@cache
def of_tree() -> Executable:
    """The ids of the ``limit`` oldest activities whose root is ``root``.

    That one, and the rest from the index that trees have. Each part is limited by itself, so that
    it is read no further.
    """
    below = (_activity.parent_id.is_not(None), _activity.root_id == bindparam("root"))
    top = select(_activity.id).where(_activity.id == bindparam("root"))
    rest = select(_activity.id).where(*below, _activity.id != bindparam("root"))
    terms = (
        each.order_by(_activity.id).limit(bindparam("limit")).subquery() for each in (top, rest)
    )
    both = union_all(*(select(each.c.id) for each in terms))
    return both.order_by("id").limit(bindparam("limit"))


@cache
def live_workers() -> Executable:
    """Workers seen at ``since`` or later, newest first."""
    return (
        select(workers)
        .where(workers.c.seen_at >= bindparam("since"))
        .order_by(workers.c.started_at.desc(), workers.c.id.desc())
    )


@cache
def series() -> Executable:
    """The rollup's buckets of ``span`` seconds in [since, until)."""
    return (
        select(rollup)
        .where(rollup.c.span == bindparam("span"))
        .where(rollup.c.minute >= bindparam("since"), rollup.c.minute < bindparam("until"))
        .order_by(rollup.c.minute, rollup.c.queue, rollup.c.type, rollup.c.outcome)
    )


@cache
def orphans() -> Executable:
    """What is left of the children of ``parents``: neither ended, nor steps, nor under a key, nor
    their hooks."""
    return left_of(lambda parent: parent.in_(bindparam("parents", expanding=True)))


def left_of(chosen: Callable[[ColumnElement[UUID]], ColumnElement[bool]]) -> Executable:
    """The same, of those parents whose id is ``chosen``."""
    mother = activities.alias("parent")
    parent = mother.c
    hooks = [parent.type.concat(literal_column(f"'{hook_type('', hook)}'")) for hook in HOOKS]
    return (
        select(_activity.id)
        .join_from(mother, activities, _activity.parent_id == parent.id)
        .where(chosen(parent.id))
        .where(unindexed(_activity.status).in_(_LIVE), _activity.step.is_(None))
        .where(_activity.idempotency_key.is_(None))
        .where(_activity.type.not_in(hooks))
    )


# -- counts: each a range of an index, counted up to ``cap`` --


@cache
def queues() -> Executable:
    """The queues that have any activity: a step in an index for each."""
    return stepping(_activity.queue)


@cache
def due_types() -> Executable:
    """The types of which ``queue`` has scheduled or retrying activities, likewise."""
    return stepping(_activity.type, _due, _activity.queue == bindparam("queue"))


def stepping(
    column: ColumnElement[str], *conditions: ColumnElement[bool]
) -> Select[*tuple[Any, ...]]:
    """The different values of an index's next column, each found from the one before it.

    The database compares them as they are stored: text that is no UTF-8 is read as another one.
    """

    def first(*others: ColumnElement[bool]) -> ScalarSelect[Any]:
        return select(func.min(column)).where(*conditions, *others).scalar_subquery()

    steps = select(first().label("value")).cte("steps", recursive=True)
    following = first(column > steps.c.value)
    steps = steps.union_all(select(following).where(steps.c.value.is_not(None)))
    return select(steps.c.value).where(steps.c.value.is_not(None))


@cache
def count_by_status() -> Executable:
    """How many activities ``queue`` has, one column per status."""
    return select(
        *(
            capped(
                _activity.queue == bindparam("queue"), _activity.status == spelled(status)
            ).label(status.value)
            for status in Status
        )
    )


@cache
def count_pending() -> Executable:
    """Of ``queue``: counts by priority, then since when its first ones are ready; per isolation."""
    lines = [
        (_pending, _activity.queue == bindparam("queue"), _activity.isolate == isolate, of_priority)
        for isolate in (false(), true())
        for of_priority in (_activity.priority == priority.value for priority in Priority)
    ]
    first = func.min(_activity.ready_at)
    return select(
        *(capped(*line) for line in lines),
        *(select(first).where(*line).scalar_subquery() for line in lines),
    )


@cache
def count_waiting() -> Executable:
    """How many activities of ``queue`` and ``type`` are pending, and how many not yet."""
    pair = (_activity.queue == bindparam("queue"), _activity.type == bindparam("type"))
    return select(capped(_pending, *pair), capped(_due, *pair))


def capped(*conditions: ColumnElement[bool]) -> ScalarSelect[Any]:
    """How many rows there are of which these hold, counted up to ``cap``."""
    counted = select(_ONE).where(*conditions).limit(bindparam("cap")).subquery()
    return select(func.count()).select_from(counted).scalar_subquery()


# -- lists --


def listed(
    filter: Filter,
    page: Page,
    queues: Sequence[str],
    *,
    now: datetime = FIRST,
    limited: bool = False,
) -> Executable:
    """The ids of one page, newest first, and one more where another page follows.

    ``queues`` are those that have activities, for a filter that names none. ``now`` is what ages
    count from. ``limited``: each of the ranges that are merged is ordered and limited by itself,
    without which PostgreSQL would read them to their ends. Of terms that are not exact, see
    ``conditions``, there are more than match.
    """
    ranges, served = starts(filter, queues)
    others = others_of(filter, served, now)
    if page.before is not None:
        others.append(_activity.id < page.before)
    terms = [select(_activity.id).where(*each.conditions, *others) for each in ranges]
    if len(terms) == 1:
        return terms[0].order_by(_activity.id.desc()).limit(page.limit + 1)
    if limited:
        terms = [each.order_by(_activity.id.desc()).limit(page.limit + 1) for each in terms]
    return union_all(*terms).order_by(desc("id")).limit(page.limit + 1)


class Start(Struct, frozen=True):
    """A range of an index, ordered by id: the columns before it and their values; and what else
    holds of all in it."""

    leading: tuple[tuple[Column[Any], Any], ...] = ()
    others: tuple[ColumnElement[bool], ...] = ()

    @property
    def conditions(self) -> tuple[ColumnElement[bool], ...]:
        """What leads there."""
        return (*(column == value for column, value in self.leading), *self.others)


def starts(filter: Filter, queues: Sequence[str]) -> tuple[list[Start], frozenset[str]]:
    """The ranges of one index to merge, and the fields of the filter that they serve."""
    if filter.parent_id is not None:
        return [Start(((_activity.parent_id, filter.parent_id),))], frozenset({"parent_id"})
    if filter.root_id is not None:
        root = Start(others=(_activity.id == filter.root_id, _of_root(filter.root_id)))
        below = Start(
            ((_activity.root_id, filter.root_id),),
            (_activity.parent_id.is_not(None), _activity.id != filter.root_id),
        )
        return [root, below], frozenset({"root_id"})
    for column in (_activity.correlation_id, _activity.user_id, _activity.fingerprint):
        wanted = getattr(filter, column.name)
        if wanted is not None:
            return [Start(((column, wanted),))], frozenset({column.name})
    places = [
        Start(((_activity.queue, queue), (_activity.status, spelled(status))))
        for queue in dict.fromkeys(filter.queues or queues)
        for status in dict.fromkeys(filter.statuses or Status)
    ]
    if (filter.queues or filter.statuses) and 0 < len(places) <= MERGED:
        return places, frozenset({"queues", "statuses"})
    return [Start()], frozenset()


def others_of(filter: Filter, served: Collection[str], now: datetime) -> list[ColumnElement[bool]]:
    """What must hold besides these fields of the filter, kept from any index."""
    asked = [each for name, each in _conditions(filter) if name not in served]
    return asked + [condition(term, now) for term in filter.where]


def _conditions(filter: Filter) -> Iterator[tuple[str, ColumnElement[bool]]]:
    """What each field of the filter asks for, kept from any index."""
    if filter.statuses:
        yield "statuses", unindexed(_activity.status).in_([each.value for each in filter.statuses])
    if filter.queues:
        yield "queues", unindexed(_activity.queue).in_(filter.queues)
    if filter.types:
        yield "types", or_(*(_is_type(wanted) for wanted in filter.types))
    if filter.priorities:
        yield "priorities", _activity.priority.in_([each.value for each in filter.priorities])
    if filter.root_id is not None:
        yield "root_id", _of_root(filter.root_id)
    if filter.roots_only:
        yield "roots_only", _activity.parent_id.is_(None)
    texts = (_activity.correlation_id, _activity.user_id, _activity.source, _activity.fingerprint)
    for column in texts:
        wanted = getattr(filter, column.name)
        if wanted is not None:
            yield column.name, unindexed(column) == wanted
    for key, value in filter.tags.items():
        yield "tags", has_tag(_activity.tags, key, value)


def of_cause(
    filter: Filter, now: datetime, fingerprint: ColumnElement[str]
) -> Select[*tuple[Any, ...]]:
    """Queue, state and end of those that match and have this fingerprint, whatever the filter says
    of it, newest first."""
    others = others_of(filter, {"fingerprint"}, now)
    return (
        select(_activity.queue, _activity.status, _activity.finished_at)
        .where(_activity.fingerprint == fingerprint, *others)
        .order_by(_activity.id.desc())
    )


def _of_root(root: UUID) -> ColumnElement[bool]:
    return func.coalesce(_activity.root_id, _activity.id) == root


def _is_type(wanted: str) -> ColumnElement[bool]:
    if not wanted.endswith("*"):
        return unindexed(_activity.type) == wanted
    prefix = wanted[:-1]
    return func.substr(_activity.type, 1, len(prefix)) == prefix
