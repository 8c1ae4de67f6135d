"""``/api/openapi.json``: the routes of this console, described."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec
from litestar import Litestar, Request, Response, get
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig

from taskq.version import VERSION
from taskq.web.front import COOKIE
from taskq.web.permissions import PERMISSIONS
from taskq.web.problem import MEDIA_TYPE, ProblemView
from taskq.web.role import Role

Json: TypeAlias = dict[str, Any]
"""A part of the document."""

HANDLERS: Final = "taskq_handlers"
"""Where an application's state has its handlers, as they were before it took them: what has been
registered once cannot be described by another application."""
_KEPT: Final = "taskq_document"
"""Where it keeps the finished document."""
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
_GOOD: Final[Mapping[str, str]] = {
    "200": "What was asked for.",
    "202": "Accepted: it goes on by itself.",
    "204": "Done; there is nothing to say.",
}


@get("/api/openapi.json", media_type="application/json")
async def openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    """This document."""
    state = request.app.state
    if _KEPT not in state:
        state[_KEPT] = msgspec.json.encode(document(state[HANDLERS]))
    return Response(state[_KEPT], media_type="application/json")


def document(handlers: Iterable[HTTPRouteHandler]) -> Json:
    """The OpenAPI document of these handlers, with every error that each may answer."""
    handlers = list(handlers)
    described = Litestar(
        route_handlers=handlers,
        dependencies={"console": Provide(_no_console), "identity": Provide(_no_identity)},
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
        "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    }
    for name, described_by in _descriptions(handlers).items():
        components["schemas"].get(name, {}).setdefault("description", described_by)
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            _complete(operation, method.upper(), path)
    return cast("Json", _whole(schema))


def _complete(operation: Json, method: str, path: str) -> None:
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
    for status, response in responses.items():
        response["description"] = _GOOD.get(status, "Done.")
        for schema in response.get("content", {}).values():
            if schema.get("schema", {}).get("type") == "string":
                schema["schema"] = {"description": "JSON of any kind."}
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


def _descriptions(handlers: Iterable[HTTPRouteHandler]) -> dict[str, str]:
    """What the docstrings of bodies and answers say, by the names of their schemas."""
    types: list[object] = []
    for handler in handlers:
        signature = handler.parsed_fn_signature
        fields = [signature.return_type, signature.parameters.get("data")]
        for field in (field for field in fields if field is not None):
            inner = field.inner_types if field.is_subclass_of(Response) else (field,)
            types += [each.annotation for each in inner]
    _, schemas = msgspec.json.schema_components(types, schema_hook=lambda _: {"title": "Any"})
    return {name: " ".join(each.get("description", "").split()) for name, each in schemas.items()}


def _whole(value: object) -> object:
    """The same without fractions where whole numbers are meant: 200, not 200.0."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in cast("Json", value).items()}
    if isinstance(value, list):
        return [_whole(each) for each in cast("list[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _problem() -> Json:
    """The schema of an error's body."""
    _, schemas = msgspec.json.schema_components(
        [ProblemView], ref_template="#/components/schemas/{name}"
    )
    return dict(schemas)


async def _no_console() -> None:
    """Stands for the console that handlers are given, so that it is not taken for a parameter."""


async def _no_identity() -> None:
    """The same for who asks."""


DOCUMENT = (openapi,)
