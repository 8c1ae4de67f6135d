"""Whether an activity is what a term asks for: the meaning of the language, without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, assert_never

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
    plain,
)
from taskq.model import ErrorInfo
from taskq.snapshot import ActivityInfo

_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class Inside(Protocol):
    """What the terms need that look into stored JSON; an ActivityInfo has it."""

    @property
    def type(self) -> str:
        """The activity's type."""
        ...

    @property
    def payload(self) -> str:
        """JSON as it is stored, or what is none."""
        ...

    @property
    def error(self) -> ErrorInfo | None:
        """What it failed of."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """Its tags, decoded."""
        ...


def matches(info: ActivityInfo, terms: Sequence[Term], now: datetime) -> bool:
    """Whether all terms hold of an activity at ``now``, the store's instant (aware)."""
    return all(_holds(info, term, now) for term in terms)


def matches_inside(inside: Inside, terms: Sequence[Term]) -> bool:
    """The same for terms that look into stored JSON: of tags, errors, arguments and anywhere.

    Raises TypeError for another one.
    """
    return all(_holds_inside(inside, term) for term in terms)


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
        case AgeIs(comparison, seconds):
            return comparison.holds((now - info.created_at).total_seconds(), seconds)
        case TagIn() | ErrorHas() | ArgumentIs() | AnywhereHas():
            return _is_inside(info, condition)
        case _:
            assert_never(condition)


def _holds_inside(inside: Inside, term: Term) -> bool:
    negated = isinstance(term, Not)
    condition = plain(term)
    if not isinstance(condition, (TagIn, ErrorHas, ArgumentIs, AnywhereHas)):
        raise TypeError(f"{type(condition).__name__} does not look into JSON")
    return _is_inside(inside, condition) is not negated


def _is_inside(inside: Inside, condition: TagIn | ErrorHas | ArgumentIs | AnywhereHas) -> bool:
    match condition:
        case TagIn(key, patterns):
            return _fits(inside.tags.get(key), patterns)
        case ErrorHas(texts):
            return any(_error_has(inside.error, lowered(text)) for text in texts)
        case ArgumentIs():
            return argument_is(inside.payload, condition)
        case AnywhereHas(text):
            return _anywhere(inside, lowered(text))
        case _:
            assert_never(condition)


def _fits(text: str | None, patterns: Sequence[Pattern]) -> bool:
    return text is not None and any(_is_like(text, pattern) for pattern in patterns)


def _is_like(text: str, pattern: Pattern) -> bool:
    return text.startswith(pattern.text) if pattern.prefix else text == pattern.text


def _error_has(error: ErrorInfo | None, text: str) -> bool:
    return error is not None and (text in lowered(error.type) or text in lowered(error.message))


def _anywhere(inside: Inside, text: str) -> bool:
    places = (inside.type, inside.payload)
    return any(text in lowered(each) for each in places) or _error_has(inside.error, text)
