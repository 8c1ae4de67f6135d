"""``/api/openapi.json``: the routes of this console, described."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from litestar import Litestar, Request, Response, get
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig

from taskq.version import VERSION
from taskq.web.permissions import PERMISSIONS
from taskq.web.problem import MEDIA_TYPE, ProblemView
from taskq.web.role import Role

Json: TypeAlias = dict[str, Any]
"""A part of the document."""

_KEPT: Final = "taskq_document"
"""Where the finished document is kept in the application's state."""
_ERRORS: Final[Mapping[str, str]] = {
    "400": "A parameter or the body is wrong; `detail` names it.",
    "401": "Nobody who is known.",
    "403": "The role is too low, or the request comes from elsewhere.",
    "404": "There is no such thing.",
    "409": "It is not in a state for this, or has moved on since it was looked at.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "429": "Too many attempts; `Retry-After` says when to try again.",
    "503": "The database cannot be reached, or has not answered in time; try again.",
}
_SENTENCE: Final = re.compile(r"(?<=[.])\s+")


@get("/api/openapi.json", media_type="application/json")
async def openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    """This document."""
    state = request.app.state
    if _KEPT not in state:
        state[_KEPT] = msgspec.json.encode(document(served(request.app)))
    return Response(state[_KEPT], media_type="application/json")


def served(app: Litestar) -> list[HTTPRouteHandler]:
    """The handlers of an application, each once."""
    handlers: dict[int, HTTPRouteHandler] = {}
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            if isinstance(handler, HTTPRouteHandler) and handler.include_in_schema is not False:
                handlers[id(handler.fn)] = handler
    return list(handlers.values())


def document(handlers: Iterable[HTTPRouteHandler]) -> Json:
    """The OpenAPI document of these handlers, with every error that each may answer."""
    handlers = list(handlers)
    described = Litestar(
        route_handlers=handlers,
        dependencies={name: Provide(_nothing) for name in ("console", "identity")},
        openapi_config=OpenAPIConfig(
            title="taskq console",
            version=VERSION,
            description="See and steer what a TaskQ does. Errors are `application/problem+json`"
            " with a `code` for programs and one sentence for people. Times are ISO 8601 in UTC,"
            " durations seconds.",
            use_handler_docstrings=True,
        ),
        logging_config=None,
    )
    schema: Json = described.openapi_schema.to_schema()
    # Relative to where the document is: it holds wherever the console is mounted.
    schema["servers"] = [{"url": ".."}]
    components: Json = schema.setdefault("components", {})
    components.setdefault("schemas", {}).update(_problem())
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "taskq_session"},
    }
    documented = {
        (str(method), path): inspect.getdoc(handler.fn) or ""
        for handler in handlers
        for method in handler.http_methods
        for path in handler.paths
    }
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            _complete(operation, method.upper(), path, documented)
    return schema


def _complete(
    operation: Json, method: str, path: str, documented: Mapping[tuple[str, str], str]
) -> None:
    """Say in one operation what the handler's declaration does not."""
    least = PERMISSIONS.get((method, path), Role.ADMIN)
    text = " ".join(operation.get("description", "").split())
    summary, _, rest = text.partition(". ")
    operation["summary"] = summary.rstrip(".")
    operation["description"] = rest or text
    operation["security"] = [] if least is None else [{"token": []}, {"session": []}]
    responses: Json = operation["responses"]
    for status in [status for status in responses if status >= "400"]:
        del responses[status]
    for status in _errors(method, path, least):
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemView"}}}
        responses[status] = {"description": _ERRORS[status], "content": content}


def _errors(method: str, path: str, least: Role | None) -> list[str]:
    """What may go wrong with a route."""
    found = ["400", "503"]
    if least is not None:
        found += ["401", "403"]
    if "{" in path:
        found.append("404")
    if method != "GET":
        found += ["403", "404", "409", "413", "415"]
    if path == "/api/session" and method == "POST":
        found += ["401", "429"]
    return sorted(set(found))


def _problem() -> Json:
    """The schema of an error's body."""
    _, schemas = msgspec.json.schema_components(
        [ProblemView], ref_template="#/components/schemas/{name}"
    )
    return dict(schemas)


async def _nothing() -> None:
    """Stands for what handlers are given, so that it is not taken for a parameter."""


DOCUMENT = (openapi,)
