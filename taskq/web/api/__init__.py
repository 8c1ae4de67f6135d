"""The routes of the API: what a program, or the console's page, can ask for and command.

Each room has the routes of one noun. ``ROUTES`` are all of them.
"""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from taskq.web.api.activities import ACTIVITIES
from taskq.web.api.activity import ACTIVITY
from taskq.web.api.attention import ATTENTION
from taskq.web.api.audit import AUDIT
from taskq.web.api.bulk import BULK_ROUTES
from taskq.web.api.commands import COMMANDS
from taskq.web.api.dead import DEAD_LETTERS
from taskq.web.api.document import DOCUMENT
from taskq.web.api.enqueue import ENQUEUE
from taskq.web.api.observability import OBSERVABILITY
from taskq.web.api.overview import OVERVIEW
from taskq.web.api.queues import QUEUES
from taskq.web.api.schedules import SCHEDULES
from taskq.web.api.scheduling import SCHEDULING
from taskq.web.api.series import SERIES
from taskq.web.api.session import SESSION
from taskq.web.api.steering import STEERING
from taskq.web.api.stream import STREAM
from taskq.web.api.suggestions import SUGGESTIONS
from taskq.web.api.workers import WORKERS

ROUTES: tuple[HTTPRouteHandler, ...] = (
    *SESSION,
    *DOCUMENT,
    *OVERVIEW,
    *ATTENTION,
    *STREAM,
    *ACTIVITIES,
    *ACTIVITY,
    *QUEUES,
    *WORKERS,
    *SCHEDULES,
    *DEAD_LETTERS,
    *AUDIT,
    *SERIES,
    *SUGGESTIONS,
    *OBSERVABILITY,
    *COMMANDS,
    *BULK_ROUTES,
    *ENQUEUE,
    *SCHEDULING,
    *STEERING,
)
