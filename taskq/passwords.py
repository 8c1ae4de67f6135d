"""Passwords, kept as what scrypt makes of them: ``scrypt$16384$8$1$salt$hash``."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from typing import Final
from unicodedata import normalize

from msgspec import Struct

_COST: Final = 2**14
_BLOCK: Final = 8
_LANES: Final = 1
_MEMORY: Final = 256 * 1024 * 1024
"""The most that a hash may take to compute, in bytes."""
_WRITTEN: Final = re.compile(
    r"scrypt\$(?P<cost>[0-9]{1,8})\$(?P<block>[0-9]{1,3})\$(?P<lanes>[0-9]{1,3})"
    r"\$(?P<salt>[A-Za-z0-9_-]{16,86})\$(?P<digest>[A-Za-z0-9_-]{43})"
)

LONGEST: Final = 1024
"""Characters of a password; a longer one fits nothing."""


class PasswordHash(Struct, frozen=True):
    """What is kept of a password."""

    cost: int
    block: int
    lanes: int
    salt: bytes
    digest: bytes

    def __repr__(self) -> str:
        return "PasswordHash(…)"

    @property
    def text(self) -> str:
        """As it is written in a setting."""
        return (
            f"scrypt${self.cost}${self.block}${self.lanes}${_to_text(self.salt)}"
            f"${_to_text(self.digest)}"
        )

    @classmethod
    def read(cls, text: str) -> PasswordHash | None:
        """The hash that a setting holds; None where it is none, or weaker or dearer than this
        module makes or bears."""
        found = _WRITTEN.fullmatch(text)
        if found is None:
            return None
        cost, block, lanes = (int(found[name]) for name in ("cost", "block", "lanes"))
        dear = 128 * cost * block * max(lanes, 1) > _MEMORY
        if cost < _COST or cost & (cost - 1) or block < _BLOCK or lanes < _LANES or dear:
            return None
        return cls(cost, block, lanes, _to_bytes(found["salt"]), _to_bytes(found["digest"]))

    def fits(self, password: str) -> bool:
        """Whether it was made of this password. Takes some 50 ms and 16 MiB of memory."""
        made = _scrypt(password, self.salt, self.cost, self.block, self.lanes)
        return hmac.compare_digest(made, self.digest) and len(password) <= LONGEST

    def of_nobody(self) -> PasswordHash:
        """One that fits no password and takes as long as this."""
        return PasswordHash(self.cost, self.block, self.lanes, bytes(16), bytes(32))


def hashed(password: str) -> PasswordHash:
    """What to keep of a password; another salt each time."""
    salt = secrets.token_bytes(16)
    return PasswordHash(_COST, _BLOCK, _LANES, salt, _scrypt(password, salt, _COST, _BLOCK, _LANES))


NOBODYS: Final = PasswordHash(_COST, _BLOCK, _LANES, bytes(16), bytes(32))
"""Fits no password; to be tried where there is no account, so that this takes as long."""


def _scrypt(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    data = normalize("NFKC", password[:LONGEST]).encode(errors="surrogatepass")
    return hashlib.scrypt(data, salt=salt, n=cost, r=block, p=lanes, maxmem=2 * _MEMORY, dklen=32)


def _to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _to_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
