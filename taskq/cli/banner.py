"""What a worker says of itself when it starts."""

from __future__ import annotations

import json
from typing import cast

from taskq.app import TaskQ
from taskq.cli.health import HealthEndpoint
from taskq.cli.text import printable
from taskq.engine import Engine
from taskq.version import VERSION


def banner(
    app: TaskQ,
    engine: Engine,
    backend: str,
    endpoint: HealthEndpoint | None,
    *,
    console: str | None = None,
    as_json: bool,
) -> str:
    """Name, id, database (its absolute path), queues, types, slots: lines, or one JSON line."""
    options = engine.options
    fields: dict[str, object] = {
        "worker": str(engine.id),
        "database": app.client.store.location,
        "queues": list(options.queues),
        "types": _types(app, engine),
        "slots": options.concurrency,
        "loop": backend,
    }
    if endpoint is not None:
        fields["health"] = endpoint.url
    if console is not None:
        fields["console"] = console
    if not app.client.store.capabilities.shared:
        fields["note"] = "this database lives in this process only: no other one can enqueue"
    title = f"taskq {VERSION} worker {options.name}"
    if as_json:
        at = app.clock.now().isoformat()
        return json.dumps(
            {"at": at, "level": "INFO", "logger": "taskq", "message": title, **fields}
        )
    lines = [f"  {name:<8}  {printable(_line(value))}" for name, value in fields.items()]
    return "\n".join([printable(title), *lines])


def _types(app: TaskQ, engine: Engine) -> list[str]:
    options = engine.options
    if options.catch_all:
        return ["*"]
    return list(options.types or sorted(app.registry.handlers()))


def _line(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(cast("list[str]", value))
    return str(value)
