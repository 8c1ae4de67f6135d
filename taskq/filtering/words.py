"""The words of a filter's text, with the columns at which they stand. What they mean comes later.

A word is ``-name:value,value``, or text alone. Blanks end it, and commas a value, outside of double
quotes; inside of them ``\\"`` and ``\\\\`` mean ``"`` and ``\\``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from taskq.errors import FilterError
from taskq.filtering.terms import Comparison

_OPERATOR: Final = re.compile(r":?(<=|>=|<|>)|:|=")


class Part(Struct, frozen=True):
    """A text at a column, without its quotes. ``quoted``: some of it was in quotes. ``star``: where
    in the text the first ``*`` stands that was not."""

    text: str
    column: int
    quoted: bool = False
    star: int | None = None


class Word(Struct, frozen=True):
    """One word at a column of ``source``. ``path`` is the name before the operator, parted at its
    dots; with ``comparison`` None it is the free text, in one part, and there are no values."""

    source: str
    column: int
    negated: bool
    path: tuple[Part, ...]
    comparison: Comparison | None
    values: tuple[Part, ...]

    @property
    def name(self) -> str:
        """The first part of the name, or the free text."""
        return self.path[0].text

    def wrong(self, message: str, at: Part | None = None) -> FilterError:
        """The error to raise about this word, or about a part of it."""
        column = self.column if at is None else at.column
        return FilterError(message, text=self.source, column=column)


class _Character(NamedTuple):
    text: str
    column: int
    quoted: bool


def words(source: str) -> Iterator[Word]:
    """The words of a text. Raises FilterError for a quote without its end, and for an operator with
    nothing before or after it."""
    position = 0
    while position < len(source):
        if source[position].isspace():
            position += 1
            continue
        word, position = _word(source, position)
        yield word


def _word(source: str, start: int) -> tuple[Word, int]:
    """The word that begins at ``start``, and where it ends."""
    negated = source[start] == "-" and source[start + 1 : start + 2].strip() != ""
    first = start + 1 if negated else start
    name, position = _characters(source, first, until_operator=True)
    operator = _OPERATOR.match(source, position)
    if operator is None:
        text = (_part(name, first),)
        return Word(source, start, negated, text, None, ()), position
    if not name:
        message = f"{operator.group()} has no field before it; text that holds it needs quotes"
        raise FilterError(message, text=source, column=position)
    value, end = _characters(source, operator.end())
    comparison = Comparison(operator[1] or ":")
    path, values = _split(name, ".", first), _split(value, ",", operator.end())
    word = Word(source, start, negated, path, comparison, values)
    for part in (*path, *values):
        if not part.text and not part.quoted:
            raise word.wrong('something is missing here; "" is the empty text', part)
    return word, end


def _characters(
    source: str, position: int, *, until_operator: bool = False
) -> tuple[list[_Character], int]:
    """The characters up to a blank or an operator, without quotes, and where they end. The empty
    character stands for a pair of quotes."""
    found: list[_Character] = []
    while position < len(source) and not source[position].isspace():
        if until_operator and _OPERATOR.match(source, position):
            break
        if source[position] == '"':
            found.append(_Character("", position, True))
            position = _quoted(source, position, found)
        else:
            found.append(_Character(source[position], position, False))
            position += 1
    return found, position


def _quoted(source: str, opening: int, found: list[_Character]) -> int:
    """Add what stands in quotes; answers where they have ended."""
    position = opening + 1
    while position < len(source):
        character = source[position]
        if character == '"':
            return position + 1
        if character == "\\" and source[position + 1 : position + 2] in ('"', "\\"):
            position += 1
        found.append(_Character(source[position], position, True))
        position += 1
    raise FilterError('this " has no end', text=source, column=opening)


def _split(characters: Sequence[_Character], mark: str, column: int) -> tuple[Part, ...]:
    """The parts between the marks that are not in quotes."""
    parts: list[Part] = []
    begun: list[_Character] = []
    for character in characters:
        if character.text == mark and not character.quoted:
            parts.append(_part(begun, column))
            begun, column = [], character.column + 1
        else:
            begun.append(character)
    return (*parts, _part(begun, column))


def _part(characters: Sequence[_Character], column: int) -> Part:
    shown = [character for character in characters if character.text]
    stars = (at for at, each in enumerate(shown) if each.text == "*" and not each.quoted)
    return Part(
        text="".join(character.text for character in shown),
        column=column,
        quoted=any(character.quoted for character in characters),
        star=next(stars, None),
    )
