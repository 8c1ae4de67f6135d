"""What failures have in common."""

from __future__ import annotations

import time

import pytest

from taskq.fingerprint import fingerprint, title
from taskq.model import ErrorInfo, ErrorKind

ALIKE = {
    "numbers": ("no such user 17", "no such user 4711"),
    "signed and broken numbers": ("off by -3.5", "off by 1,000.25"),
    "ids with a prefix": ("order ORD-2391 is gone", "order ORD-7 is gone"),
    "words with digits": ("user_17 is gone", "user_a1b2 is gone"),
    "uuids": (
        "activity 0191f3a0-7b1c-7aaa-8bbb-0123456789ab is gone",
        "activity deadbeef-dead-beef-dead-beefdeadbeef is gone",
    ),
    "hexadecimal": ("<Session at 0x7f00deadbeef>", "<Session at 0x7f1122334455>"),
    "digests": ("no object deadbeefcafe", "no object 0123456789abcdef"),
    "quoted values": ("'ada' is not a valid currency", "'EUR 5' is not a valid currency"),
    "double quotes": ('field "a b" is missing', 'field "c" is missing'),
    "paths": ("no file /srv/run/a.csv", "no file /var/lib/b-2.csv"),
    "places in code": ("failed in shop/mail.py:17", "failed in shop/mail.py:301"),
    "times": ("not before 2026-11-29T12:00:00Z", "not before 2027-01-02T03:04:05.678+01:00"),
    "addresses": ("no box ada@example.com", "no box grace.h@mail.example.org"),
    "urls": ("GET https://a.example/x?y=1 failed", "GET https://b.example failed"),
    "lists": ("bad rows [1, 2, 3]", "bad rows [7]"),
    "blanks": ("bad\n  row", "bad row"),
}


@pytest.mark.parametrize("messages", ALIKE.values(), ids=ALIKE)
def test_what_changes_from_call_to_call_does_not_count(messages: tuple[str, str]) -> None:
    """seed:R18: dead letters are grouped by what they have in common."""
    one, other = (ErrorInfo(type="ValueError", message=each) for each in messages)

    assert title(one) == title(other)
    assert fingerprint("send", one) == fingerprint("send", other)


@pytest.mark.parametrize(
    ("type", "error"),
    [
        ("other", ErrorInfo(type="ValueError", message="no such user 1")),
        ("send", ErrorInfo(type="KeyError", message="no such user 1")),
        ("send", ErrorInfo(type="ValueError", message="no such order 1")),
    ],
)
def test_another_task_error_or_sentence_is_another_cause(type: str, error: ErrorInfo) -> None:
    base = fingerprint("send", ErrorInfo(type="ValueError", message="no such user 1"))

    assert fingerprint(type, error) != base


def test_kind_traceback_and_attempts_do_not_count() -> None:
    error = ErrorInfo(type="ValueError", message="no")
    later = ErrorInfo(
        type="ValueError", message="no", kind=ErrorKind.TIMEOUT, traceback="line 3", attempts=9
    )

    assert fingerprint("send", error) == fingerprint("send", later)


def test_a_title_is_for_people() -> None:
    error = ErrorInfo(type="shop.errors.NoSuchUser", message="no such user 17")

    assert title(error) == "NoSuchUser: no such user <n>"
    assert title(ErrorInfo(type="TimeoutError", message="")) == "TimeoutError"


def test_apostrophes_are_no_quotes() -> None:
    error = ErrorInfo(type="E", message="can't read it, won't try")

    assert title(error) == "E: can't read it, won't try"


def test_any_text_has_a_fingerprint() -> None:
    for message in ("", "\ud800", "\0", "x" * 100_000, "'" * 5000, "/a" * 3000, "1," * 3000):
        digits = fingerprint("send", ErrorInfo(type="E", message=message))
        assert len(digits) == 16 and not set(digits) - set("0123456789abcdef")


def _cost(message: str) -> float:
    """Seconds of this thread to find a cause, at the best."""
    error, took = ErrorInfo(type="E", message=message), list[float]()
    for _ in range(7):
        before = time.thread_time()
        fingerprint("t", error)
        took.append(time.thread_time() - before)
    return min(took)


@pytest.mark.parametrize("part", ["a", "_", "a.-+", "a+", "0123456789abcdef", "/a", "'a ", "a@"])
def test_long_words_cost_as_much_as_long_sentences(part: str) -> None:
    """Each failure passes here, on a worker's event loop."""
    sentence = _cost(("no such user 42, " * 60)[:1000])

    assert _cost((part * 1000)[:1000]) < 4 * sentence
