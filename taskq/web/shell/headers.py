"""The headers of every answer: of data, pages, streams and errors alike. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ALWAYS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"content-security-policy", CSP.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"camera=(), geolocation=(), microphone=(), payment=(), usb=(), serial=()",
    ),
)
_OURS: Final = frozenset(name for name, _ in ALWAYS)
_NO_STORE: Final = b"no-store"
_STATIC: Final = "/static/"

Pairs = Iterable[tuple[bytes, bytes]]


def completed(given: Pairs, *, path: str, status: int) -> list[tuple[bytes, bytes]]:
    """An answer's headers, with all that must be there. ``path``: what was asked for, in the
    console. Only a file of the page, which has its version in its path, may be stored."""
    storable = path.startswith(_STATIC) and status == 200
    kept: list[tuple[bytes, bytes]] = []
    cached = False
    for name, value in given:
        lower = name.lower()
        if lower in _OURS or lower.startswith(b"access-control-"):
            continue
        if lower == b"cache-control":
            if cached or not (storable or _NO_STORE in value.lower()):
                continue
            cached = True
        kept.append((name, value))
    if not cached:
        kept.append((b"cache-control", _NO_STORE))
    return [*kept, *ALWAYS]
