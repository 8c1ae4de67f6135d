"""Puts the console together: an ASGI application that can be served alone or mounted anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from litestar import Litestar, Request
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from taskq import logs
from taskq.errors import ConfigurationError
from taskq.web.access import Access, guard_of, identity_of
from taskq.web.api import ROUTES
from taskq.web.api.document import HANDLERS
from taskq.web.console import Console, console_of, of_console
from taskq.web.content import check_content
from taskq.web.options import ConsoleOptions
from taskq.web.pages import PAGES
from taskq.web.permissions import LOOKING, PERMISSIONS, Route
from taskq.web.problem import on_error, problem_of
from taskq.web.query import Parameters
from taskq.web.shell import ASGI, AllowedHosts, Receive, Scope, Send, Shell


def build(console: Console) -> Shell:
    """The whole console, an ASGI application: the shell, and in it the routes.

    Raises ConfigurationError for an allowed host that is none.
    """
    allowed = (*console.app.settings.web_allowed_hosts, *console.options.allowed_hosts)
    return Shell(application(console), AllowedHosts(allowed), read_only=console.options.read_only)


def application(console: Console) -> ASGI:
    """The console's routes, behind its guard; of a read-only one, those that look.

    Raises ConfigurationError for a route without permission in the table.
    """
    routes = cast("ASGI", routing(tuple(handlers_of(console.options))))

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await routes(of_console(scope, console), receive, send)

    return answer


@lru_cache(maxsize=4)
def routing(handlers: tuple[HTTPRouteHandler, ...]) -> Litestar:
    """These routes, for every console that has them: a request's scope says whose it is. To read
    all their signatures takes a tenth of a second.

    Raises ConfigurationError for a route without permission in the table.
    """
    parameters = Parameters()

    async def check(request: Request[Any, Any, Any]) -> None:
        await parameters.check(request)
        await check_content(request)

    built = Litestar(
        route_handlers=handlers,
        state=State({HANDLERS: handlers}),
        guards=[guard_of(_access_of)],
        before_request=check,
        dependencies={
            "console": Provide(_console, sync_to_thread=False),
            "identity": Provide(identity_of),
        },
        exception_handlers={HTTPException: on_error, Exception: on_error},
        after_exception=[_log],
        openapi_config=None,
        logging_config=None,
    )
    _check_permissions(routes_of(built))
    parameters.declare(built)
    return built


def routes_of(built: Litestar) -> Iterable[Route]:
    """Every method and path that it answers."""
    for route in built.routes:
        for handler in getattr(route, "route_handlers", ()):
            for method in handler.http_methods:
                if method != "OPTIONS":
                    yield method, route.path_format


def handlers_of(options: ConsoleOptions) -> Iterator[HTTPRouteHandler]:
    """What such a console has: one that can only look has no route that commands."""
    for handler in (*ROUTES, *(() if options.api_only else PAGES)):
        routes = {(str(method), path) for method in handler.http_methods for path in handler.paths}
        looks = all(method == "GET" or (method, path) in LOOKING for method, path in routes)
        if looks or not options.read_only:
            yield handler


def _console(request: Request[Any, Any, Any]) -> Console:
    return console_of(cast("Mapping[str, object]", request.scope))


def _access_of(scope: Mapping[str, object]) -> Access:
    return console_of(scope).access


def _check_permissions(routes: Iterable[Route]) -> None:
    for method, path in routes:
        if (method, path) not in PERMISSIONS:
            raise ConfigurationError(f"no permission is declared for {method} {path}")


async def _log(error: Exception, scope: Mapping[str, object]) -> None:
    """Say in the log what the client is not told."""
    if problem_of(error).view.status == 500:
        logs.console_failed(str(scope.get("method")), str(scope.get("path_template")), error)
