"""Reads what a command brings, before it is looked at: JSON, and not so deep that reading fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from litestar import Request
from litestar.exceptions import SerializationException

from taskq.web.problem import Problem

DEEPEST: Final = 100
"""Lists and objects in each other, at the most."""


async def check_content(request: Request[Any, Any, Any]) -> None:
    """Raises Problem 400 for a body that is no JSON, or too deep, or not there where the route
    needs one."""
    if request.method != "POST":
        return
    if not await request.body():
        if request.route_handler.parsed_data_field is not None:
            raise Problem(
                400, "bad_request", "the body is missing: send a JSON object, {} at least"
            )
        return
    try:
        content: object = await request.json()
    except SerializationException:
        raise Problem(400, "bad_request", "the body is no JSON") from None
    except RecursionError:
        raise _too_deep() from None
    if is_deeper(content, DEEPEST):
        raise _too_deep()


def is_deeper(content: object, most: int) -> bool:
    """Whether more than so many lists and objects lie in each other."""
    level = [content]
    for _ in range(most):
        level = [inner for each in level for inner in _inside(each)]
    return any(isinstance(each, (dict, list)) for each in level)


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            return cast("dict[object, object]", value).values()
        case list():
            return cast("list[object]", value)
        case _:
            return ()


def _too_deep() -> Problem:
    return Problem(400, "bad_request", f"the body is nested deeper than {DEEPEST} levels")
