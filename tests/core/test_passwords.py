"""Passwords are kept as what scrypt makes of them."""

from __future__ import annotations

import pytest

from taskq.passwords import LONGEST, NOBODYS, PasswordHash, hashed

KEPT = hashed("correct horse")


def test_a_password_fits_its_hash_and_no_other_does() -> None:
    """threat:T23"""
    assert KEPT.fits("correct horse")
    assert not KEPT.fits("correct horse ")
    assert not NOBODYS.fits("")


def test_a_hash_is_written_and_read_without_loss() -> None:
    assert PasswordHash.read(KEPT.text) == KEPT
    assert KEPT.text.startswith("scrypt$16384$8$1$")


def test_the_same_password_has_another_hash_each_time() -> None:
    """threat:T23"""
    assert hashed("correct horse") != KEPT


def test_a_letter_with_an_accent_fits_however_a_keyboard_sends_it() -> None:
    assert hashed("caf\u00e9 au lait").fits("cafe\u0301 au lait")


def test_what_is_longer_than_any_password_fits_nothing() -> None:
    """threat:T8: and takes no longer than others."""
    assert not hashed("x" * LONGEST).fits("x" * (LONGEST + 1))


def test_a_hash_shows_nothing_of_itself() -> None:
    """threat:T14"""
    assert repr(KEPT) == "PasswordHash(…)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scrypt", "bcrypt"),
        ("$16384$", "$8192$"),
        ("$16384$", "$16385$"),
        ("$16384$", "$67108864$"),
        ("$8$1$", "$1$1$"),
        ("$8$1$", "$8$0$"),
        ("$8$1$", "$8$"),
        ("scrypt$16384", "6384"),
    ],
)
def test_what_is_weaker_dearer_or_no_hash_is_not_read(old: str, new: str) -> None:
    """threat:T23: the last one is what a shell makes of it without single quotes."""
    assert PasswordHash.read(KEPT.text.replace(old, new)) is None


def test_a_hash_with_something_behind_it_is_none() -> None:
    """threat:T2"""
    assert PasswordHash.read(f"{KEPT.text}\n") is None
    assert PasswordHash.read(f"{KEPT.text}=") is None
