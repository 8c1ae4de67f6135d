"""One activity as fields, and in phrases."""

from __future__ import annotations

import msgspec

from taskq.cli.text import stored_json
from taskq.phrases import attempts, outcome, progress_text
from taskq.snapshot import ActivityInfo

__all__ = ("activity_fields", "attempts", "outcome", "progress_text")


def activity_fields(info: ActivityInfo) -> dict[str, object]:
    """A snapshot as JSON: arguments and result as they are stored, the priority by name."""
    return {
        **msgspec.structs.asdict(info),
        "priority": info.priority.name,
        "payload": stored_json(info.payload),
        "result": stored_json(info.result),
    }
