"""Puts the console together: an ASGI application that can be served alone or mounted anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from litestar import Litestar
from litestar.di import Provide
from litestar.exceptions import HTTPException

from taskq.errors import ConfigurationError
from taskq.web.api import ROUTES
from taskq.web.console import Console
from taskq.web.permissions import PERMISSIONS, Route
from taskq.web.problem import on_error
from taskq.web.role import Identity, Role


def application(console: Console) -> Litestar:
    """The console's routes. Raises ConfigurationError for one without permission in the table."""
    built = Litestar(
        route_handlers=ROUTES,
        dependencies={
            "console": Provide(lambda: console, sync_to_thread=False),
            "identity": Provide(lambda: Identity("anybody", Role.ADMIN), sync_to_thread=False),
        },
        exception_handlers={HTTPException: on_error, Exception: on_error},
        openapi_config=None,
    )
    _check_permissions(routes_of(built))
    return built


def routes_of(built: Litestar) -> Iterable[Route]:
    """Every method and path that it answers."""
    for route in built.routes:
        for handler in getattr(route, "route_handlers", ()):
            for method in handler.http_methods:
                if method != "OPTIONS":
                    yield method, route.path_format


def _check_permissions(routes: Iterable[Route]) -> None:
    for method, path in routes:
        if (method, path) not in PERMISSIONS:
            raise ConfigurationError(f"no permission is declared for {method} {path}")
