"""Refuses query parameters that a route does not have: a misspelt filter must not look like all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from litestar import Litestar, Request
from litestar.routes import HTTPRoute

from taskq.web.permissions import Route
from taskq.web.problem import Problem


class Parameters:
    """The query parameters of all routes. ``declare`` before the first request."""

    def __init__(self) -> None:
        self._lists: dict[Route, Mapping[str, bool]] = {}

    def declare(self, built: Litestar) -> None:
        """Learn what each handler takes; its dependencies included."""
        for route in built.routes:
            if isinstance(route, HTTPRoute):
                for method, (_, model) in route.route_handler_map.items():
                    expected = model.expected_query_params
                    self._lists[method, route.path_format] = {
                        each.field_alias: each.is_sequence for each in expected
                    }

    async def check(self, request: Request[Any, Any, Any]) -> None:
        """Raises Problem 400 for a parameter that is unknown, or given twice where one is meant."""
        known = self._lists[request.method, request.scope["path_template"]]
        given = [name for name, _ in request.query_params.multi_items()]
        problem = wrong(given, known)
        if problem is not None:
            raise Problem(400, "bad_request", problem)


def wrong(given: Iterable[str], known: Mapping[str, bool]) -> str | None:
    """What is wrong with these names; ``known`` says which may come more than once."""
    seen: set[str] = set()
    for name in given:
        if name not in known:
            there = f"there are: {', '.join(sorted(known))}" if known else "this route has none"
            return f"there is no query parameter {name[:100]!r}; {there}"
        if name in seen and not known[name]:
            return f"{name}: given more than once"
        seen.add(name)
    return None
