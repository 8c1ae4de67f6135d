"""A filter's terms as conditions of SQL.

Some are exact. Those that look into JSON text are not: no database takes it apart without failing
on what is none (PostgreSQL before 16), and no two of them alike. Their conditions let through all
that can match, and more; ``filtering.matching`` decides on what comes through (``is_exact``).
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_never
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, and_, false, func, not_, or_, true

from taskq.backends.instants import later
from taskq.backends.sql.holding import holding
from taskq.backends.sql.statements import unindexed
from taskq.backends.sql.tables import activities
from taskq.backends.sql.tagged import has_tag
from taskq.filtering.arguments import plain_digits
from taskq.filtering.terms import (
    AgeIs,
    AnywhereHas,
    ArgumentIs,
    Comparison,
    Condition,
    ErrorHas,
    IdField,
    IdIn,
    Not,
    Pattern,
    PriorityIn,
    Scalar,
    Span,
    StatusIn,
    TagIn,
    Term,
    TextIn,
)

_activity = activities.c


def is_exact(term: Term) -> bool:
    """Whether the condition of this term lets through only what matches."""
    match term:
        case Not(inner):
            return is_exact(inner)
        case TagIn(_, patterns):
            return not any(pattern.prefix for pattern in patterns)
        case ErrorHas() | ArgumentIs() | AnywhereHas():
            return False
        case StatusIn() | PriorityIn() | TextIn() | IdIn() | AgeIs():
            return True
        case _:
            assert_never(term)


def condition(term: Term, now: datetime) -> ColumnElement[bool]:
    """What lets through every row of which the term holds at ``now``, and no index is led to."""
    if not isinstance(term, Not):
        return _condition(term, now)
    if not is_exact(term):
        return true()
    return not_(func.coalesce(_condition(term.condition, now), false()))


def _condition(term: Condition, now: datetime) -> ColumnElement[bool]:
    match term:
        case StatusIn(statuses):
            return unindexed(_activity.status).in_([each.value for each in statuses])
        case PriorityIn(priorities):
            return _activity.priority.in_([each.value for each in priorities])
        case TextIn(field, patterns):
            return or_(*(_fits(_activity[field], pattern) for pattern in patterns))
        case IdIn(field, spans):
            return or_(*(_within(field, span) for span in spans))
        case TagIn(key, patterns):
            return or_(*(_tagged(key, pattern) for pattern in patterns))
        case AgeIs(comparison, seconds):
            return _older(comparison, later(now, -seconds))
        case ErrorHas(texts):
            return or_(*(_error_may_hold(text) for text in texts))
        case ArgumentIs():
            return _argument_may_be(term)
        case AnywhereHas(text):
            places = (holding(column, text) for column in (_activity.type, _activity.payload))
            return or_(*places, _error_may_hold(text))
        case _:
            assert_never(term)


def _fits(column: ColumnElement[str], pattern: Pattern) -> ColumnElement[bool]:
    if not pattern.prefix:
        return unindexed(column) == pattern.text
    if not pattern.text:
        return unindexed(column).is_not(None)
    return func.substr(column, 1, len(pattern.text)) == pattern.text


def _within(field: IdField, span: Span) -> ColumnElement[bool]:
    column: ColumnElement[UUID] = _activity[field]
    if field == "root_id":
        column = func.coalesce(column, _activity.id)
    return column.between(span.first, span.last)


def _older(comparison: Comparison, at: datetime) -> ColumnElement[bool]:
    """What is older was created earlier."""
    created = _activity.created_at
    match comparison:
        case Comparison.IS:
            return created == at
        case Comparison.LESS:
            return created > at
        case Comparison.AT_MOST:
            return created >= at
        case Comparison.MORE:
            return created < at
        case Comparison.AT_LEAST:
            return created <= at


# -- what is not exact --


def _tagged(key: str, pattern: Pattern) -> ColumnElement[bool]:
    if not pattern.prefix:
        return has_tag(_activity.tags, key, pattern.text)
    return _may_hold(_activity.tags, f'"{_inside(key)}"')


def _error_may_hold(text: str) -> ColumnElement[bool]:
    """In the error's JSON, or in what another program has stored there that is none."""
    if not text:
        return _activity.error.is_not(None)
    return or_(_may_hold(_activity.error, _inside(text)), holding(_activity.error, text))


def _argument_may_be(term: ArgumentIs) -> ColumnElement[bool]:
    names = [f'"{_inside(name)}"' for name in term.path if not name.isdecimal()]
    needles = [holding(_activity.payload, name) for name in names]
    if term.comparison is Comparison.IS:
        values = (holding(_activity.payload, _part(value)) for value in term.values)
        needles.append(or_(*values))
    return or_(and_(true(), *needles), _is_escaped(_activity.payload))


def _part(value: Scalar) -> str:
    """What the JSON of every value that is equal holds; every text holds the empty one."""
    return _inside(value.text if value.quoted else plain_digits(value.text) or value.text)


def _may_hold(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    return or_(holding(column, text), _is_escaped(column))


def _is_escaped(column: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether there are characters that taskq would have written otherwise, so that a text may be
    there though it is not found."""
    return or_(holding(column, "\\u"), holding(column, "\\/"))


def _inside(text: str) -> str:
    """A text as it stands in JSON between its quotes."""
    return msgspec.json.encode(text).decode()[1:-1]
