"""The fields of the language: what the words that name them mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Final, TypeAlias, TypeVar
from uuid import UUID

from taskq.durations import UNITS, seconds_in
from taskq.filtering.terms import (
    AgeIs,
    AnywhereHas,
    ArgumentIs,
    Comparison,
    Condition,
    ErrorHas,
    IdField,
    IdIn,
    Pattern,
    PriorityIn,
    Scalar,
    Span,
    StatusIn,
    TagIn,
    TextField,
    TextIn,
)
from taskq.filtering.words import Part, Word
from taskq.fingerprint import LENGTH
from taskq.model import Priority, Status

T = TypeVar("T")

_STATUSES: Final = {status.value: status for status in Status}
_PRIORITIES: Final = {
    spelling: level for level in Priority for spelling in (level.name.lower(), str(level.value))
}
_SHORTEST: Final = 8


def condition(word: Word) -> Condition:
    """What a word asks for, whether it is negated or not. Raises FilterError where it means
    nothing; the message says what is known instead."""
    for part in (*word.path, *word.values):
        if not _storable(part.text):
            raise word.wrong("no stored text holds NUL or what is no character", part)
    if word.comparison is None:
        return AnywhereHas(word.name)
    read = FIELDS.get(word.name)
    if read is None:
        raise word.wrong(_unknown(word.name), word.path[0])
    return read(word)


def names_field(word: Word) -> bool:
    """Whether a word begins with a field and an operator."""
    return word.comparison is not None and word.name in FIELDS


def _status(word: Word) -> Condition:
    _check(word)
    return StatusIn(tuple(_known(word, part, _STATUSES) for part in word.values))


def _priority(word: Word) -> Condition:
    compared = _check(word, comparisons=True)
    levels = {
        level
        for part in word.values
        for level in Priority
        if compared.holds(level, _known(word, part, _PRIORITIES, text=part.text.lower()))
    }
    return PriorityIn(tuple(sorted(levels)))


def _text(word: Word, *, field: TextField) -> Condition:
    _check(word)
    return TextIn(field, tuple(_pattern(word, part) for part in word.values))


def _id(word: Word, *, field: IdField) -> Condition:
    _check(word)
    return IdIn(field, tuple(_span(word, part) for part in word.values))


def _tag(word: Word) -> Condition:
    if len(word.path) == 1:
        raise word.wrong("tag needs a name after a dot: tag.region:eu")
    key = ".".join(part.text for part in word.path[1:])
    _check(word, dotted=True)
    return TagIn(key, tuple(_pattern(word, part) for part in word.values))


def _age(word: Word) -> Condition:
    compared = _check(word, comparisons=True)
    if compared is Comparison.IS:
        raise word.wrong("age takes >, >=, < or <=: age>1h")
    [value] = word.values
    seconds = seconds_in(value.text)
    if seconds is None:
        units = ", ".join(UNITS)
        message = f"{value.text!r} is no duration; it has numbers and units ({units}): 90s, 1h30m"
        raise word.wrong(message, value)
    return AgeIs(compared, seconds)


def _error(word: Word) -> Condition:
    _check(word)
    return ErrorHas(tuple(_held(word, part) for part in word.values))


def _cause(word: Word) -> Condition:
    _check(word)
    return TextIn("fingerprint", tuple(_digits(word, part) for part in word.values))


def _digits(word: Word, part: Part) -> Pattern:
    """The first digits of a fingerprint, or all of them; ``*`` alone: there is one."""
    digits = part.text.lower()
    if digits == "*" and part.star == 0:
        return Pattern("", prefix=True)
    if not 0 < len(digits) <= LENGTH or set(digits) - set("0123456789abcdef"):
        message = f"{part.text!r} is no cause, nor the first digits of one"
        raise word.wrong(message, part)
    return Pattern(digits, prefix=len(digits) < LENGTH)


def _argument(word: Word) -> Condition:
    if len(word.path) == 1:
        raise word.wrong("args needs the argument's name after a dot: args.order.id:17")
    compared = _check(word, dotted=True, comparisons=True)
    path = tuple(part.text for part in word.path[1:])
    values: list[Scalar] = []
    for part in word.values:
        pattern = _pattern(word, part)
        if pattern.prefix and compared is not Comparison.IS:
            raise word.wrong(f"{compared} takes no *", part)
        values.append(Scalar(pattern.text, part.quoted, pattern.prefix))
    return ArgumentIs(path, compared, tuple(values))


Read: TypeAlias = Callable[[Word], Condition]

FIELDS: Final[Mapping[str, Read]] = {
    "status": _status,
    "type": partial(_text, field="type"),
    "queue": partial(_text, field="queue"),
    "priority": _priority,
    "tag": _tag,
    "user": partial(_text, field="user_id"),
    "corr": partial(_text, field="correlation_id"),
    "source": partial(_text, field="source"),
    "key": partial(_text, field="idempotency_key"),
    "step": partial(_text, field="step"),
    "error": _error,
    "cause": _cause,
    "args": _argument,
    "age": _age,
    "id": partial(_id, field="id"),
    "parent": partial(_id, field="parent_id"),
    "root": partial(_id, field="root_id"),
    "worker": partial(_id, field="worker"),
}
"""By name: what a word of this field means."""

_DOTTED: Final = {"tag": "tag.NAME", "args": "args.PATH"}


def _check(word: Word, *, dotted: bool = False, comparisons: bool = False) -> Comparison:
    """The word's comparison. Raises FilterError where its field takes no such, or no dots, or a
    comparison several values."""
    if len(word.path) > 1 and not dotted:
        raise word.wrong(f"{word.name} has no parts", word.path[1])
    compared = word.comparison or Comparison.IS
    if compared is Comparison.IS:
        return compared
    if not comparisons:
        raise word.wrong(f"{word.name} takes no {compared}: {word.name}:…")
    if len(word.values) > 1:
        raise word.wrong(f"{compared} takes one value", word.values[1])
    return compared


def _known(word: Word, part: Part, known: Mapping[str, T], *, text: str | None = None) -> T:
    """The value of this spelling."""
    spelling = part.text if text is None else text
    if spelling in known:
        return known[spelling]
    all_of_them = ", ".join(known)
    raise word.wrong(
        f"no {word.name} {part.text!r};{_guess(spelling, known)} there are: {all_of_them}", part
    )


def _pattern(word: Word, part: Part) -> Pattern:
    if part.star is None:
        return Pattern(part.text)
    if part.star < len(part.text) - 1:
        raise word.wrong("* means the rest, so it stands last; in quotes it means itself", part)
    return Pattern(part.text[:-1], prefix=True)


def _held(word: Word, part: Part) -> str:
    """A text that is found anywhere; ``*`` alone: the empty one."""
    if part.star is None:
        return part.text
    if part.text == "*":
        return ""
    raise word.wrong("this text is found anywhere, without *; in quotes it means itself", part)


def _span(word: Word, part: Part) -> Span:
    digits = part.text.lower().replace("-", "")
    if part.text == "*" and part.star == 0:
        digits = ""
    elif not _SHORTEST <= len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
        what = "worker's" if word.name == "worker" else "activity"
        message = f"{part.text!r} is no {what} id, nor the first {_SHORTEST} or more digits of one"
        raise word.wrong(message, part)
    return Span(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))


def _unknown(name: str) -> str:
    shown = ", ".join(_DOTTED.get(each, each) for each in FIELDS)
    return (
        f"no field {name!r};{_guess(name, FIELDS)} there are: {shown}; text that holds an operator"
        " needs quotes"
    )


def _guess(text: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(text, known, n=1)
    return f" did you mean {close[0]}?" if close else ""


def _storable(text: str) -> bool:
    """Whether a store may hold this: UTF-8 without NUL."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)
