"""Where the caret of a filter's text is, and how a completion is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskq.filtering.completing import Place, beginning, name_text, place, value_text
from taskq.filtering.fields import FIELDS
from taskq.filtering.reading import parsed
from taskq.filtering.terms import Pattern, TagIn, TextIn
from taskq.web.api.suggestions import _HELP


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("|", Place(0, 0, None, "")),
        ("sta|", Place(0, 3, None, "sta")),
        ("-sta|", Place(1, 4, None, "sta")),
        ("status:fai|", Place(7, 10, "status", "fai")),
        ("status:failed,can|", Place(14, 17, "status", "can")),
        ("status:fai|led,x", Place(7, 13, "status", "fai")),
        ("type:a |", Place(7, 7, None, "")),
        ("type:a st|atus:x", Place(7, 14, None, "st")),
        ('tag.region:"eu w|', Place(11, 16, "tag.region", "eu w")),
        ("tag.re|", Place(0, 6, None, "tag.re")),
        ("age>1|", Place(4, 5, "age", "1")),
        ('"a : b" que|', Place(8, 11, None, "que")),
        ('user:"a\\"b|', Place(5, 10, "user", 'a"b')),
    ],
)
def test_the_caret_is_in_a_name_or_a_value(text: str, expected: Place) -> None:
    assert place(text.replace("|", ""), text.index("|")) == expected


@given(st.text(max_size=40), st.integers(0, 50))
def test_any_text_has_a_place(text: str, at: int) -> None:
    found = place(text, at)
    assert 0 <= found.start <= min(at, len(text)) <= found.end <= len(text)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_a_value_as_it_is_written_is_read_as_it_was(value: str) -> None:
    assert parsed(f"user:{value_text(value)}") == (TextIn("user_id", (Pattern(value),)),)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_a_key_as_it_is_written_is_read_as_it_was(key: str) -> None:
    assert parsed(f"tag.{name_text(key)}:x") == (TagIn(key, (Pattern("x"),)),)


def test_what_begins_so_comes_before_what_holds_it() -> None:
    assert beginning(["retail", "Email", "mail", "mail"], "mail", limit=5) == ["mail", "Email"]
    assert beginning(["b", "a"], "", limit=1) == ["b"]


def test_every_field_is_explained() -> None:
    assert _HELP.keys() == FIELDS.keys()
