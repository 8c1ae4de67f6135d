"""Arguments and results to JSON text and back, exactly (design sections 2 and 7.6)."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import re
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import msgspec
import pydantic
import pytest

from taskq.codec import Codec, Limits, canonical, digest, from_json, to_json
from taskq.errors import SerializationError

if TYPE_CHECKING:
    pass


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    y: float


class Options(TypedDict, total=False):
    color: str
    size: int


@dataclasses.dataclass
class Item:
    name: str
    price: float
    tags: set[str] = dataclasses.field(default_factory=set)


@dataclasses.dataclass(eq=False)
class Anonymous:
    value: int


@dataclasses.dataclass
class Tree:
    name: str
    children: list[Tree] = dataclasses.field(default_factory=list)


class Box(msgspec.Struct, rename="camel", tag=True, omit_defaults=True):
    item_list: list[Item] = []
    color: Color = Color.RED


@attrs.define
class Address:
    street: str
    number: int = 1


class User(pydantic.BaseModel):
    name: str
    born: date = pydantic.Field(alias="birthday")
    roles: set[str] = set()
    scores: list[float] = []


class Names(pydantic.RootModel[set[str]]):
    pass


def send_email(to: str, subject: str = "Welcome") -> str:
    return to + subject


def codec_for(annotation: Any, **options: Any) -> Codec:
    """The codec of ``task(value: annotation) -> annotation``."""

    def task(value: Any) -> Any:
        return value

    task.__annotations__ = {"value": annotation, "return": annotation}
    return Codec(task, Limits(**options))


def anything(value, other=None):
    return value


# -- the shape of what is stored -------------------------------------------------------------------


def test_arguments_are_one_object_with_sorted_keys_and_defaults_filled() -> None:
    assert Codec(send_email).encode(("ada@example.com",), {}) == (
        '{"subject":"Welcome","to":"ada@example.com"}'
    )


def test_positional_and_keyword_calls_have_the_same_text() -> None:
    codec = Codec(send_email)

    texts = {
        codec.encode(("a", "b"), {}),
        codec.encode(("a",), {"subject": "b"}),
        codec.encode((), {"subject": "b", "to": "a"}),
    }

    assert texts == {'{"subject":"b","to":"a"}'}


def every_kind(a: int, /, b: int, *rest: int, c: int = 3, **others: int) -> None:
    return None


def test_every_kind_of_parameter_is_stored_under_its_own_name() -> None:
    text = Codec(every_kind).encode((1, 2, 7, 8), {"c": 4, "a": 5, "odd key": 6})

    assert json.loads(text) == {
        "a": 1,
        "b": 2,
        "rest": [7, 8],
        "c": 4,
        "others": {"a": 5, "odd key": 6},
    }


def test_every_kind_of_parameter_comes_back_as_it_was_called() -> None:
    codec = Codec(every_kind)

    call = codec.decode(codec.encode((1, 2, 7, 8), {"c": 4, "a": 5}))

    assert call == ((1, 2, 7, 8), {"c": 4, "a": 5})


def with_options(**options: Unpack[Options]) -> None:
    return None


def test_keywords_typed_by_a_typed_dict_are_checked_against_it() -> None:
    codec = Codec(with_options)

    assert codec.decode(codec.encode((), {"size": 1})) == ((), {"size": 1})
    with pytest.raises(SerializationError, match=r"options\.size: expected `int`, got `str`"):
        codec.encode((), {"size": "large"})


def test_a_function_without_parameters_stores_an_empty_object() -> None:
    codec = Codec(lambda: None)

    assert codec.encode((), {}) == "{}"
    assert codec.decode("{}") == ((), {})


# -- wrong calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "kwargs", "problem"),
    [
        ((), {}, "missing a required argument: 'to'"),
        (("a", "b", "c"), {}, "too many positional arguments"),
        (("a",), {"to": "b"}, "multiple values for argument 'to'"),
        (("a",), {"cc": "b"}, "got an unexpected keyword argument 'cc'"),
    ],
)
def test_a_wrong_call_is_a_type_error_with_the_signature(
    args: tuple[Any, ...], kwargs: dict[str, Any], problem: str
) -> None:
    with pytest.raises(TypeError) as caught:
        Codec(send_email).encode(args, kwargs)

    signature = "send_email(to: str, subject: str = 'Welcome') -> str"
    assert str(caught.value) == f"{signature}: {problem}"


def test_a_default_of_none_may_be_stored_whatever_the_annotation_says() -> None:
    def task(value=None):
        return value

    task.__annotations__ = {"value": int}
    codec = Codec(task)

    assert codec.decode(codec.encode((), {})) == ((None,), {})


# -- values ----------------------------------------------------------------------------------------

VALUES: list[tuple[Any, Any]] = [
    (int, 2**53 + 1),
    (int, -(10**400)),
    (float, -0.0),
    (float, 5e-324),
    (bool, True),
    (int | float, 3),
    (int | float, 3.0),
    (bytes, b"\x00\xff"),
    (str, "\u2028 \ufeff \U0001f600 \ufffe e\u0301 \u05d0"),
    (Literal["a", 1], 1),
    (datetime, datetime(2024, 2, 29, 1, 2, 3, 4)),
    (datetime, datetime(2024, 2, 29, tzinfo=UTC)),
    (datetime, datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))),
    (date, date(1, 1, 1)),
    (time, time(1, 2, 3, 4)),
    (timedelta, timedelta(microseconds=-1)),
    (timedelta, timedelta.max),
    (UUID, UUID(int=7)),
    (Decimal, Decimal("1.10")),
    (Decimal, Decimal("1E+400")),
    (Color, Color.BLUE),
    (Level, Level.LOW),
    (set[int], {3, 1, 2}),
    (set[Color], {Color.RED, Color.BLUE}),
    (frozenset[tuple[int, str]], frozenset({(1, "a"), (2, "b")})),
    (tuple[int, ...], (1, 2)),
    (dict[int, str], {2: "b", 1: "a"}),
    (dict[UUID, set[str]], {UUID(int=1): {"a", "b"}}),
    (dict[Color, int], {Color.RED: 1}),
    (dict[float, int], {1.5: 1}),
    (dict[str, object], {"a": [1, None, {"b": 2.5}]}),
    (Point, Point(1, 2.5)),
    (Options, {"color": "red"}),
    (Item, Item("a", 1.5, {"x", "y"})),
    (list[Item], [Item("a", 1.5)]),
    (Box, Box(item_list=[Item("a", 1.5)])),
    (Box, Box()),
    (Tree, Tree("root", [Tree("leaf"), Tree("branch", [Tree("leaf")])])),
    (Address, Address("Main", 2)),
    (User, User(name="Ada", birthday=date(1815, 12, 10), roles={"x", "y"})),
    (Names, Names({"a", "b"})),
    (list[User] | None, [User(name="Ada", birthday=date(1815, 12, 10))]),
    (Any, {"a": [1, 1.0, True, None, "x", [], {}]}),
]


def _shown(each: object) -> str:
    """The name of a case: the order in which sets are shown differs between processes."""
    return re.sub(r"\{[^{}]*\}", "{}", repr(each))


@pytest.mark.parametrize(("annotation", "value"), VALUES, ids=_shown)
def test_an_annotated_value_comes_back_exactly(annotation: Any, value: Any) -> None:
    """fault:H1, fault:H2"""
    codec = codec_for(annotation)

    ((read,), _) = codec.decode(codec.encode((value,), {}))

    assert read == value
    assert type(read) is type(value)
    assert str(read) == str(value) or not isinstance(value, int | float | Decimal)


@pytest.mark.parametrize(("annotation", "value"), VALUES, ids=_shown)
def test_an_annotated_result_comes_back_exactly(annotation: Any, value: Any) -> None:
    codec = codec_for(annotation)

    read = codec.decode_result(codec.encode_result(value))

    assert read == value
    assert type(read) is type(value)


def test_values_without_equality_of_their_own_are_compared_by_their_parts() -> None:
    codec = codec_for(Anonymous)

    ((read,), _) = codec.decode(codec.encode((Anonymous(3),), {}))

    assert read.value == 3


def test_a_moment_in_a_repeated_hour_keeps_its_instant() -> None:
    moment = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=1)
    codec = codec_for(datetime)

    ((read,), _) = codec.decode(codec.encode((moment,), {}))

    assert read.astimezone(UTC) == moment.astimezone(UTC)


def test_an_int_for_a_float_is_stored_as_the_equal_float() -> None:
    codec = codec_for(list[float])

    assert codec.encode(([1, 2.0],), {}) == codec.encode(([1.0, 2.0],), {}) == '{"value":[1.0,2.0]}'


class DriverUUID(UUID):
    """Database drivers return a subclass of their own."""


def test_a_uuid_of_a_database_driver_is_a_uuid() -> None:
    codec = codec_for(UUID)

    assert codec.decode(codec.encode((DriverUUID(int=3),), {})) == ((UUID(int=3),), {})


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 0, "", [], False, 0.0, {}])
def test_an_empty_result_is_a_text_of_its_own(value: object) -> None:
    """bug:B142"""
    codec = Codec(anything)

    text = codec.encode_result(value)

    assert text
    assert repr(codec.decode_result(text)) == repr(value)


def returns_int() -> int:
    return 1


def test_a_result_that_its_annotation_forgot_is_stored_and_refused_when_read() -> None:
    codec = Codec(returns_int)

    text = codec.encode_result("text")

    assert text == '"text"'
    with pytest.raises(SerializationError, match="the result of returns_int: expected `int`"):
        codec.decode_result(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, 2), "[1,2]"),
        ({3, 1}, "[1,3]"),
        (datetime(2024, 1, 1, tzinfo=UTC), '"2024-01-01T00:00:00Z"'),
        (Item("a", 1.0), '{"name":"a","price":1.0,"tags":[]}'),
        ({2: "b", 1: "a"}, '{"1":"a","2":"b"}'),
        (Color.RED, '"red"'),
    ],
)
def test_a_result_without_annotation_may_be_anything_with_a_text(value: object, text: str) -> None:
    assert Codec(anything).encode_result(value) == text


# -- canonical text --------------------------------------------------------------------------------


def test_the_text_of_sets_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "import pydantic\n"
        "from taskq.codec import Codec\n"
        "class M(pydantic.BaseModel):\n"
        "    names: set[str]\n"
        "def task(a: set[str], b: dict[int, frozenset[str]], c: list[M]) -> None: ...\n"
        "names = {'x', 'y', 'z', 'longer', 'w'}\n"
        "print(Codec(task).encode((names, {1: frozenset(names)}, [M(names=names)]), {}))\n"
    )

    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    names = '["longer","w","x","y","z"]'
    assert texts == {f'{{"a":{names},"b":{{"1":{names}}},"c":[{{"names":{names}}}]}}\n'}


def test_foreign_text_becomes_canonical() -> None:
    foreign = (
        ' { "to" : "\\u0061", "n": [1e2, 1.50, 10000000000000000000000], "a": {"c":1,"b":2} } '
    )

    assert canonical(foreign) == (
        '{"a":{"b":2,"c":1},"n":[100.0,1.5,10000000000000000000000],"to":"a"}'
    )


def test_canonical_text_stays_as_it_is() -> None:
    text = Codec(send_email).encode(("a",), {})

    assert canonical(text) == text


@pytest.mark.parametrize("text", ["[]", "1", "null", "{", "", '{"a":"\\u0000"}', '{"a":1e400}'])
def test_foreign_text_that_is_no_storable_object_is_refused(text: str) -> None:
    with pytest.raises(SerializationError):
        canonical(text)


def test_the_digest_is_the_sha256_of_the_text() -> None:
    assert digest('{"a":"\u00e9"}') == hashlib.sha256('{"a":"\u00e9"}'.encode()).digest()


def test_plain_values_come_back_from_their_text() -> None:
    value = {"b": [1, 1.5, None, True, "x"], "a": {}}

    assert from_json(to_json(value)) == value
    assert to_json(value) == '{"a":{},"b":[1,1.5,null,true,"x"]}'


def test_pydantic_is_not_imported_by_the_codec() -> None:
    program = (
        "import sys\nfrom taskq.codec import Codec\n"
        "def task(value: list[int]) -> None: ...\n"
        "Codec(task).encode(([1],), {})\nassert 'pydantic' not in sys.modules\n"
    )

    subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True
    )
