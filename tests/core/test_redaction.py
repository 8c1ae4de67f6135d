"""What is hidden, and that nothing else changes. threat:T14"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskq.errors import ConfigurationError, SerializationError
from taskq.redaction import MASK, Redaction, names_of, scrub

REDACTION = Redaction()
HIDDEN = json.dumps(MASK)
CANARY = "canary-5f3a"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Password",
        "DB_PASSWORD",
        "user-password",
        "api_key",
        "apiKey",
        "X-Api-Key",
        "stripe api key",
        "access_token",
        "tokens",
        "Authorization",
        "set-cookie",
        "client_secret",
        "aws.secret.access.key",
        "credentials",
        "private_key",
    ],
)
def test_a_member_is_hidden_by_its_name(name: str) -> None:
    text = json.dumps({"to": "ada", name: CANARY})
    assert REDACTION.text(text) == json.dumps({"to": "ada", name: MASK})
    assert REDACTION.value(json.loads(text)) == {"to": "ada", name: MASK}


@pytest.mark.parametrize(
    "name", ["to", "key", "author", "max_tokens", "tokenCount", "prompt_tokens", "pass", "primary"]
)
def test_other_names_hide_nothing(name: str) -> None:
    text = json.dumps({name: "shown"})
    assert REDACTION.text(text) == text


def test_a_name_of_ones_own_hides_what_is_usually_shown() -> None:
    redaction = Redaction.also(["Kunden-Nr", "token_count"])
    text = '{"kunden_nr":1,"token_count":2,"password":3,"to":4}'
    assert json.loads(redaction.text(text)) == {
        "kunden_nr": MASK,
        "token_count": MASK,
        "password": MASK,
        "to": 4,
    }


def test_a_member_is_hidden_at_any_depth_and_whatever_it_holds() -> None:
    text = '{"a":[{"b":{"password":{"c":["x",{"d":"}"}]}}},{"token":[1,[2]]}],"secret":null,"z":1}'
    assert REDACTION.text(text) == (
        f'{{"a":[{{"b":{{"password":{HIDDEN}}}}},{{"token":{HIDDEN}}}],"secret":{HIDDEN},"z":1}}'
    )


def test_a_name_written_with_escapes_hides_too() -> None:
    assert CANARY not in REDACTION.text(rf'{{"pass\u0077ord":"{CANARY}"}}')


def test_the_first_of_two_members_of_one_name_is_hidden_too() -> None:
    assert CANARY not in REDACTION.text(f'{{"password":"{CANARY}","password":"x"}}')


def test_what_is_not_hidden_stays_byte_for_byte() -> None:
    text = (
        '{ "big": 123456789012345678901234567890, "f": 1.10, "e": 1e400, "z": -0.0,\n'
        r' "u": "\u00e9\/é\"}", "b": [ ], "password" : "x" , "a": {"b": 1 , "b": 2} }'
    )
    assert REDACTION.text(text) == text.replace('"x"', HIDDEN)


def test_what_is_no_object_has_nothing_to_hide() -> None:
    for text in ('"password"', "1", "null", '["password", "x"]', "[]", "{}"):
        assert REDACTION.text(text) == text


@pytest.mark.parametrize(
    "text", ["", "password=x", '{"a": 1', '{"a": 1}}', "{'password': 'x'}", "[" * 5000 + "]" * 5000]
)
def test_what_is_no_json_is_hidden_whole(text: str) -> None:
    assert REDACTION.text(text) == HIDDEN
    assert REDACTION.held(text) == frozenset()


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("pin", '{"pin":0,"login":{"pin":1,"rows":[{"pin":2},{"x":3}]}}'),
        ("login.pin", '{"pin":9,"login":{"pin":0,"rows":[{"pin":2},{"x":3}]}}'),
        ("login.rows.pin", '{"pin":9,"login":{"pin":1,"rows":[{"pin":0},{"x":3}]}}'),
        ("login.*", '{"pin":9,"login":{"pin":0,"rows":0}}'),
        ("*.rows.x", '{"pin":9,"login":{"pin":1,"rows":[{"pin":2},{"x":0}]}}'),
    ],
)
def test_a_place_that_the_task_names_is_hidden(path: str, hidden: str) -> None:
    text = '{"pin":9,"login":{"pin":1,"rows":[{"pin":2},{"x":3}]}}'
    expected = hidden.replace(":0", f":{HIDDEN}")
    assert REDACTION.text(text, {path}) == expected
    assert REDACTION.value(json.loads(text), {path}) == json.loads(expected)


def test_a_place_and_one_below_it_are_both_hidden() -> None:
    assert REDACTION.text('{"a":{"b":1}}', ["a.b", "a"]) == f'{{"a":{HIDDEN}}}'


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.sampled_from(["password", "a", "token_x"]), inner)
    ),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.sampled_from([None, 2]))
def test_text_and_value_agree(value: object, ascii: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    assert json.loads(REDACTION.text(text)) == REDACTION.value(json.loads(text))


@given(JSON)
def test_without_names_nothing_changes(value: object) -> None:
    text = json.dumps(value)
    assert Redaction(frozenset()).text(text) == text
    assert Redaction(frozenset()).value(json.loads(text)) == json.loads(text)


# -- what comes back -------------------------------------------------------------------------------

OLD = {"to": "ada", "password": CANARY, "rows": [{"token": 1}, {"token": 2}], "plain": MASK}


def test_what_comes_back_hidden_keeps_its_old_value() -> None:
    shown = REDACTION.value(OLD)
    assert REDACTION.restored({**shown, "to": "eve"}, OLD) == {**OLD, "to": "eve"}


def test_what_comes_back_changed_is_taken() -> None:
    assert REDACTION.restored({"password": "new"}, OLD) == {"password": "new"}


@pytest.mark.parametrize(
    ("new", "where"),
    [
        ({"to": MASK}, "to"),
        ({"other": [MASK]}, "other[0]"),
        ({"secret": MASK}, "secret"),
        ({"password": {"now": MASK}}, "password.now"),
        ({"rows": [{"token": MASK}]}, "rows[0].token"),
    ],
)
def test_a_mask_in_another_place_is_refused(new: dict[str, object], where: str) -> None:
    with pytest.raises(SerializationError) as caught:
        REDACTION.restored(new, OLD)
    assert caught.value.path == where


@given(st.dictionaries(st.text() | st.sampled_from(["password", "a"]), JSON))
def test_what_comes_back_as_it_was_shown_is_what_was(old: dict[str, object]) -> None:
    assert REDACTION.restored(REDACTION.value(old, {"a"}), old, {"a"}) == old


# -- other texts -----------------------------------------------------------------------------------


def test_the_values_that_are_hidden_can_be_had() -> None:
    text = '{"to":"ada","password":"a\\nb c","token":[1234.5,{"k":"v","n":null}],"pin":7}'
    assert REDACTION.held(text, {"pin"}) == {"a\nb c", "1234.5", "v", "7"}


def test_values_are_scrubbed_longest_first() -> None:
    assert scrub("is abcdef or abcd", ["abcd", "abcdef"]) == f"is {MASK} or {MASK}"


def test_a_mask_is_not_scrubbed_again() -> None:
    assert scrub("was hunter2", ["hunter2", "redacted"]) == f"was {MASK}"


def test_short_values_are_left() -> None:
    assert scrub("an abc", ["abc", ""]) == "an abc"


@pytest.mark.parametrize("value", ['it\'s \\ "so"', "a b&c/ü", "tab\tbell\x07", "\u202eabc"])
def test_a_value_is_found_as_programs_write_it(value: str) -> None:
    for written in (value, repr(value), json.dumps(value), repr(value.encode())):
        assert scrub(f"<{written}>", [value]).strip("<>b'\"") == MASK


def test_a_value_is_found_in_a_url() -> None:
    assert scrub("postgresql://ada:p%40ss+w%2Frd@x", ["p@ss w/rd"]) == f"postgresql://ada:{MASK}@x"


def test_a_value_of_several_lines_is_found_behind_a_margin() -> None:
    value = "-----BEGIN KEY-----\nMIIEvQIBADAN\nabc\n-----END KEY-----"
    text = "\n".join(f"  | {line}" for line in value.splitlines())
    assert "MIIEvQIBADAN" not in scrub(text, [value])


# -- JSON inside strings ---------------------------------------------------------------------------

BODY = json.dumps({"user": "ada é", "password": CANARY})
NESTED = json.dumps({"body": json.dumps({"inner": BODY}), "note": "{not json", "n": "[1]"})


def test_a_text_that_is_json_is_looked_into() -> None:
    shown = json.loads(REDACTION.text(NESTED))
    inner = json.loads(json.loads(shown["body"])["inner"])
    assert inner == {"user": "ada é", "password": MASK}
    assert (shown["note"], shown["n"]) == ("{not json", "[1]")
    assert shown == REDACTION.value(json.loads(NESTED))
    assert REDACTION.held(NESTED) == {CANARY}


def test_a_text_that_is_json_comes_back_whole_or_is_refused() -> None:
    old = json.loads(NESTED)
    shown = REDACTION.value(old)
    assert REDACTION.restored(shown, old) == old
    with pytest.raises(SerializationError):
        REDACTION.restored({"body": shown["body"] + " "}, old)


def test_texts_inside_a_hidden_text_count_as_secrets() -> None:
    assert REDACTION.held(json.dumps({"token": BODY})) == {BODY, "ada é", CANARY}


def test_the_empty_place_hides_everything() -> None:
    assert REDACTION.text('{"a": 1}', {""}) == HIDDEN
    assert REDACTION.value({"a": 1}, {""}) == MASK
    assert REDACTION.held('{"a": "long"}', {""}) == {"long"}


def test_names_are_read_from_a_text_or_a_sequence() -> None:
    assert names_of(" iban, birth-date ,") == names_of(["iban", "birth-date"])
    for wrong in (7, None, {"a": 1}, ["iban", ""], ["--"], "a,-"):
        with pytest.raises(ConfigurationError, match="redact"):
            names_of(wrong)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":{"password":"abcd"},"a":1}',
        '{"pass\\u0077ord":"abcd"}',
        '{"p\\nin_Token":"abcd"}',
        '["{\\"password\\":\\"abcd\\"}"]',
        '["\\u007b\\"password\\":\\"abcd\\"}"]',
        '[ "  [{\\"api-key\\":\\"abcd\\"}]"]',
        '{"max_tokens":1,"a":[{"b":{"Secret":"abcd"}}]}',
    ],
)
def test_what_is_hidden_is_not_missed_by_a_quick_look(text: str) -> None:
    redaction = Redaction()
    assert "abcd" not in redaction.text(text)
    assert "abcd" in redaction.held(text)


def test_a_quick_look_takes_any_json() -> None:
    for text in ("1" * 5000, "[1e400]", "[" * 900 + "]" * 900, '{"a":"\\ud800"}'):
        assert Redaction().text(text) in (text, '"[redacted]"')
