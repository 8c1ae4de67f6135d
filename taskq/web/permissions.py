"""Who may use which route: a route that is not in the table keeps the console from starting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from taskq.web.role import Role

Route = tuple[str, str]
"""Method and path, as it is declared."""

PERMISSIONS: Final[Mapping[Route, Role | None]] = {
    ("GET", "/"): None,
    ("GET", "/health"): None,
    ("GET", "/login"): None,
    ("GET", "/static/{version}/{name}"): None,
    ("GET", "/api/session"): None,
    ("POST", "/api/session"): None,
    ("POST", "/api/session/end"): Role.VIEWER,
    ("GET", "/api/openapi.json"): Role.VIEWER,
    ("GET", "/api/stats"): Role.VIEWER,
    ("GET", "/api/attention"): Role.VIEWER,
    ("GET", "/api/stream"): Role.VIEWER,
    ("GET", "/api/observability/stream"): Role.VIEWER,
    ("POST", "/api/enqueue"): Role.OPERATOR,
    ("GET", "/api/bulk"): Role.VIEWER,
    ("GET", "/api/bulk/preview"): Role.VIEWER,
    ("GET", "/api/bulk/{id}"): Role.VIEWER,
    ("POST", "/api/bulk"): Role.OPERATOR,
    ("POST", "/api/bulk/{id}/cancel"): Role.OPERATOR,
    ("POST", "/api/activities/{id}/retry"): Role.OPERATOR,
    ("POST", "/api/activities/{id}/cancel"): Role.OPERATOR,
    ("POST", "/api/activities/{id}/run-now"): Role.OPERATOR,
    ("POST", "/api/activities/{id}/reschedule"): Role.OPERATOR,
    ("POST", "/api/activities/{id}/priority"): Role.OPERATOR,
    ("POST", "/api/activities/{id}/delete"): Role.ADMIN,
    ("POST", "/api/queues/{name}/pause"): Role.OPERATOR,
    ("POST", "/api/queues/{name}/resume"): Role.OPERATOR,
    ("POST", "/api/types/{name}/pause"): Role.OPERATOR,
    ("POST", "/api/types/{name}/resume"): Role.OPERATOR,
    ("POST", "/api/schedules"): Role.ADMIN,
    ("POST", "/api/schedules/{name}/edit"): Role.ADMIN,
    ("POST", "/api/schedules/{name}/delete"): Role.ADMIN,
    ("POST", "/api/schedules/{name}/pause"): Role.OPERATOR,
    ("POST", "/api/schedules/{name}/resume"): Role.OPERATOR,
    ("POST", "/api/schedules/{name}/trigger"): Role.OPERATOR,
    ("GET", "/api/activities"): Role.VIEWER,
    ("GET", "/api/activities/count"): Role.VIEWER,
    ("GET", "/api/activities/{id}"): Role.VIEWER,
    ("GET", "/api/activities/{id}/timeline"): Role.VIEWER,
    ("GET", "/api/activities/{id}/tree"): Role.VIEWER,
    ("GET", "/api/activities/{id}/children"): Role.VIEWER,
    ("GET", "/api/activities/{id}/result"): Role.VIEWER,
    ("GET", "/api/types"): Role.VIEWER,
    ("GET", "/api/queues"): Role.VIEWER,
    ("GET", "/api/workers"): Role.VIEWER,
    ("GET", "/api/schedules"): Role.VIEWER,
    ("GET", "/api/schedules/{name}"): Role.VIEWER,
    ("GET", "/api/schedule-preview"): Role.VIEWER,
    ("GET", "/api/dead-letters"): Role.VIEWER,
    ("GET", "/api/audit"): Role.VIEWER,
    ("GET", "/api/series"): Role.VIEWER,
    ("GET", "/api/suggestions"): Role.VIEWER,
    ("GET", "/api/observability/stats"): Role.VIEWER,
    ("GET", "/api/observability/roots"): Role.VIEWER,
    ("GET", "/api/observability/cron"): Role.VIEWER,
    ("GET", "/api/observability/activities/{key}"): Role.VIEWER,
    ("GET", "/api/observability/activities/{key}/events"): Role.VIEWER,
    ("GET", "/api/observability/activities/{key}/result"): Role.VIEWER,
    ("GET", "/api/observability/activities/{key}/subtree"): Role.VIEWER,
    ("GET", "/api/observability/activities/{key}/children"): Role.VIEWER,
    ("GET", "/api/observability/dead-letter"): Role.VIEWER,
}
"""The least role for each route; None: everybody, without being known."""

LOOKING: Final = frozenset({("POST", "/api/session"), ("POST", "/api/session/end")})
"""What a console that can only look has besides GET."""
