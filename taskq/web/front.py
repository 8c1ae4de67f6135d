"""What the console knows of one request: beside the scope, for whoever handles it."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Final, cast

from msgspec import Struct, field

from taskq.web.role import Identity

COOKIE: Final = "taskq_session"
"""The cookie that a session is in."""
_KEY: Final = "taskq_front"


class Front(Struct):
    """``base`` is the path under which the console lies, ``""`` at the top; ``secure``: the browser
    came by https. ``identity`` is who asks, once the guard has let them pass. ``cookies`` are
    headers that the answer is to have besides its own."""

    base: str = ""
    secure: bool = False
    identity: Identity | None = None
    cookies: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, scope: Mapping[str, object]) -> Front:
        """The one of this request; made when it is first asked for."""
        places = cast("MutableMapping[str, object]", scope)
        found = places.get(_KEY)
        if not isinstance(found, Front):
            found = places[_KEY] = cls()
        return found

    def install(self, scope: MutableMapping[str, object]) -> None:
        """Be the one of this request."""
        scope[_KEY] = self

    def keep(self, session: str) -> None:
        """Have the browser keep this session until it is closed."""
        self.cookies.append(self._cookie(session))

    def drop(self) -> None:
        """Have the browser forget its session."""
        self.cookies.append(f"{self._cookie('')}; Max-Age=0")

    def _cookie(self, value: str) -> str:
        secure = "; Secure" if self.secure else ""
        return f"{COOKIE}={value}; Path={self.base or '/'}; HttpOnly; SameSite=Strict{secure}"
