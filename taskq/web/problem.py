"""What the console answers when it cannot do what was asked: JSON with a code, one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from msgspec import Struct

from taskq.errors import (
    ActivityNotFound,
    BackendUnavailable,
    ConfigurationError,
    FilterError,
    InvalidState,
    QueryTimeout,
    SchemaError,
    SerializationError,
)
from taskq.printing import shortened
from taskq.web.refusal import refusal

MEDIA_TYPE = "application/problem+json"
LONGEST: Final = 2000
"""Characters of a ``detail``: what was sent may be quoted in it."""


class ProblemView(Struct, frozen=True, omit_defaults=True):
    """The body of an error (RFC 9457). ``code`` is for programs, ``detail`` one sentence for
    people; ``column`` is where in a filter's text, from 0."""

    status: int
    code: str
    detail: str
    column: int | None = None


class Problem(Exception):
    """Ends a request with an error of this ``status`` and ``code``."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        column: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.view = ProblemView(status, code, shortened(detail, LONGEST), column)
        self.headers = dict(headers or {})


def problem_of(error: Exception) -> Problem:
    """What an exception means to the client; what is unknown is a 500 without its text."""
    match error:
        case Problem():
            return error
        case FilterError():
            return Problem(400, "bad_filter", str(error), column=error.column)
        case ActivityNotFound():
            return Problem(404, "not_found", str(error))
        case InvalidState():
            return Problem(409, "wrong_state", str(error))
        case QueryTimeout():
            return Problem(503, "too_slow", str(error), headers={"retry-after": "2"})
        case BackendUnavailable():
            detail = "the database cannot be reached at this moment"
            return Problem(503, "unavailable", detail, headers={"retry-after": "2"})
        case SchemaError():
            return Problem(503, "unavailable", str(error))
        case ConfigurationError() | SerializationError():
            return Problem(400, "bad_request", str(error))
        case HTTPException():
            detail = _DETAILS.get(type(error), error.detail)
            return Problem(error.status_code, _code(error.status_code), detail)
        case _:
            return Problem(500, "internal", "something went wrong; the server's log says what")


def answer(problem: Problem) -> Response[bytes]:
    """The response that says so."""
    return Response(
        msgspec.json.encode(problem.view),
        status_code=problem.view.status,
        media_type=MEDIA_TYPE,
        headers=problem.headers,
    )


def on_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Litestar's handler of every exception."""
    if isinstance(error, ValidationException):
        return answer(Problem(400, "bad_request", refusal(request, error)))
    return answer(problem_of(error))


def _code(status: int) -> str:
    return _CODES.get(status, "bad_request" if status < 500 else "internal")


_DETAILS: Mapping[type[HTTPException], str] = {
    NotFoundException: (
        "there is nothing here; an id in a path is a whole UUID, and GET api/openapi.json names"
        " every route"
    ),
    MethodNotAllowedException: (
        "this was asked by the wrong method: commands are POST, everything else is GET"
    ),
}


_CODES: Mapping[int, str] = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "wrong_state",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_attempts",
    503: "unavailable",
}
