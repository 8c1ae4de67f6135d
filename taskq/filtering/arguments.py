"""Arguments inside a payload: found by their path, and compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, cast

import msgspec

from taskq.filtering.terms import ArgumentIs, Comparison, Scalar

_WORDS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class _Number(str):
    """A number with a fraction or an exponent, as it is written."""

    __slots__ = ()


_decoder = msgspec.json.Decoder[object](float_hook=_Number)


def argument_is(payload: object, term: ArgumentIs) -> bool:
    """Whether the JSON text ``payload`` has such an argument."""
    try:
        value = _decoder.decode(payload) if isinstance(payload, (str, bytes)) else None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
    for found in _at(value, term.path):
        if any(_compares(found, term.comparison, wanted) for wanted in term.values):
            return True
    return False


def plain_digits(text: str) -> str | None:
    """What every way to write this number without an exponent holds; None for what is none.

    ``17.50`` and ``17.5`` hold ``17.5``. A number with an exponent is compared as it is written.
    """
    if _NUMBER.fullmatch(text) is None:
        return None
    if "e" in text.lower():
        return text.lower()
    digits = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if digits == "-0" else digits


def _at(value: object, path: Sequence[str]) -> Iterator[object]:
    """What is found at the path; a list's items besides the list."""
    for name in path:
        if isinstance(value, dict):
            fields = cast("Mapping[str, object]", value)
            if name not in fields:
                return
            value = fields[name]
        elif isinstance(value, list):
            items = cast("Sequence[object]", value)
            if not name.isdecimal() or not name.isascii() or len(name) > 9:
                return
            if int(name) >= len(items):
                return
            value = items[int(name)]
        else:
            return
    yield value
    if isinstance(value, list):
        yield from cast("Sequence[object]", value)


def _compares(value: object, comparison: Comparison, wanted: Scalar) -> bool:
    if wanted.prefix:
        return not wanted.text or (_is_text(value) and str(value).startswith(wanted.text))
    if comparison is Comparison.IS:
        return _equals(value, wanted)
    limit = None if wanted.quoted else _decimal(wanted.text)
    if limit is None:
        return _is_text(value) and comparison.holds(str(value), wanted.text)
    number = _number(value)
    return number is not None and comparison.holds(number, limit)


def _equals(value: object, wanted: Scalar) -> bool:
    if _is_text(value):
        return value == wanted.text
    if wanted.quoted:
        return False
    if value is None or isinstance(value, bool):
        return wanted.text in _WORDS and _WORDS[wanted.text] is value
    number, other = _number(value), _decimal(wanted.text)
    if number is None or other is None:
        return False
    written, spelled = str(value).lower(), wanted.text.lower()
    return written == spelled if "e" in written + spelled else number == other


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, _Number)


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, _Number)):
        return None
    return _decimal(str(value))


def _decimal(text: str) -> Decimal | None:
    """The number that JSON would read there, exactly; None where there is none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
