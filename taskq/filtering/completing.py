"""What may stand at the caret of a filter's text: where it is, and how a completion is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

_OPERATOR: Final = re.compile(r":?(?:<=|>=|<|>)|:|=")
_NEEDS_QUOTES: Final = re.compile(r'[\s,"*]|^[<>=]')
_NAME_NEEDS_QUOTES: Final = re.compile(r'[\s,"*.:<>=]')


class Place(Struct, frozen=True):
    """Where the caret is. A completion replaces the text from ``start`` to ``end``.

    ``field`` is the name before the operator, when a value is to come: ``status``, ``tag.region``.
    None: a field's name is to come. ``typed`` is what stands before the caret, without quotes.
    """

    start: int
    end: int
    field: str | None
    typed: str


def place(text: str, at: int) -> Place:
    """The place at column ``at`` (0 is before the first character; beyond the end means there)."""
    at = min(at, len(text))
    start = _begins(text, at)
    if text[start : start + 1] == "-" and start < at:
        start += 1
    operator = next(_unquoted(text, start, at, _OPERATOR), None)
    if operator is None:
        end = _ends(text, at, _OPERATOR_OR_BLANK)
        end += text[end : end + 1] == ":"  # a completed name brings its own
        return Place(start, end, None, _without_quotes(text[start:at]))
    field = _without_quotes(text[start : operator.start()])
    begin = operator.end()
    for comma in _unquoted(text, begin, at, _COMMA):
        begin = comma.end()
    return Place(begin, _ends(text, at, _COMMA_OR_BLANK), field, _without_quotes(text[begin:at]))


def beginning(values: Iterable[str], typed: str, *, limit: int) -> list[str]:
    """Those values that begin with what is typed, then those that hold it, whatever the case;
    in their order, each once, up to ``limit``."""
    wanted = typed.lower()
    known = dict.fromkeys(values)
    first = [value for value in known if value.lower().startswith(wanted)]
    inside = [value for value in known if wanted in value.lower()]
    return list(dict.fromkeys([*first, *inside]))[:limit]


def value_text(value: str) -> str:
    """A value as it is written in a filter."""
    return _quoted(value) if not value or _NEEDS_QUOTES.search(value) else value


def name_text(name: str) -> str:
    """A part of a name as it is written before an operator: the key of a tag."""
    return _quoted(name) if not name or _NAME_NEEDS_QUOTES.search(name) else name


_COMMA: Final = re.compile(",")
_COMMA_OR_BLANK: Final = re.compile(r"[\s,]")
_OPERATOR_OR_BLANK: Final = re.compile(r"[\s:<>=]")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _begins(text: str, at: int) -> int:
    """Where the word that the caret is in begins."""
    begin = 0
    for blank in _unquoted(text, 0, at, _BLANK):
        begin = blank.end()
    return begin


_BLANK: Final = re.compile(r"\s")


def _ends(text: str, at: int, mark: re.Pattern[str]) -> int:
    """Where what stands at the caret ends, as far as it goes on behind it."""
    found = mark.search(text, at)
    return len(text) if found is None else found.start()


def _unquoted(text: str, start: int, end: int, mark: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The marks between two places that are not in quotes."""
    position, quoted = start, False
    while position < end:
        if quoted and text[position] == "\\":
            position += 2
            continue
        if text[position] == '"':
            quoted = not quoted
        found = None if quoted else mark.match(text, position, end)
        if found is None:
            position += 1
        else:
            yield found
            position = found.end()


def _without_quotes(text: str) -> str:
    return re.sub(r'\\(["\\])|"', r"\1", text)
