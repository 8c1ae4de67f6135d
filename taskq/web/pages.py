"""The page: who one is, and the way in. What it shows it asks the API for."""

from __future__ import annotations

from pathlib import Path

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from taskq.web import assets
from taskq.web.problem import Problem

_ASSETS = assets.load()
_FOR_EVER = "public, max-age=31536000, immutable"


def _page(name: str) -> Response[str]:
    return Response(_ASSETS.pages[name], media_type="text/html")


@get("/", include_in_schema=False)
async def index() -> Response[str]:
    """The console's first page; it holds no data."""
    return _page("index.html")


@get("/login", include_in_schema=False)
async def login() -> Response[str]:
    """The page to log in at. A one-time link brings its token in the fragment."""
    return _page("login.html")


@get("/static/{version:str}/{name:path}", include_in_schema=False)
async def static(version: FromPath[str], name: FromPath[Path]) -> Response[bytes]:
    """A file of the page, of this version; 404 for all that is not on the list (threat:T25)."""
    found = _ASSETS.files.get(name.as_posix().lstrip("/")) if version == _ASSETS.version else None
    if found is None:
        raise Problem(404, "not_found", "there is no such file")
    headers = {"cache-control": _FOR_EVER}
    return Response(found.content, media_type=found.media_type, headers=headers)


PAGES: tuple[HTTPRouteHandler, ...] = (index, login, static)
"""All of it; a console with ``api_only`` has none of these."""
