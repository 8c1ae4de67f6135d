"""Properties of the codec that hold for any value and any text."""

from __future__ import annotations

import dataclasses
import enum
import json
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from taskq.codec import Codec, canonical, digest, from_json, to_json
from taskq.codec.exactness import Limits, check_nesting
from taskq.errors import SerializationError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass(frozen=True)
class Item:
    name: str
    price: float | None
    tags: frozenset[str]


def untyped(value):
    return value


def typed(
    count: int,
    ratio: float,
    flag: bool,
    raw: bytes,
    moment: datetime,
    day: date,
    hour: time,
    span: timedelta,
    identity: UUID,
    amount: Decimal,
    colors: set[Color],
    items: list[Item],
    prices: dict[int, tuple[Item, ...]],
    name: str | None = None,
) -> None:
    return None


unhurried = settings(deadline=None)  # the first example resolves annotations
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | floats | texts
plain_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=25,
)
offsets = st.none() | st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m)))
items = st.builds(Item, name=texts, price=st.none() | floats, tags=st.frozensets(texts, max_size=4))
calls = st.fixed_dictionaries(
    {
        "count": st.integers(),
        "ratio": floats | st.integers(-(2**53), 2**53),
        "flag": st.booleans(),
        "raw": st.binary(max_size=20),
        "moment": st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=offsets),
        "day": st.dates(),
        "hour": st.times(),
        "span": st.timedeltas(),
        "identity": st.uuids(),
        "amount": st.decimals(allow_nan=False, allow_infinity=False),
        "colors": st.sets(st.sampled_from(Color)),
        "items": st.lists(items, max_size=4),
        "prices": st.dictionaries(
            st.integers(), st.lists(items, max_size=2).map(tuple), max_size=4
        ),
    },
    optional={"name": st.none() | texts},
)
anything = st.recursive(
    st.one_of(
        scalars,
        st.floats(),
        st.text(),
        st.binary(max_size=5),
        st.decimals(),
        st.sampled_from([object(), Color.RED, 1j, int, b"\0"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers() | st.floats(), inner, max_size=4),
    ),
    max_leaves=15,
)
nearly_json = st.text('[]{}",:\\01e- \0\ud800\u20acnulltrefas', max_size=60)


def exact(value: Any) -> Any:
    """The value with the type of everything in it, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {key: exact(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [exact(member) for member in value]
    return type(value), repr(value)


@unhurried
@given(plain_values)
def test_any_plain_value_comes_back_exactly(value: Any) -> None:
    codec = Codec(untyped)

    ((read,), _) = codec.decode(codec.encode((value,), {}))

    assert exact(read) == exact(value)
    assert exact(codec.decode_result(codec.encode_result(value))) == exact(value)
    assert exact(from_json(to_json(value))) == exact(value)


@unhurried
@given(calls)
def test_any_annotated_call_comes_back_exactly(call: dict[str, Any]) -> None:
    codec = Codec(typed)

    args, kwargs = codec.decode(codec.encode((), call))

    assert kwargs == {}
    assert dict(zip(codec.signature.parameters, args, strict=True)) == {"name": None, **call}


@unhurried
@given(calls)
def test_what_was_read_is_written_as_the_same_text(call: dict[str, Any]) -> None:
    codec = Codec(typed)
    text = codec.encode((), call)

    args, kwargs = codec.decode(text)

    assert codec.encode(args, kwargs) == text
    assert canonical(text) == text


@unhurried
@given(st.dictionaries(texts, plain_values), st.randoms())
def test_canonical_text_does_not_depend_on_the_order_of_keys(
    value: dict[str, Any], random: Any
) -> None:
    shuffled = list(value.items())
    random.shuffle(shuffled)

    assert to_json(dict(shuffled)) == to_json(value)
    assert canonical(json.dumps(dict(shuffled))) == to_json(value)
    assert digest(to_json(dict(shuffled))) == digest(to_json(value))


@unhurried
@given(anything)
def test_any_argument_comes_back_exactly_or_is_refused(value: Any) -> None:
    """fault:H1"""
    codec = Codec(untyped)

    try:
        text = codec.encode((value,), {})
    except SerializationError as refused:
        assert refused.path.startswith("value")
    else:
        assert exact(codec.decode(text)[0][0]) == exact(value)


@unhurried
@given(anything)
def test_any_result_is_json_or_refused(value: Any) -> None:
    codec = Codec(untyped)

    try:
        text = codec.encode_result(value)
    except SerializationError:
        return
    assert to_json(codec.decode_result(text)) == text


@unhurried
@given(nearly_json)
def test_any_text_is_read_or_refused(text: str) -> None:
    """fault:H7"""
    for read in (Codec(untyped).decode, Codec(untyped).decode_result, from_json, canonical):
        try:
            read(text)
        except SerializationError as refused:
            assert str(refused)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@unhurried
@given(plain_values, st.integers(1, 6))
def test_nesting_of_text_is_the_nesting_of_its_value(value: Any, limit: int) -> None:
    """fault:H3"""
    try:
        check_nesting(json.dumps(value), label="text", limits=Limits(max_depth=limit))
    except SerializationError:
        assert depth_of(value) > limit
    else:
        assert depth_of(value) <= limit
