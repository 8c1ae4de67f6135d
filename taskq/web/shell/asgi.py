"""ASGI's shapes, and the few answers that are given without a framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeAlias, cast

import msgspec

from taskq.web.problem import MEDIA_TYPE, Problem

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGI: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = Mapping[str, list[str]]
"""By lower-case name all values, in their order."""


def headers_of(scope: Scope) -> Headers:
    """The headers of a request."""
    found: dict[str, list[str]] = {}
    for name, value in cast("Iterable[tuple[bytes, bytes]]", scope.get("headers", ())):
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


async def send_problem(send: Send, problem: Problem) -> None:
    """Answer with an error."""
    body = msgspec.json.encode(problem.view)
    headers = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers}
    await _send(send, problem.view.status, headers, body)


async def send_redirect(send: Send, location: str) -> None:
    """Answer that what was asked for is there."""
    await _send(send, 307, {"location": location, "content-length": "0"}, b"")


async def _send(send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body, "more_body": False})
