"""Whether an activity is what a term asks for: the meaning of the language, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, assert_never

from taskq.filtering.arguments import argument_is
from taskq.filtering.terms import (
    AgeIs,
    AnywhereHas,
    ArgumentIs,
    Condition,
    ErrorHas,
    IdIn,
    Not,
    Pattern,
    PriorityIn,
    StatusIn,
    TagIn,
    Term,
    TextIn,
)
from taskq.model import ErrorInfo
from taskq.snapshot import ActivityInfo

_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def matches(info: ActivityInfo, terms: Sequence[Term], now: datetime) -> bool:
    """Whether all terms hold of an activity at ``now``, the store's instant (aware)."""
    return all(_holds(info, term, now) for term in terms)


def lowered(text: str) -> str:
    """The text with its ASCII letters in lower case, and no others: what every database can do."""
    return text.translate(_LOWER)


def _holds(info: ActivityInfo, term: Term, now: datetime) -> bool:
    if isinstance(term, Not):
        return not _is(info, term.condition, now)
    return _is(info, term, now)


def _is(info: ActivityInfo, condition: Condition, now: datetime) -> bool:
    match condition:
        case StatusIn(statuses):
            return info.status in statuses
        case PriorityIn(priorities):
            return info.priority in priorities
        case TextIn(field, patterns):
            return _fits(getattr(info, field), patterns)
        case IdIn(field, spans):
            id = getattr(info, field)
            return id is not None and any(span.first <= id <= span.last for span in spans)
        case TagIn(key, patterns):
            return _fits(info.tags.get(key), patterns)
        case AgeIs(comparison, seconds):
            return comparison.holds((now - info.created_at).total_seconds(), seconds)
        case ErrorHas(texts):
            return any(_error_has(info.error, lowered(text)) for text in texts)
        case ArgumentIs():
            return argument_is(info.payload, condition)
        case AnywhereHas(text):
            return _anywhere(info, lowered(text))
        case _:
            assert_never(condition)


def _fits(text: str | None, patterns: Sequence[Pattern]) -> bool:
    return text is not None and any(_is_like(text, pattern) for pattern in patterns)


def _is_like(text: str, pattern: Pattern) -> bool:
    return text.startswith(pattern.text) if pattern.prefix else text == pattern.text


def _error_has(error: ErrorInfo | None, text: str) -> bool:
    return error is not None and (text in lowered(error.type) or text in lowered(error.message))


def _anywhere(info: ActivityInfo, text: str) -> bool:
    return (
        text in lowered(info.type) or text in lowered(info.payload) or _error_has(info.error, text)
    )
