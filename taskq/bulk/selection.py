"""Whom a bulk command is about: a filter's text and a deed, as one filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from taskq.bulk.action import Action
from taskq.errors import ConfigurationError
from taskq.filtering.reading import NOTHING_ASKED, narrowed, parsed
from taskq.filtering.terms import Not, Pattern, Term, TextIn
from taskq.model import Status
from taskq.reserved import RESERVED
from taskq.snapshot import Filter

_OTHERS: Final = Not(TextIn("type", tuple(Pattern(name) for name in sorted(RESERVED))))
"""Bulk commands are not about bulk commands."""


def asked(text: str) -> Sequence[Term]:
    """The terms of a filter's text. Raises FilterError, and ConfigurationError where it asks for
    nothing, so that everything is never meant by mistake."""
    terms = parsed(text)
    if not terms:
        raise ConfigurationError(NOTHING_ASKED)
    return terms


def wanted(text: str, action: Action) -> Filter | None:
    """All that match and are in one of the states that the action is for; None where no state is
    left. Raises as ``asked``."""
    found = narrowed(Filter(), [*asked(text), _OTHERS])
    states = [
        status
        for status in Status
        if status in action.states and (not found.statuses or status in found.statuses)
    ]
    return replace(found, statuses=tuple(states)) if states else None
