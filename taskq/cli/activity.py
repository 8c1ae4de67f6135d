"""One activity as fields."""

from __future__ import annotations

import msgspec

from taskq.cli.text import stored_json
from taskq.snapshot import ActivityInfo


def activity_fields(info: ActivityInfo) -> dict[str, object]:
    """A snapshot as JSON: arguments and result as they are stored, the priority by name."""
    return {
        **msgspec.structs.asdict(info),
        "priority": info.priority.name,
        "payload": stored_json(info.payload),
        "result": stored_json(info.result),
    }
