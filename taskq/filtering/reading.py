"""From text to a ``snapshot.Filter``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from taskq.filtering.fields import condition
from taskq.filtering.terms import IdIn, Not, Pattern, PriorityIn, StatusIn, TagIn, Term, TextIn
from taskq.filtering.words import words
from taskq.snapshot import Filter

NOTHING_ASKED: Final = "this filter asks for nothing; type:* means every activity"
"""Why a filter changes nothing that does not say what it is about."""


def parsed(text: str) -> tuple[Term, ...]:
    """The terms of a filter's text, in its order; none for an empty one.

    Raises FilterError, which knows the column, for what means nothing.
    """
    return tuple(Not(condition(word)) if word.negated else condition(word) for word in words(text))


def narrowed(filter: Filter, terms: Sequence[Term]) -> Filter:
    """The filter with these terms too: in its own fields as far as they can say it and are free,
    so that indexes serve them, the rest in ``where``."""
    for term in terms:
        filter = _with(filter, term)
    return filter


def _with(filter: Filter, term: Term) -> Filter:
    match term:
        case StatusIn(statuses) if not filter.statuses:
            return replace(filter, statuses=statuses)
        case PriorityIn(priorities) if priorities and not filter.priorities:
            return replace(filter, priorities=priorities)
        case TextIn("type", patterns) if not filter.types and _spelled_alike(patterns):
            types = tuple(f"{each.text}*" if each.prefix else each.text for each in patterns)
            return replace(filter, types=types)
        case TextIn("queue", patterns) if not filter.queues and _exact(patterns):
            return replace(filter, queues=tuple(each.text for each in patterns))
        case TextIn(
            "user_id" | "correlation_id" | "source" | "fingerprint" as field, [pattern]
        ) if getattr(filter, field) is None and not pattern.prefix:
            return replace(filter, **{field: pattern.text})
        case IdIn("parent_id" | "root_id" as field, [span]) if (
            getattr(filter, field) is None and span.first == span.last
        ):
            return replace(filter, **{field: span.first})
        case TagIn(key, [pattern]) if key not in filter.tags and not pattern.prefix:
            return replace(filter, tags={**filter.tags, key: pattern.text})
        case _:
            return replace(filter, where=(*filter.where, term))


def _exact(patterns: Sequence[Pattern]) -> bool:
    return not any(each.prefix for each in patterns)


def _spelled_alike(patterns: Sequence[Pattern]) -> bool:
    """Whether ``Filter.types`` means the same: there a star at the end is always a prefix's."""
    return all(each.prefix or not each.text.endswith("*") for each in patterns)
