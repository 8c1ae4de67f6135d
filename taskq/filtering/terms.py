"""What a filter can ask for: a closed union of terms. All terms of a filter must hold.

Where a term has several values, one of them is enough. The case of ASCII letters counts, except in
``ErrorHas`` and ``AnywhereHas``.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Literal, TypeAlias, TypeVar
from uuid import UUID

from msgspec import Struct

from taskq.model import Priority, Status

V = TypeVar("V", float, str, Decimal)

TextField: TypeAlias = Literal[
    "type",
    "queue",
    "source",
    "step",
    "idempotency_key",
    "user_id",
    "correlation_id",
    "fingerprint",
]
"""Fields of an ActivityInfo that are text, or None."""
IdField: TypeAlias = Literal["id", "parent_id", "root_id", "worker"]
"""Fields of an ActivityInfo that are ids, or None."""


class Comparison(StrEnum):
    """How a value is compared with the one that is given."""

    IS = ":"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="

    def holds(self, one: V, other: V) -> bool:
        """Whether two values of one kind compare so."""
        match self:
            case Comparison.IS:
                return one == other
            case Comparison.LESS:
                return one < other
            case Comparison.AT_MOST:
                return one <= other
            case Comparison.MORE:
                return one > other
            case Comparison.AT_LEAST:
                return one >= other


class Pattern(Struct, frozen=True):
    """A text, or with ``prefix`` all texts that begin with it (with the empty one: any text)."""

    text: str
    prefix: bool = False


class Span(Struct, frozen=True):
    """The ids from ``first`` to ``last``: one id, or all that begin with some digits."""

    first: UUID
    last: UUID


class Scalar(Struct, frozen=True):
    """A value to compare arguments with.

    As text it is equal to a string; unless ``quoted`` it also means the number, or the ``true``,
    ``false`` or ``null``, that it spells. With ``prefix`` it means any string that begins so; the
    empty one any value at all.
    """

    text: str
    quoted: bool = False
    prefix: bool = False


class StatusIn(Struct, frozen=True):
    """It has one of these statuses."""

    statuses: tuple[Status, ...]


class PriorityIn(Struct, frozen=True):
    """It has one of these priorities; none: nothing matches."""

    priorities: tuple[Priority, ...]


class TextIn(Struct, frozen=True):
    """The field is there and fits one of the patterns."""

    field: TextField
    patterns: tuple[Pattern, ...]


class IdIn(Struct, frozen=True):
    """The field is there and lies in one of the spans."""

    field: IdField
    spans: tuple[Span, ...]


class TagIn(Struct, frozen=True):
    """It has a tag with this key, whose value fits one of the patterns."""

    key: str
    patterns: tuple[Pattern, ...]


class AgeIs(Struct, frozen=True):
    """So many seconds have passed since it was created, by the store's clock. ``comparison`` is not
    IS."""

    comparison: Comparison
    seconds: float


class ErrorHas(Struct, frozen=True):
    """Its error's type or message holds one of the texts, in any case of ASCII letters. The empty
    text: there is an error."""

    texts: tuple[str, ...]


class ArgumentIs(Struct, frozen=True):
    """The argument at ``path`` is there and compares so with one of the values.

    ``path`` has names, and numbers of items of lists, counted from 0. Where it leads to a list, one
    item that compares so is enough. A payload that is no JSON has no arguments.
    """

    path: tuple[str, ...]
    comparison: Comparison
    values: tuple[Scalar, ...]


class AnywhereHas(Struct, frozen=True):
    """Its type, its payload as it is stored, or its error's type or message holds the text, in any
    case of ASCII letters."""

    text: str


Condition: TypeAlias = (
    StatusIn | PriorityIn | TextIn | IdIn | TagIn | AgeIs | ErrorHas | ArgumentIs | AnywhereHas
)


class Not(Struct, frozen=True):
    """The condition does not hold."""

    condition: Condition


Term: TypeAlias = Condition | Not


def plain(term: Term) -> Condition:
    """What a term is about, whether it is to hold or not."""
    return term.condition if isinstance(term, Not) else term
