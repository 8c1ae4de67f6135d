"""A login that works once, for whoever can read this process's terminal."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta
from typing import Final

from taskq.clock import Clock

VALID: Final = 600.0
"""Seconds for which it can be used."""


class OneTimeLogin:
    """A random text that lets somebody in, once. Give it out in a link's fragment, which browsers
    send to no server: ``http://127.0.0.1:8080/login#<token>``. ``until`` is when it is too late."""

    def __init__(self, clock: Clock) -> None:
        self.token = secrets.token_urlsafe(24)
        self.until = clock.now() + timedelta(seconds=VALID)
        self._clock = clock
        self._until = clock.monotonic() + VALID
        self._used = False

    def redeem(self, token: str) -> bool:
        """Whether it is this one, in time and for the first time."""
        expected = hashlib.sha256(self.token.encode()).digest()
        given = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        fits = hmac.compare_digest(expected, given)
        if not fits or self._used or self._clock.monotonic() >= self._until:
            return False
        self._used = True
        return True
