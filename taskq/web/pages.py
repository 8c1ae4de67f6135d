"""The page: who one is, and the way in. What it shows it asks the API for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from taskq.web import assets
from taskq.web.console import Console
from taskq.web.problem import Problem

_ASSETS = assets.load()
_FOR_EVER = "public, max-age=31536000, immutable"


def _page(name: str, **filled: str) -> Response[str]:
    text = _ASSETS.pages[name]
    for place, value in filled.items():
        text = text.replace(f"{{{place}}}", value)
    return Response(text, media_type="text/html")


@get("/", include_in_schema=False)
async def index() -> Response[str]:
    """The console's first page; it holds no data."""
    return _page("index.html")


@get("/login", include_in_schema=False)
async def login(console: NamedDependency[Console]) -> Response[str]:
    """The page to log in at, with a form where there are accounts. A one-time link brings its token
    in the fragment."""
    return _page("login.html", way=console.access.way)


@get("/static/{version:str}/{name:path}", include_in_schema=False)
async def static(
    request: Request[Any, Any, Any], version: FromPath[str], name: FromPath[Path]
) -> Response[bytes]:
    """A file of the page, of this version; 404 for all that is not on the list (threat:T25)."""
    found = _ASSETS.files.get(name.as_posix().lstrip("/")) if version == _ASSETS.version else None
    if found is None:
        raise Problem(404, "not_found", "there is no such file")
    headers = {"cache-control": _FOR_EVER, "vary": "accept-encoding"}
    content = found.content
    if takes_gzip(request.headers.get("accept-encoding", "")):
        headers["content-encoding"], content = "gzip", found.packed
    return Response(content, media_type=found.media_type, headers=headers)


def takes_gzip(accepted: str) -> bool:
    """Whether this ``Accept-Encoding`` takes gzip (RFC 9110, 12.5.3)."""
    for each in accepted.lower().split(","):
        name, *parameters = each.replace(" ", "").split(";")
        if name == "gzip":
            return not any(re.fullmatch(r"q=0(\.0*)?", one) for one in parameters)
    return False


PAGES: tuple[HTTPRouteHandler, ...] = (index, login, static)
"""All of it; a console with ``api_only`` has none of these."""
