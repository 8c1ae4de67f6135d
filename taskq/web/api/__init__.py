"""The routes of the API: what a program, or the console's page, can ask for and command.

Each room has the routes of one noun. ``ROUTES`` are all of them.
"""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from taskq.web.api.bulk import BULK_ROUTES
from taskq.web.api.commands import COMMANDS
from taskq.web.api.enqueue import ENQUEUE
from taskq.web.api.overview import OVERVIEW
from taskq.web.api.scheduling import SCHEDULING
from taskq.web.api.session import SESSION
from taskq.web.api.steering import STEERING

ROUTES: tuple[HTTPRouteHandler, ...] = (
    *SESSION,
    *OVERVIEW,
    *COMMANDS,
    *BULK_ROUTES,
    *ENQUEUE,
    *SCHEDULING,
    *STEERING,
)
