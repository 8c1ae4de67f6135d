"""The routes of the API: what a program, or the console's page, can ask for and command.

Each room has the routes of one noun. ``ROUTES`` are all of them.
"""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from taskq.web.api.overview import OVERVIEW
from taskq.web.api.session import SESSION

ROUTES: tuple[HTTPRouteHandler, ...] = (*SESSION, *OVERVIEW)
