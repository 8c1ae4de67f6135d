"""What cannot be stored and read back exactly is refused, with its place (design section 7.6)."""

from __future__ import annotations

import dataclasses
import enum
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pydantic
import pytest

from taskq.codec import Codec, Limits, canonical, from_json, to_json
from taskq.codec.exactness import check_nesting
from taskq.errors import ConfigurationError, SerializationError


@dataclasses.dataclass
class Item:
    name: str
    price: float = 0.0


@dataclasses.dataclass
class SpecialItem(Item):
    discount: float = 0.5


class Node(msgspec.Struct):
    price: Any = None


class Model(pydantic.BaseModel):
    price: float = 0.0
    secret: str = pydantic.Field("", exclude=True)


class Count(enum.IntEnum):
    ONE = 1


class Letter(enum.StrEnum):
    A = "a"
    NUL = "\0"


class Text(str):
    __slots__ = ()


class Plain:
    pass


def task(items=None, options=None):
    return None


def typed(annotation: Any) -> Codec:
    def typed_task(value: Any) -> None:
        return None

    typed_task.__annotations__ = {"value": annotation}
    return Codec(typed_task)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


NAN = float("nan")
INFINITY = float("inf")

NEVER_STORED: list[tuple[Any, str, str]] = [
    (NAN, "", "nan"),
    ([0, 1, 2, {"price": NAN}], "[3].price", "nan"),
    ([INFINITY], "[0]", "inf"),
    ([-INFINITY], "[0]", "-inf"),
    ([Decimal("NaN")], "[0]", "NaN"),
    ([Decimal("sNaN")], "[0]", "NaN"),
    ([Decimal("-Infinity")], "[0]", "-Infinity"),
    ({"odd key": NAN}, '["odd key"]', "nan"),
    ([Item("a", NAN)], "[0].price", "nan"),
    ([Node(price=NAN)], "[0].price", "nan"),
    ([Model(price=NAN)], "[0].price", "nan"),
    ({1: NAN}, '["1"]', "nan"),
    ({NAN: 1}, "nan", "in the key"),
    ("a\0b", "", "NUL"),
    ({"a": ["b\0"]}, "a[0]", "NUL"),
    ({"a\0b": 1}, '["a\\u0000b"]', "in the key: text that contains NUL"),
    ([Letter.NUL], "[0]", "NUL"),
    ("\ud800", "", "lone surrogate"),
    (["\udfff \u20ac"], "[0]", "lone surrogate"),
    ({"\ud83d": 1}, '["\\ud83d"]', "in the key: text that contains a lone surrogate"),
    ([10**5000], "[0]", "integer"),
    ([Plain()], "[0]", "objects of type Plain cannot be stored; annotate"),
    ({"a": {"b": object()}}, "a.b", "objects of type object"),
    ([Text("x")], "[0]", "objects of type Text"),
    ([lambda: None], "[0]", "objects of type function"),
    ([iter([])], "[0]", "objects of type list_iterator"),
    ([3 + 2j], "[0]", "objects of type complex"),
    ([Item], "[0]", "objects of type type"),
    ([msgspec.Raw(b"nonsense")], "[0]", "objects of type Raw"),
    ([msgspec.UNSET], "[0]", "objects of type UnsetType"),
    ({(1, 2): 1}, "", "keys of type tuple"),
    ({"a": {None: 1}}, "a", "keys of type NoneType"),
    ({True: 1}, "", "keys of type bool"),
    ({1: "a", "1": "b"}, "", "two keys of this dict have the same text"),
    (
        [datetime(2024, 1, 1, tzinfo=timezone(timedelta(minutes=9, seconds=21)))],
        "[0]",
        "whole minutes",
    ),
]


@pytest.mark.parametrize(("value", "path", "problem"), NEVER_STORED, ids=range(len(NEVER_STORED)))
def test_a_result_that_text_cannot_hold_is_refused_with_its_place(
    value: Any, path: str, problem: str
) -> None:
    """fault:H1, fault:H2"""
    with pytest.raises(SerializationError) as caught:
        Codec(task).encode_result(value)

    assert caught.value.path == path
    assert str(caught.value).startswith("the result of task: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(("value", "path", "problem"), NEVER_STORED, ids=range(len(NEVER_STORED)))
def test_an_argument_that_text_cannot_hold_is_refused_with_its_place(
    value: Any, path: str, problem: str
) -> None:
    """fault:H1, fault:H2"""
    with pytest.raises(SerializationError) as caught:
        Codec(task).encode((), {"items": value})

    dot = "" if not path or path.startswith("[") else "."
    assert caught.value.path == f"items{dot}{path}"
    assert str(caught.value).startswith(f"task: items{dot}{path}: ")
    assert problem in str(caught.value)


NOT_PLAIN: list[tuple[Any, str]] = [
    ((1, 2), "tuple would come back as list"),
    ({1}, "set would come back as list"),
    (datetime(2024, 1, 1), "datetime would come back as str"),
    (UUID(int=1), "UUID would come back as str"),
    (Decimal(1), "Decimal would come back as str"),
    (b"x", "bytes would come back as str"),
    (Count.ONE, "Count would come back as int"),
    (Letter.A, "Letter would come back as str"),
    (Item("a"), "Item would come back as dict"),
    (Model(), "Model would come back as dict"),
    (defaultdict(int), "defaultdict would come back as dict"),
]


@pytest.mark.parametrize(
    ("value", "problem"), NOT_PLAIN, ids=[type(value).__name__ for value, _ in NOT_PLAIN]
)
def test_an_argument_without_annotation_must_be_a_json_value(value: Any, problem: str) -> None:
    with pytest.raises(SerializationError, match=f"{problem}; annotate it") as caught:
        Codec(task).encode((), {"items": [{"a": value}]})

    assert caught.value.path == "items[0].a"


@pytest.mark.parametrize("annotation", [Any, object, dict[str, Any], dict[str, object]])
def test_any_and_object_ask_for_json_values_too(annotation: Any) -> None:
    with pytest.raises(SerializationError, match="tuple would come back as list"):
        typed(annotation).encode(({"a": (1,)},), {})


def test_keys_that_would_come_back_as_text_are_refused() -> None:
    with pytest.raises(SerializationError, match="this key would be lost") as caught:
        Codec(task).encode((), {"items": {1: "a"}})

    assert caught.value.path == 'items["1"]'


@pytest.mark.parametrize(
    ("annotation", "value", "path", "problem"),
    [
        (int, "1", "value", "expected `int`, got `str`"),
        (int, True, "value", "expected `int`, got `bool`"),
        (int, 1.0, "value", "expected `int`, got `float`"),
        (str, 1, "value", "expected `str`, got `int`"),
        (bool, 1, "value", "expected `bool`, got `int`"),
        (float, 2**53 + 1, "value", "int would come back as float"),
        (float | None, NAN, "value", "nan"),
        (datetime, "2024-01-01T00:00:00", "value", "str would come back as datetime"),
        (UUID, str(UUID(int=1)), "value", "str would come back as UUID"),
        (Decimal, "1", "value", "str would come back as Decimal"),
        (list[int], (1, 2), "value", "tuple would come back as list"),
        (list[Item], [Item("a"), SpecialItem("b")], "value[1]", "SpecialItem would come back"),
        (dict[str, int], {"a": 1, "b": "x"}, "value.b", "expected `int`, got `str`"),
        (dict[Letter, int], {"a": 1}, "value.a", "str would come back as Letter"),
        (Letter, "a", "value", "str would come back as Letter"),
        (Item, {"name": "a"}, "value", "dict would come back as Item"),
        (list[Model], [Model(secret="x")], "value[0].secret", "would come back changed"),
        (list[int], [1, None], "value[1]", "expected `int`, got `null`"),
    ],
)
def test_an_argument_that_would_come_back_as_something_else_is_refused(
    annotation: Any, value: Any, path: str, problem: str
) -> None:
    """fault:H10"""
    with pytest.raises(SerializationError, match=problem) as caught:
        typed(annotation).encode((value,), {})

    assert caught.value.path == path


def test_an_argument_may_be_as_deep_as_allowed_and_no_deeper() -> None:
    """fault:H3: the object of arguments is the first level."""
    codec = Codec(task)

    codec.encode((nested(63),), {})
    with pytest.raises(SerializationError, match="nested deeper than 64 levels") as caught:
        codec.encode((nested(64),), {})

    assert caught.value.path == "items" + "[0]" * 63


def cycle() -> list[Any]:
    value: list[Any] = []
    value.append({"again": value})
    return value


def every_way_out() -> list[tuple[str, Callable[[Any], object]]]:
    codec = Codec(task)
    return [
        ("encode", lambda value: codec.encode((value,), {})),
        ("encode_result", codec.encode_result),
        ("to_json", to_json),
    ]


@pytest.mark.parametrize(("name", "way"), every_way_out(), ids=lambda part: str(part)[:13])
@pytest.mark.parametrize("value", [nested(1_000), nested(100_000), cycle()], ids=range(3))
def test_no_depth_and_no_cycle_makes_the_encoder_recurse(
    name: str, way: Callable[[Any], object], value: Any
) -> None:
    """fault:H3, threat:T9"""
    with pytest.raises(SerializationError, match="nested deeper than 64 levels"):
        way(value)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"]":'])
@pytest.mark.parametrize("depth", [65, 1_000, 100_000])
def test_no_depth_makes_the_decoder_recurse(opening: str, depth: int) -> None:
    """fault:H3, threat:T9"""
    closing = {"[": "]", '{"a":': "}", '[{"]":': "}]"}[opening]
    codec = Codec(task)
    text = opening * depth + "1" + closing * depth

    for read in (codec.decode, codec.decode_result):
        with pytest.raises(SerializationError, match="nested deeper than 64 levels"):
            read(f'{{"items":{text}}}')
        with pytest.raises(SerializationError):
            read(opening * depth)
    for read_plain in (from_json, canonical):
        with pytest.raises(SerializationError):
            read_plain(opening * max(depth, 201))


def test_text_that_opens_more_than_it_closes_is_too_deep() -> None:
    with pytest.raises(SerializationError, match="nested deeper than 64 levels"):
        Codec(task).decode("[" * 65)


def test_brackets_inside_text_are_no_depth() -> None:
    codec = Codec(task)
    value = ['[{\\"' * 100, {"[[[[" * 30: '"]'}]

    ((read, _), _) = codec.decode(codec.encode((value,), {}))

    assert read == value


def test_many_brackets_side_by_side_are_no_depth() -> None:
    codec = Codec(task)
    value = [[[], {}, [[1]]] for _ in range(1_000)]

    assert codec.decode(codec.encode((value,), {}))[0][0] == value


def test_nesting_of_malicious_text_is_checked_in_linear_time() -> None:
    """threat:T9: quadratic time would be hours here."""
    check_nesting('"' + '\\"[' * 300_000, label="text")


def test_structures_that_share_their_parts_do_not_run_away() -> None:
    """threat:T9: two to the power of 50 members, written with fifty lists."""
    bomb: list[Any] = []
    for _ in range(50):
        bomb = [bomb, bomb]

    with pytest.raises(SerializationError, match="larger than the 1000 bytes allowed"):
        Codec(task, Limits(max_bytes=1000)).encode_result(bomb)


@pytest.mark.parametrize("character", ["a", "\u20ac"])
def test_size_is_counted_in_bytes_and_both_numbers_are_told(character: str) -> None:
    """fault:H4"""
    codec = Codec(task, Limits(max_bytes=1_000))
    fits = character * (998 // len(character.encode()))

    assert len(codec.encode_result(fits).encode()) <= 1_000
    too_big = fits + "abc"
    size = len(too_big.encode()) + 2
    with pytest.raises(SerializationError, match=f"{size} bytes are more than the 1000 allowed"):
        codec.encode_result(too_big)


def test_arguments_count_as_they_are_stored() -> None:
    """fault:H4"""
    codec = Codec(task, Limits(max_bytes=30))

    assert len(codec.encode(("x",), {})) == len('{"items":"x","options":null}')
    with pytest.raises(SerializationError, match="31 bytes are more than the 30 allowed"):
        codec.encode(("x" * 4,), {})


def test_text_beyond_every_limit_is_not_decoded() -> None:
    """fault:H4"""
    with pytest.raises(SerializationError, match="characters are more than 1048576 bytes"):
        Codec(task).decode('{"items":"' + "x" * 1_048_577 + '"}')


@pytest.mark.parametrize(
    "options", [{"max_bytes": 0}, {"max_bytes": 1_048_577}, {"max_depth": -1}, {"max_depth": 201}]
)
def test_limits_have_caps(options: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        Limits(**options)


def test_plain_values_are_checked_like_arguments() -> None:
    with pytest.raises(SerializationError, match="tuple would come back as list") as caught:
        to_json({"a": (1,)})
    assert caught.value.path == "a"

    with pytest.raises(SerializationError, match="bytes are more than the 10 allowed"):
        to_json("x" * 10, Limits(max_bytes=10))


def test_a_model_that_no_longer_holds_what_it_declares_is_refused() -> None:
    with pytest.raises(SerializationError, match="PydanticSerializationError"):
        Codec(task).encode_result(Model.model_construct(price="text"))


class Deepening(pydantic.BaseModel):
    value: int = 1

    @pydantic.field_serializer("value")
    def deepen(self, value: int) -> list[Any]:
        return nested(70)


def test_a_model_that_writes_itself_too_deeply_is_refused() -> None:
    with pytest.raises(SerializationError, match="nested deeper than 64 levels"):
        Codec(task).encode_result(Deepening())


def test_a_refusal_never_shows_the_value() -> None:
    """threat:T14"""
    with pytest.raises(SerializationError) as caught:
        typed(list[Model]).decode('{"value":[{"price":"hunter2"}]}')

    assert "hunter2" not in str(caught.value)
