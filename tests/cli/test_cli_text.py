"""What reaches a terminal or a pipe."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest

from taskq.cli.failure import sentence
from taskq.cli.output import aligned
from taskq.cli.text import (
    ascii_json,
    duration,
    instant,
    json_text,
    moment,
    printable,
    printable_lines,
    shortened,
    stored_json,
)
from taskq.cli.values import seconds


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünï 漢", "plain ünï 漢"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\nb\rc", r"a\nb\rc"),
        ("a\u202eb", r"a\u202eb"),
        ("a\x9bb", r"a\x9bb"),
        ("a\ud800b", r"a\ud800b"),
    ],
)
def test_control_characters_are_shown_as_their_escapes(text: str, shown: str) -> None:
    """threat:T15"""
    assert printable(text) == shown


def test_a_text_of_lines_keeps_its_lines_and_escapes_the_rest() -> None:
    """threat:T15"""
    assert printable_lines("one\n\ttwo\x1b\r\n") == "one\n    two\\x1b\\r\n"


def test_a_shortened_text_says_that_something_is_left_out() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"


def test_json_is_ascii_and_means_the_same() -> None:
    """threat:T15"""
    value = {"text": "é\x7f\u2028\U0001f600\x1b"}
    text = json_text(value)
    assert text.isascii() and "\x7f" not in text
    assert json.loads(text) == value


def test_stored_json_keeps_every_digit_and_its_line_breaks() -> None:
    raw = '{"a": 1.0000000000000000000001,\r\n "b": 12345678901234567890123}'
    assert ascii_json(raw) == raw.replace("\r", " ")
    assert "1.0000000000000000000001" in json_text({"payload": stored_json(raw)})


def test_a_stored_text_that_is_no_json_becomes_a_string() -> None:
    assert stored_json("{oops") == "{oops"
    assert isinstance(stored_json("[1]"), msgspec.Raw)
    assert stored_json(None) is None


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (-1, "0 ms"),
        (0.0123, "12 ms"),
        (3.42, "3.42 s"),
        (90, "90 s"),
        (600, "10 min"),
        (9000, "2.5 h"),
        (259200, "3 days"),
    ],
)
def test_durations_are_said_in_the_unit_a_person_would_use(
    seconds: float | None, shown: str
) -> None:
    assert duration(seconds) == shown


def test_times_are_utc_and_say_so() -> None:
    at = datetime(2026, 11, 29, 12, 0, 0, 123456, tzinfo=UTC)
    assert moment(at) == "2026-11-29 12:00:00Z"
    assert instant(at) == "2026-11-29 12:00:00.123Z"
    assert moment(None) == "-"


def test_columns_are_aligned_and_nothing_is_cut() -> None:
    assert aligned(("a", "b"), [("long", "x"), ("y", "z" * 200)]) == (
        f"a     b\nlong  x\ny     {'z' * 200}"
    )


def test_an_exception_is_said_by_its_first_line() -> None:
    assert sentence(ValueError("one\ntwo")) == "ValueError: one"
    assert sentence(ValueError()) == "ValueError"
    assert sentence(ExceptionGroup("g", [KeyError("x")])) == "KeyError: 'x'"


def test_an_exception_whose_message_raises_is_survived() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert sentence(Mute()) == "Mute: its message cannot be read: RuntimeError"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90.0),
        (" 1.5 ", 1.5),
        ("-1", -1.0),
        ("1h30m", 5400.0),
        ("500ms", 0.5),
        ("2d", 172_800.0),
        ("inf", float("inf")),
        *((text, None) for text in ("", "nan", "soon", "1h 30m", "1y", "h")),
    ],
)
def test_a_length_of_time_is_seconds_or_a_duration(text: str, expected: float | None) -> None:
    assert seconds(text) == expected
