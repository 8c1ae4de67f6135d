"""Reads the body of a command: JSON of a bounded size, all of it before anything is done."""

from __future__ import annotations

import re
from typing import Final

from anyio import fail_after

from taskq.web.problem import Problem
from taskq.web.shell.asgi import Headers, Message, Receive

SMALL: Final = 65_536
LARGE: Final = 1_048_576 + SMALL
"""Bytes of a body that holds the arguments of an activity."""
PATIENCE: Final = 30.0
"""Seconds in which a body must have come."""
_WITH_ARGUMENTS: Final = re.compile(r"/api/enqueue/?|/api/activities/[^/]+/retry/?")


class Gone(Exception):
    """The client left before its request was complete."""


def limit_of(path: str) -> int:
    """Bytes that a body may have there."""
    return LARGE if _WITH_ARGUMENTS.fullmatch(path) else SMALL


def check_type(headers: Headers) -> None:
    """Raises Problem 415 for a body that says it is something else than JSON, unread."""
    given = headers.get("content-type", [])
    if given and not _is_json(given):
        raise _not_json()


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """The whole body. Raises Problem: 413 for more than ``limit`` bytes, told as soon as that is
    known; 415 where it does not say that it is JSON; 408 where it takes too long. Raises Gone."""
    length = headers.get("content-length", ["0"])[0]
    if len(length) > 12 or (length.isdecimal() and int(length) > limit):
        raise _too_large(limit)
    try:
        with fail_after(PATIENCE):
            body = await _all(receive, limit)
    except TimeoutError:
        raise Problem(408, "bad_request", "the body did not come in time") from None
    if body and not _is_json(headers.get("content-type", [])):
        raise _not_json()
    return body


def replayed(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives the body again, then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _all(receive: Receive, limit: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Gone
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return bytes(body)


def _is_json(given: list[str]) -> bool:
    return len(given) == 1 and given[0].partition(";")[0].strip().lower() == "application/json"


def _not_json() -> Problem:
    return Problem(415, "unsupported_media_type", "send JSON, with content-type: application/json")


def _too_large(limit: int) -> Problem:
    return Problem(413, "too_large", f"the body has more than {limit} bytes, the most here")
