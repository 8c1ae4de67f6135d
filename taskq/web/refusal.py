"""Says in one sentence what is wrong with a request that its route cannot read, and what may be."""

from __future__ import annotations

import enum
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, cast

import msgspec
from litestar import Request
from litestar.exceptions import ValidationException

BODY: Final = "data"
"""What Litestar calls the body of a request, in its errors as in handlers."""
_FIELD: Final = re.compile(r"[A-Za-z_]\w*")


def refusal(request: Request[Any, Any, Any], error: ValidationException) -> str:
    """Which parameter or field was wrong, how, and where values are few, all that there are."""
    found = _first(error)
    if found is None:
        return error.detail.partition(" for path ")[0]
    key, message = found
    said = message if key == BODY else f"{key}: {message}"
    there = _instead(request, key, message)
    return f"{said}; there are: {', '.join(there)}" if there else said


def _instead(request: Request[Any, Any, Any], key: str, message: str) -> Sequence[str]:
    """What may stand in the place of what is wrong, where that is one of a few names."""
    if key == BODY:
        unknown = message.startswith("Object contains unknown field")
        return sorted(_fields(request)) if unknown else ()
    return choices(_annotation(request, key)) if message.startswith("Invalid enum value") else ()


def choices(annotation: object) -> Sequence[str]:
    """The values that a ``Literal`` or an enum allows, also inside of an union or ``Annotated``."""
    return tuple(dict.fromkeys(_values(annotation)))


def _values(annotation: object) -> Iterator[str]:
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        yield from (str(each.value) for each in annotation)
    elif typing.get_origin(annotation) is Literal:
        yield from (str(each) for each in typing.get_args(annotation))
    else:
        for inner in typing.get_args(annotation):
            yield from _values(inner)


def _first(error: ValidationException) -> tuple[str, str] | None:
    if isinstance(error.extra, list) and error.extra:
        first: object = error.extra[0]
        if isinstance(first, dict):
            found = cast("Mapping[str, object]", first)
            return str(found.get("key", "request")), str(found.get("message", error.detail))
    return None


def _annotation(request: Request[Any, Any, Any], key: str) -> object:
    """That of a parameter of the route, or of a field of its body; None where there is none."""
    parameters = request.route_handler.parsed_fn_signature.parameters
    if key in parameters:
        return parameters[key].raw
    named = _FIELD.match(key)
    return _fields(request).get(named.group()) if named else None


def _fields(request: Request[Any, Any, Any]) -> Mapping[str, object]:
    """The fields of the route's body, with their annotations; none where it has no such body."""
    body = request.route_handler.parsed_fn_signature.parameters.get(BODY)
    if body is None or not issubclass(body.annotation, msgspec.Struct):
        return {}
    return {each.encode_name: each.type for each in msgspec.structs.fields(body.annotation)}
