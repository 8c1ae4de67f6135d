"""What can be stored as JSON text and read back exactly, and where in a value it cannot.

``examine`` looks at a value before it is encoded; ``compare`` looks at what was read back from the
text; ``check_nesting`` looks at text before it is decoded. All three are iterative: no depth, no
cycle and no shared structure makes them recurse or run away. What they refuse is a
SerializationError whose ``path`` names the place, for example ``items[3].price``.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple, TypeGuard
from uuid import UUID

import msgspec

from taskq.codec.foreign import is_model, is_secret, model_members, root_of
from taskq.errors import ConfigurationError, SerializationError

MAX_BYTES = 1_048_576
"""No limit may be set higher than this many bytes of UTF-8."""

MAX_DEPTH = 200
"""No limit may be set deeper than this; msgspec's own decoder gives up near 1000."""


class Limits(msgspec.Struct, frozen=True):
    """How large one stored JSON text may be (design section 6, threat:T9).

    ``max_bytes``: bytes of UTF-8, 256 KiB by default, at most 1 MiB. ``max_depth``: nested arrays
    and objects, the outermost counted (``{"a": []}`` is 2), 64 by default, at most 200.
    Raises ConfigurationError for a limit that is not positive or above its cap.
    """

    max_bytes: int = 262_144
    max_depth: int = 64

    def __post_init__(self) -> None:
        if not 0 < self.max_bytes <= MAX_BYTES:
            raise ConfigurationError(f"max_bytes is {self.max_bytes}, not within 1 and {MAX_BYTES}")
        if not 0 < self.max_depth <= MAX_DEPTH:
            raise ConfigurationError(f"max_depth is {self.max_depth}, not within 1 and {MAX_DEPTH}")


DEFAULT_LIMITS = Limits()
"""256 KiB and 64 levels."""


SUPPORTED = (
    "annotate and pass a supported type: JSON values, dataclasses, msgspec Structs, TypedDict, "
    "NamedTuple, attrs or pydantic classes, datetime, UUID, Decimal, Enum, bytes, set, tuple"
)


class Place(NamedTuple):
    """One step into a value. ``token``: an index, a key, or None for a member of a set."""

    parent: Place | None
    token: int | str | None


def render(place: Place | None) -> str:
    """Write a place as users do: ``items[3].price``, ``prices["odd key"]``; empty for the root."""
    tokens: list[int | str | None] = []
    while place is not None:
        tokens.append(place.token)
        place = place.parent
    return "".join(map(_render_token, reversed(tokens))).removeprefix(".")


def _render_token(token: int | str | None) -> str:
    match token:
        case None:
            return "[...]"
        case int():
            return f"[{token}]"
        case str() if token.isidentifier():
            return f".{token}"
        case str():
            return f"[{json.dumps(token if len(token) <= 60 else token[:60] + '...')}]"


def refusal(label: str, place: Place | None, problem: str) -> SerializationError:
    """Say what is wrong with the value at ``place`` of the thing called ``label``."""
    path = render(place)
    return SerializationError(": ".join(filter(None, (label, path, problem))), path=path)


# -- scalars ---------------------------------------------------------------------------------------


def _no_fault(_: object) -> None:
    return None


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "text that contains NUL (U+0000) cannot be stored"
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return "text that contains a lone surrogate cannot be stored as UTF-8"
    return None


def _integer_fault(number: int) -> str | None:
    # Python and msgspec read at most 4300 digits; 10**4299 has 14 281 bits.
    return None if number.bit_length() < 14_280 else "an integer this long cannot be read back"


def _float_fault(number: float) -> str | None:
    return None if math.isfinite(number) else f"{number} {_NO_SUCH_NUMBER}"


def _decimal_fault(number: Decimal) -> str | None:
    return None if number.is_finite() else f"{number} {_NO_SUCH_NUMBER}"


_NO_SUCH_NUMBER = "cannot be stored: JSON has no such number"


def _offset_fault(moment: datetime | time) -> str | None:
    if moment.tzinfo is None:
        return None
    offset = moment.utcoffset()
    if offset is None:
        return "a time zone without an offset cannot be stored"
    return "a UTC offset must be whole minutes" if offset % timedelta(minutes=1) else None


_SCALAR_FAULTS: dict[type, Callable[[Any], str | None]] = {
    str: _text_fault,
    int: _integer_fault,
    float: _float_fault,
    bool: _no_fault,
    type(None): _no_fault,
    Decimal: _decimal_fault,
    datetime: _offset_fault,
    time: _offset_fault,
    date: _no_fault,
    timedelta: _no_fault,
    UUID: _no_fault,
    bytes: _no_fault,
    bytearray: _no_fault,
    memoryview: _no_fault,
}
_KEY_TYPES = _SCALAR_FAULTS.keys() - {bool, type(None), bytearray, memoryview}


# -- containers ------------------------------------------------------------------------------------

Part = tuple[int | str | None, object]
"""The token and the value of one member of a container."""

Pair = tuple[int | str | None, object, object]
"""The token of a member, its value as given and as read back."""


def unwrapped(value: object) -> object:
    """What a secret, an Enum member or a pydantic root model is stored as; all else is itself."""
    if is_secret(value):
        return value.reveal()
    if isinstance(value, Enum):
        return value.value
    return root_of(value) if is_model(value) else value


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """Tell whether ``value`` is a dict of anything."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Tell whether ``value`` is a list or tuple of anything."""
    return isinstance(value, list | tuple)


def is_set(value: object) -> TypeGuard[set[Any] | frozenset[Any]]:
    """Tell whether ``value`` is a set or frozenset of anything."""
    return isinstance(value, set | frozenset)


def members(value: object) -> Iterable[Part] | None:
    """The parts of a container with their stored names; None when ``value`` is no container."""
    if is_dict(value):
        return _dict_members(value)
    if is_array(value):
        return enumerate(value)
    if is_set(value):
        return ((None, member) for member in value)
    if isinstance(value, msgspec.Struct):
        return _struct_members(value)
    return model_members(value) if is_model(value) else _field_members(value)


def _dict_members(value: dict[Any, Any]) -> Iterable[tuple[str, object]]:
    if {*map(type, value)} <= {str}:
        return value.items()
    return ((_stored_key(key), member) for key, member in value.items())


def _stored_key(key: object) -> str:
    return str(key.value if isinstance(key, Enum) else key)


def _struct_members(value: msgspec.Struct) -> Iterator[tuple[str, object]]:
    kind = type(value)
    for name, stored in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        member = getattr(value, name)
        if member is not msgspec.UNSET:
            yield stored, member


def _field_members(value: object) -> Iterator[tuple[str, object]] | None:
    kind: Any = type(value)
    fields = getattr(kind, "__attrs_attrs__", None)
    if fields is None and dataclasses.is_dataclass(kind):
        fields = dataclasses.fields(kind)
    if fields is None:
        return None
    names: list[str] = [field.name for field in fields]
    return ((name, getattr(value, name)) for name in names if hasattr(value, name))


# -- before encoding -------------------------------------------------------------------------------


def examine(root: object, *, label: str, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Refuse what JSON text cannot hold: NaN, infinities, NUL, surrogates, depth, unknown types.

    Returns whether the encoder needs help to write canonical text: sets, keys that are not ``str``
    and pydantic models have no order that msgspec can sort. ``label`` begins the message of every
    SerializationError.
    """
    unordered = False
    budget = 16 * limits.max_bytes  # ends the walk through structures that share their parts
    pending: list[tuple[object, Place | None, int]] = [(root, None, 1)]
    while pending:
        value, place, depth = pending.pop()
        if type(value) not in _COMMON and (stored := unwrapped(value)) is not value:
            unordered = unordered or is_model(value)
            pending.append((stored, place, depth + 1))
            continue

        parts, sortable = _open(value, place, label)
        unordered = unordered or not sortable
        if depth > limits.max_depth and parts is not _NO_PARTS:
            raise refusal(label, place, f"nested deeper than {limits.max_depth} levels")

        for token, member in parts:
            scalar_fault = _SCALAR_FAULTS.get(type(member))
            if scalar_fault is None:
                pending.append((member, Place(place, token), depth + 1))
            elif (fault := scalar_fault(member)) is not None:
                raise refusal(label, Place(place, token), fault)
            budget -= len(member) if isinstance(member, (str, bytes)) else 1
        if budget < 0:
            raise refusal(label, place, f"far larger than the {limits.max_bytes} bytes allowed")
    return unordered


_COMMON = {dict, list, tuple, str}
_NO_PARTS: Iterable[Part] = ()


def _open(value: object, place: Place | None, label: str) -> tuple[Iterable[Part], bool]:
    """The members of a container, and whether msgspec can sort it; none of a scalar. Examines keys
    and scalars on the way."""
    if is_dict(value):
        return _dict_members(value), _examine_keys(value, place, label)
    if is_array(value):
        return enumerate(value), True
    scalar_fault = _SCALAR_FAULTS.get(type(value))
    if scalar_fault is not None:
        if (fault := scalar_fault(value)) is not None:
            raise refusal(label, place, fault)
        return _NO_PARTS, True
    if isinstance(value, UUID):  # database drivers have their own subclass
        return _NO_PARTS, True

    parts = members(value)
    if parts is None:
        kind = type(value).__qualname__
        raise refusal(label, place, f"objects of type {kind} cannot be stored; {SUPPORTED}")
    return parts, not (is_set(value) or is_model(value))


def _examine_keys(value: dict[Any, Any], place: Place | None, label: str) -> bool:
    """Refuse keys that cannot be stored; return whether all are ``str``."""
    sortable = {*map(type, value)} <= {str}
    if sortable and _text_fault("".join(value)) is None:
        return True
    for key in value:
        plain: object = key.value if isinstance(key, Enum) else key
        kind = UUID if isinstance(plain, UUID) else type(plain)
        if kind not in _KEY_TYPES:
            raise refusal(label, place, f"keys of type {kind.__qualname__} cannot be stored")
        if (fault := _SCALAR_FAULTS[kind](plain)) is not None:
            raise refusal(label, Place(place, _stored_key(key)), f"in the key: {fault}")
    return sortable


# -- after decoding --------------------------------------------------------------------------------


def compare(given: object, read: object, *, label: str) -> bool:
    """Refuse a value that did not come back from its text as it was given.

    Types must be the same and values equal. Four differences are allowed: the order of dict keys,
    an ``int`` that came back as the equal ``float`` because ``float`` is annotated, a UUID of a
    database driver's own subclass, and what came back as a secret of itself. Returns whether some
    ``int`` became a ``float``: then the text of ``read`` is the canonical one.
    """
    widened = False
    pending: list[tuple[object, object, Place | None]] = [(given, read, None)]
    while pending:
        one, two, place = pending.pop()
        kind = type(one)
        if is_secret(two) and not is_secret(one):
            pending.append((one, two.reveal(), place))
        elif kind is not type(two):
            widened = _widened(one, two, place, label) or widened
        elif kind in _SCALAR_FAULTS or isinstance(one, Enum):
            if not _same_scalar(one, two):
                raise refusal(label, place, "this value would come back changed")
        elif kind not in _COMMON and (root := unwrapped(one)) is not one:
            pending.append((root, unwrapped(two), place))
        else:
            for token, member, other in _pairs(one, two, place, label):
                kind = type(member)
                if kind is type(other) and kind in _EQUAL_IS_SAME and member == other:
                    continue
                pending.append((member, other, Place(place, token)))
    return widened


_EQUAL_IS_SAME = {str, int, float, bool, type(None), bytes, UUID, Decimal, date, timedelta}


def _widened(one: object, two: object, place: Place | None, label: str) -> bool:
    """Accept the two changes of type that are harmless; tell whether it is int to float."""
    if isinstance(one, UUID) and one == two:
        return False
    if type(one) is int and type(two) is float and one == two:
        return True
    raise refusal(label, place, _changed_type(one, two))


def _changed_type(one: object, two: object) -> str:
    given, read = type(one).__qualname__, type(two).__qualname__
    return f"{given} would come back as {read}; annotate it as {given}, or pass {read}"


def _same_scalar(one: Any, two: Any) -> bool:
    if isinstance(one, datetime):  # of two zones, == is always False within a repeated hour
        same_wall_clock: bool = one.replace(tzinfo=None) == two.replace(tzinfo=None)
        return same_wall_clock and one.utcoffset() == two.utcoffset()
    return bool(one == two)


def _pairs(one: object, two: Any, place: Place | None, label: str) -> Iterable[Pair]:
    """Pair the members of two containers of one type."""
    if is_dict(one):
        return _dict_pairs(one, two, place, label)
    if is_set(one):
        if one != two:
            raise refusal(label, place, "the members of this set would come back changed")
        same = {member: member for member in two}
        return [(None, member, same[member]) for member in one]

    ours, theirs = list(members(one) or ()), list(members(two) or ())
    if len(ours) != len(theirs):
        raise refusal(label, place, f"{len(ours)} members would come back as {len(theirs)}")
    return [(token, a, b) for (token, a), (_, b) in zip(ours, theirs, strict=True)]


def _dict_pairs(
    one: dict[Any, Any], two: dict[Any, Any], place: Place | None, label: str
) -> Iterable[Pair]:
    if one.keys() == two.keys() and {*map(type, one), *map(type, two)} <= {str}:
        return [(key, member, two[key]) for key, member in one.items()]

    same = {key: key for key in two}
    for key in one:
        here = Place(place, _stored_key(key))
        if key not in two:
            raise refusal(label, here, "this key would be lost, or come back as another type")
        if type(key) is not type(same[key]) and not isinstance(key, UUID):
            raise refusal(label, here, f"the key: {_changed_type(key, same[key])}")
    for key in two:
        if key not in one:
            raise refusal(label, Place(place, _stored_key(key)), "this key would be added")
    return [(_stored_key(key), member, two[key]) for key, member in one.items()]


# -- text ------------------------------------------------------------------------------------------

_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # possessive: linear on any text
_NO_BRACKET = re.compile(r"[^\[\]]+")
_SQUARE = str.maketrans("{}", "[]")


def check_nesting(text: str, *, label: str, limits: Limits = DEFAULT_LIMITS) -> None:
    """Refuse text that is nested too deeply or larger than any limit, before it is decoded.

    Text that is not JSON may pass: the decoder refuses it, and cannot be made to recurse far.
    Raises SerializationError.
    """
    if len(text) > MAX_BYTES:
        raise refusal(label, None, f"{len(text)} characters are more than {MAX_BYTES} bytes")
    if text.count("[") + text.count("{") <= limits.max_depth:
        return

    rest = _NO_BRACKET.sub("", _STRINGS.sub("", text).translate(_SQUARE))
    for _ in range(limits.max_depth):  # each round removes the innermost level
        shorter = rest.replace("[]", "")
        if shorter == rest:
            break
        rest = shorter
    if "[]" in rest or rest.count("[") > limits.max_depth:
        raise refusal(label, None, f"nested deeper than {limits.max_depth} levels")
