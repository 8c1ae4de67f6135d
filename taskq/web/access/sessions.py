"""Sessions: what a browser keeps after logging in, signed so that it cannot be made up."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

import msgspec
from msgspec import Struct

from taskq.clock import Clock

LONGEST: Final = 12 * 3600.0
"""Seconds after which a session ends, whatever it does."""
IDLE: Final = 3600.0
"""Seconds without a request after which it ends."""
RENEWAL: Final = 60.0
"""Seconds after which a request makes the cookie anew."""
_AHEAD: Final = 60.0
"""Seconds by which another machine's clock may be ahead."""
_LONGEST_TEXT: Final = 1000


class Session(Struct, frozen=True, array_like=True):
    """One login. ``began`` and ``seen`` are seconds since 1970; ``id`` is random. ``link``: by a
    link that worked once, else by the account of this name."""

    id: str
    name: str
    link: bool
    began: float
    seen: float


class Sessions:
    """Makes, reads and ends sessions. ``secret`` signs them: with the same one they outlive this
    process. Those that were ended are known to this process only, until they would end anyway.

    The signature covers ``stamp``, what proves the account: a session ends with the token or
    password by which it began.
    """

    def __init__(self, secret: str | None, clock: Clock) -> None:
        self._secret = secret.encode() if secret else secrets.token_bytes(32)
        self._clock = clock
        self._ended: dict[str, float] = {}

    def begin(self, name: str, *, link: bool = False) -> Session:
        """A new session, under a new id."""
        now = self._now()
        return Session(secrets.token_urlsafe(18), name, link, now, now)

    def renewed(self, session: Session) -> Session | None:
        """The session as seen now; None where that was noted lately."""
        now = self._now()
        if now - session.seen < RENEWAL:
            return None
        return msgspec.structs.replace(session, seen=now)

    def end(self, session: Session) -> None:
        """Let it be read no more."""
        now = self._now()
        self._ended = {id: until for id, until in self._ended.items() if until > now}
        self._ended[session.id] = session.began + LONGEST

    def written(self, session: Session, stamp: str) -> str:
        """The session as the value of a cookie."""
        content = _to_text(msgspec.json.encode(session))
        return f"{content}.{self._signature(content, stamp)}"

    @staticmethod
    def claimed(text: str) -> Session | None:
        """The session that a cookie claims to be. Not to be believed before ``holds``."""
        if len(text) > _LONGEST_TEXT or not text.isascii():
            return None
        try:
            return _DECODER.decode(_to_bytes(text.partition(".")[0]))
        except (msgspec.DecodeError, binascii.Error, UnicodeDecodeError):
            return None

    def holds(self, session: Session, text: str, stamp: str) -> bool:
        """Whether the cookie of this session is genuine, and the session neither old nor ended."""
        content, _, signature = text.partition(".")
        if not hmac.compare_digest(self._signature(content, stamp), signature):
            return False
        now = self._now()
        return (
            session.id not in self._ended
            and now < session.began + LONGEST
            and now < session.seen + IDLE
            and session.began <= session.seen <= now + _AHEAD
        )

    def _signature(self, content: str, stamp: str) -> str:
        key = hmac.digest(self._secret, f"taskq session {stamp}".encode(), hashlib.sha256)
        return _to_text(hmac.digest(key, content.encode(), hashlib.sha256))

    def _now(self) -> float:
        return self._clock.now().timestamp()


_DECODER = msgspec.json.Decoder(Session)


def _to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _to_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
