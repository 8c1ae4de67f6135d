"""Who may use which route: a route that is not in the table keeps the console from starting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from taskq.web.role import Role

Route = tuple[str, str]
"""Method and path, as it is declared."""

PERMISSIONS: Final[Mapping[Route, Role | None]] = {
    ("GET", "/"): None,
    ("GET", "/health"): None,
    ("GET", "/login"): None,
    ("GET", "/static/{version}/{name}"): None,
    ("GET", "/api/session"): None,
    ("POST", "/api/session"): None,
    ("POST", "/api/session/end"): Role.VIEWER,
    ("GET", "/api/stats"): Role.VIEWER,
}
"""The least role for each route; None: everybody, without being known."""

LOOKING: Final = frozenset({("POST", "/api/session"), ("POST", "/api/session/end")})
"""What a console that can only look has besides GET."""
