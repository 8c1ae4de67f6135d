"""``/api/enqueue``: a call of one of the app's tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec import Meta, Struct

from taskq.calling import call_of, task_named
from taskq.codec import to_json
from taskq.model import OnDuplicate
from taskq.web.commanding import (
    Asked,
    JsonObject,
    PriorityName,
    Seconds,
    exact,
    given,
    refusals,
    who,
)
from taskq.web.console import Console
from taskq.web.role import Identity


class EnqueueAsked(Asked, frozen=True, kw_only=True):
    """A call of the task ``type`` with these ``arguments``; the rest are the options of a call, as
    ``Task.options`` has them. Durations are seconds, ``run_at`` an ISO 8601 time with its zone."""

    type: str
    arguments: JsonObject | None = None
    queue: str | None = None
    priority: PriorityName | None = None
    delay: Seconds | None = None
    run_at: Annotated[datetime, Meta(tz=True)] | None = None
    idempotency_key: str | None = None
    on_duplicate: OnDuplicate | None = None
    unique_for: Seconds | None = None
    max_retries: Annotated[int, Meta(ge=0)] | None = None
    timeout: Seconds | None = None
    tags: dict[str, str] | None = None
    source: str | None = None
    correlation_id: str | None = None
    user_id: str | None = None


class Enqueued(Struct, frozen=True, kw_only=True):
    """``id`` holds the call; ``created``: it is new, and not what the same ``command_id`` or
    idempotency key has made before."""

    id: UUID
    created: bool


_OPTIONS: Final = (
    "queue",
    "priority",
    "delay",
    "run_at",
    "idempotency_key",
    "on_duplicate",
    "unique_for",
    "max_retries",
    "timeout",
    "tags",
    "source",
    "correlation_id",
    "user_id",
)


@post("/api/enqueue", status_code=201)
async def enqueue(
    data: JSONBody[EnqueueAsked],
    request: Request[Any, Any, Any],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Enqueued:
    """Store a call of a task of this app, its arguments checked as any call's are."""
    asked = who(data, identity)
    arguments = await exact(request, "arguments") or {}
    with refusals():
        task = task_named(console.app.tasks, data.type)
        activity = call_of(task, to_json(arguments, label=data.type), given(data, *_OPTIONS))
        detail = {"type": activity.type, "queue": activity.queue}
        [receipt] = await console.app.operator.aenqueue([activity], detail=detail, **asked)
    return Enqueued(id=receipt.id, created=receipt.created)


ENQUEUE = (enqueue,)
