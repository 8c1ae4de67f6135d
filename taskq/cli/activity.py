"""One activity as fields, cells and phrases."""

from __future__ import annotations

import msgspec

from taskq.cli.text import shortened, stored_json
from taskq.model import Status
from taskq.snapshot import ActivityInfo


def activity_fields(info: ActivityInfo) -> dict[str, object]:
    """A snapshot as JSON: arguments and result as they are stored, the priority by name."""
    return {
        **msgspec.structs.asdict(info),
        "priority": info.priority.name,
        "payload": stored_json(info.payload),
        "result": stored_json(info.result),
    }


def attempts(info: ActivityInfo) -> int:
    """See ``ActivityInfo.attempts``."""
    return info.attempts


def outcome(info: ActivityInfo, limit: int) -> str:
    """The result as JSON or the error, on one line."""
    if info.status is Status.COMPLETED:
        return shortened(info.result or "null", limit)
    if info.error is None:
        return ""
    return shortened(f"{info.error.type}: {info.error.message}", limit)


def progress_text(info: ActivityInfo) -> str:
    """What its handler said last, as ``3 of 10: reading``; empty when nothing was said."""
    progress = info.progress
    if progress is None:
        return ""
    total = "" if progress.total is None else f" of {_number(progress.total)}"
    note = "" if progress.note is None else f": {shortened(progress.note, 60)}"
    return f"{_number(progress.done)}{total}{note}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
