"""Annotations that cannot be used, and stored text that does not fit those that can."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import pydantic
import pytest

from taskq.codec import Codec
from taskq.errors import ConfigurationError, SerializationError

if TYPE_CHECKING:
    from somewhere import Missing


@dataclasses.dataclass
class Item:
    name: str
    price: float


class User(pydantic.BaseModel):
    name: str
    born: date = pydantic.Field(alias="birthday")
    scores: list[float] = []


class Plain:
    pass


def send_email(to: str, subject: str = "Welcome") -> str:
    return to + subject


def codec_for(annotation: Any) -> Codec:
    """The codec of ``task(value: annotation)``."""

    def task(value: Any) -> None:
        return None

    task.__annotations__ = {"value": annotation}
    return Codec(task)


def unresolvable(value: int, other: Missing) -> None:
    return None


def test_building_a_codec_never_evaluates_annotations() -> None:
    assert Codec(unresolvable).name == "unresolvable"


@pytest.mark.parametrize("use", ["encode", "decode", "decode_result"])
def test_a_name_that_cannot_be_resolved_names_function_parameter_and_name(use: str) -> None:
    codec = Codec(unresolvable)
    calls: dict[str, Callable[[], object]] = {
        "encode": lambda: codec.encode((1, 2), {}),
        "decode": lambda: codec.decode("{}"),
        "decode_result": lambda: codec.decode_result("null"),
    }

    with pytest.raises(ConfigurationError) as caught:
        calls[use]()

    assert str(caught.value).startswith(
        "unresolvable: parameter 'other': the name 'Missing' cannot be resolved"
    )


@pytest.mark.parametrize("annotation", [Plain, list[Plain], Plain | None, dict[str, Plain]])
def test_an_annotation_that_cannot_be_stored_is_named_at_first_use(annotation: Any) -> None:
    codec = codec_for(annotation)

    with pytest.raises(ConfigurationError, match=r"task: parameter 'value': .*\bPlain\b"):
        codec.encode((1,), {})


def test_a_union_that_cannot_be_told_apart_is_named_at_first_use() -> None:
    with pytest.raises(ConfigurationError, match=r"task: parameter 'value': .*set\[int\]"):
        codec_for(list[int] | set[int]).encode(([1],), {})


@dataclasses.dataclass
class Unfinished:
    part: Missing


def test_a_name_inside_an_annotated_class_that_cannot_be_resolved_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"task: parameter 'value': .*Unfinished.*Missing"):
        codec_for(Unfinished).encode((1,), {})


def test_a_wrapped_function_has_the_signature_and_types_of_what_it_wraps() -> None:
    @functools.wraps(send_email)
    def wrapper(*args: Any, **kwargs: Any) -> str:
        return send_email(*args, **kwargs)

    args, kwargs = Codec(wrapper).decode('{"to":"a"}')

    assert wrapper(*args, **kwargs) == "aWelcome"
    with pytest.raises(SerializationError, match="send_email: to: expected `str`"):
        Codec(wrapper).encode((1,), {})


def returns_plain() -> Plain:
    return Plain()


def test_a_return_annotation_that_cannot_be_stored_is_named_before_anything_runs() -> None:
    with pytest.raises(ConfigurationError, match=r"returns_plain: the return annotation: .*Plain"):
        Codec(returns_plain).encode((), {})


def never_returns() -> NoReturn:
    raise SystemExit


def test_a_function_that_never_returns_has_any_result() -> None:
    assert Codec(never_returns).decode_result("null") is None


def test_a_wrong_call_is_told_before_annotations_are_resolved() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'value'"):
        Codec(unresolvable).encode((), {})


# -- what stored arguments no longer fit -----------------------------------------------------------


def test_an_argument_that_the_text_lacks_takes_its_default() -> None:
    assert Codec(send_email).decode('{"to":"a"}') == (("a", "Welcome"), {})


@pytest.mark.parametrize(
    ("text", "message", "path"),
    [
        ('{"to":"a","cc":"b"}', "send_email no longer accepts 'cc'", "cc"),
        ('{"subject":"a"}', "send_email requires 'to', which", "to"),
        ('{"to":"a","subject":1}', "send_email: subject: expected `str`, got `int`", "subject"),
        ('{"to":null}', "send_email: to: expected `str`, got `null`", "to"),
        ("[]", "send_email: expected `object`, got `array`", ""),
        ("null", "send_email: ", ""),
        ("{", "send_email: the text is not JSON", ""),
        ('{"to":1,', "send_email: the text is not JSON", ""),
        ("", "send_email: the text is not JSON", ""),
        ('\ufeff{"to":"a"}', "send_email: the text is not JSON", ""),
        ('{"to":"\ud800"}', "send_email: ", ""),
        ('{"to":NaN}', "send_email: the text is not JSON", ""),
    ],
)
def test_text_that_does_not_fit_says_what_does_not(text: str, message: str, path: str) -> None:
    """fault:H7, fault:H10"""
    with pytest.raises(SerializationError) as caught:
        Codec(send_email).decode(text)

    assert str(caught.value).startswith(message)
    assert caught.value.path == path


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    a: int


MISFITS: list[tuple[Any, Any, str]] = [
    (list[Item], [{"name": "a", "price": 1}, {"name": "b", "price": "x"}], "value[1].price"),
    (dict[str, int], {"a": 1, "b": 2, "c": "x", "d": 4}, "value.c"),
    (dict[str, int], {"a": 1, "odd key": "x"}, 'value["odd key"]'),
    (dict[int, int], {"1": 1, "x": 2}, "value.x"),
    (dict[str, list[dict[str, int]]], {"a": [], "b": [{}, {"c": 1, "d": None}]}, "value.b[1].d"),
    (Item, {"name": "a"}, "value.price"),
    (Strict, {"a": 1, "b": 2}, "value.b"),
    (
        list[User],
        [{"name": "a", "birthday": "2000-01-01", "scores": [1, "x"]}],
        "value[0].scores[1]",
    ),
    (dict[str, User], {"a": {"name": "a"}}, "value.a.birthday"),
    (tuple[int, str], [1, 2], "value[1]"),
]


@pytest.mark.parametrize(("annotation", "stored", "path"), MISFITS)
def test_a_value_that_does_not_fit_is_named_by_its_exact_place(
    annotation: Any, stored: Any, path: str
) -> None:
    with pytest.raises(SerializationError) as caught:
        codec_for(annotation).decode(json.dumps({"value": stored}))

    assert caught.value.path == path
    assert f"task: {path}: " in str(caught.value)


class Stubborn(pydantic.BaseModel):
    value: int

    @pydantic.field_validator("value")
    @classmethod
    def refuse(cls, value: int) -> int:
        raise KeyError(value)


def test_an_error_out_of_a_users_own_validator_is_a_misfit_with_its_cause() -> None:
    with pytest.raises(SerializationError, match="cannot be read back: KeyError: 3") as caught:
        codec_for(Stubborn).decode('{"value":{"value":3}}')

    assert isinstance(caught.value.__cause__, KeyError)
