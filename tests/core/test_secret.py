"""``Secret``: shown nowhere, and stored as the value that it is. threat:T14"""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

import msgspec
import pytest

from taskq import Secret
from taskq.codec import Codec
from taskq.errors import ConfigurationError, SerializationError

CANARY = "canary-5f3a"


class Login(msgspec.Struct):
    user: str
    password: Secret[str]


@dataclass
class Card:
    pin: Secret[int] | None = None


class Named(TypedDict):
    card: Card


class Pair(NamedTuple):
    left: Secret[str]
    right: str


class Node(msgspec.Struct):
    value: Secret[str]
    below: list[Node] = []


class Dotted(msgspec.Struct, rename={"key": "a.key"}):
    key: Secret[str]


def test_no_text_of_it_shows_the_value() -> None:
    secret = Secret(CANARY)
    texts = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>20}",
        f"{[secret]}",
    ]
    assert not [text for text in texts if CANARY in text]
    assert secret.reveal() == CANARY


def test_secrets_are_equal_when_their_values_are() -> None:
    assert Secret("x") == Secret("x")
    assert hash(Secret("x")) == hash(Secret("x"))
    assert Secret("x") != Secret("y")
    assert Secret(1) != Secret(True)
    assert Secret("x") != "x"


def test_it_is_copied_and_never_pickled() -> None:
    secret = Secret([CANARY])
    assert copy.copy(secret) is secret
    assert copy.deepcopy({"a": secret})["a"] is secret
    with pytest.raises(TypeError, match="reveal"):
        pickle.dumps(secret)


def encoded(function: Any, *args: Any, **kwargs: Any) -> tuple[str, dict[str, Any]]:
    """The stored text, and the arguments read back by name."""
    codec = Codec(function)
    text = codec.encode(args, kwargs)
    positional, named = codec.decode(text)
    return text, {**dict(zip(codec.signature.parameters, positional, strict=False)), **named}


def login(user: str, password: Secret[str]) -> None: ...


@pytest.mark.parametrize("given", [CANARY, Secret(CANARY)])
def test_the_handler_gets_a_secret_of_what_is_stored_plain(given: object) -> None:
    text, read = encoded(login, "ada", given)
    assert text == f'{{"password":"{CANARY}","user":"ada"}}'
    assert read == {"user": "ada", "password": Secret(CANARY)}


def nested(
    login: Login,
    cards: list[Card],
    named: Named,
    keys: dict[str, Secret[bytes]],
    price: Secret[Decimal],
    any: Secret[Any],
    none: Secret[str] | None = None,
) -> None: ...


def test_secrets_are_read_back_typed_wherever_they_are() -> None:
    given = {
        "login": Login("ada", Secret("p")),
        "cards": [Card(Secret(7)), Card()],
        "named": Named(card=Card(Secret(8))),
        "keys": {"a": Secret(b"\0\1")},
        "price": Secret(Decimal("1.10")),
        "any": Secret({"b": [1, None], "a": 10**30}),
        "none": None,
    }
    text, read = encoded(nested, **given)
    assert read == given
    assert '"any":{"a":1000000000000000000000000000000,"b":[1,null]}' in text


def test_without_a_type_a_secret_holds_any_value() -> None:
    def keep(value: Any) -> None: ...

    keep.__annotations__["value"] = Secret
    assert encoded(keep, Secret({"a": [1]}))[1] == {"value": Secret({"a": [1]})}
    assert Codec(keep).secrets == {"value"}


def test_the_codec_knows_where_secrets_are() -> None:
    assert Codec(login).secrets == {"password"}
    assert Codec(nested).secrets == {
        "login.password",
        "cards.pin",
        "named.card.pin",
        "keys.*",
        "price",
        "any",
        "none",
    }


def odd(
    pair: Pair,
    two: tuple[str, Secret[str]],
    node: Node,
    dotted: dict[str, Dotted],
    noted: Annotated[Secret[str], "note"],
    *rest: Secret[str],
    plain: list[str],
    **more: Secret[int],
) -> Secret[str]:
    return rest[0]


def test_a_secret_without_a_place_hides_what_is_around_it() -> None:
    codec = Codec(odd)
    assert codec.secrets == {
        "pair",
        "two",
        "node.value",
        "node.below",
        "dotted.*",
        "noted",
        "rest",
        "more.*",
    }
    assert codec.result_secrets == {""}


def test_without_secrets_there_is_no_place() -> None:
    def plain(to: str, rows: list[dict[str, int]]) -> list[int]: ...

    assert Codec(plain).secrets == frozenset()
    assert Codec(plain).result_secrets == frozenset()


def test_an_annotation_that_is_at_fault_has_no_place() -> None:
    def wrong(a: Secret[str], b: object | int) -> None: ...

    wrong.__annotations__["b"] = "Nowhere"
    assert Codec(wrong).secrets == frozenset()
    with pytest.raises(ConfigurationError):
        Codec(wrong).encode((1, 2), {})


def test_a_secret_of_the_wrong_type_is_refused_without_its_value() -> None:
    with pytest.raises(SerializationError) as caught:
        Codec(nested).decode(
            '{"login":{"user":"ada","password":["canary-5f3a"]},"cards":[],"named":{"card":{}},'
            '"keys":{},"price":"1","any":1}'
        )
    assert caught.value.path == "login.password"
    assert "the secret does not fit its type, str" in str(caught.value)
    assert CANARY not in str(caught.value)


def test_a_secret_where_none_is_annotated_is_refused_without_its_value() -> None:
    def send(to: str, body: Any) -> None: ...

    for call in ({"to": Secret(CANARY), "body": 1}, {"to": "ada", "body": [Secret(CANARY)]}):
        with pytest.raises(SerializationError, match="annotate it as Secret") as caught:
            Codec(send).encode((), call)
        assert CANARY not in str(caught.value)


def test_what_cannot_be_stored_cannot_be_secret() -> None:
    with pytest.raises(SerializationError):
        Codec(login).encode(("ada", Secret(float("nan"))), {})
    with pytest.raises(SerializationError):
        Codec(login).encode(("ada", Secret(object())), {})
