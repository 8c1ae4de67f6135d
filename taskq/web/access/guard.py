"""The guard of every route: who asks must be known, and may do what the route does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from litestar import Request
from litestar.handlers.base import BaseRouteHandler

from taskq.web.access.access import Access, token_of
from taskq.web.front import Front
from taskq.web.options import Connection
from taskq.web.permissions import PERMISSIONS
from taskq.web.problem import Problem
from taskq.web.role import Identity

Guard = Callable[[Connection, BaseRouteHandler], Awaitable[None]]


def guard_of(access_of: Callable[[Mapping[str, object]], Access]) -> Guard:
    """Lets a request pass whose role is what ``PERMISSIONS`` asks for. Raises Problem: 401 for
    nobody who is known, 403 for a role that is too low or a route that is not in the table."""

    async def guard(connection: Connection, _: BaseRouteHandler) -> None:
        scope = cast("Mapping[str, object]", connection.scope)
        method, path = str(scope.get("method")), str(scope["path_template"])
        if (method, path) not in PERMISSIONS:
            raise Problem(403, "forbidden", f"no permission is declared for {method} {path}")
        least = PERMISSIONS[method, path]
        if least is None:
            return
        access = access_of(scope)
        known = await access.known(connection)
        if known is None:
            raise unknown(connection)
        if known.identity.role < least:
            raise Problem(
                403,
                "forbidden",
                f"this needs the role {least.label}; yours is {known.identity.role.label}",
            )
        front = Front.of(scope)
        front.identity = known.identity
        if known.session is not None and (again := access.renewed(known.session)):
            front.keep(access.cookie_of(again))

    return guard


async def identity_of(request: Request[Any, Any, Any]) -> Identity:
    """Who asks: the dependency ``identity`` of handlers. Raises Problem 401 on a public route."""
    found = Front.of(request.scope).identity
    if found is None:
        raise unknown(request)
    return found


def unknown(connection: Connection) -> Problem:
    """The answer to somebody who is not known: why their token does not fit is not told."""
    detail = "log in first, or send a token: Authorization: Bearer TOKEN"
    if token_of(connection):
        detail = "the token that was sent is not valid: send another one, or log in"
    return Problem(401, "unauthenticated", detail, headers={"www-authenticate": "Bearer"})
