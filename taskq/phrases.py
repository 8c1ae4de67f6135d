"""What can be said of an activity in a few words."""

from __future__ import annotations

from taskq.model import Status
from taskq.printing import shortened
from taskq.snapshot import ActivityInfo


def failure(info: ActivityInfo, limit: int) -> str:
    """Its error on one line; empty where there is none."""
    if info.error is None:
        return ""
    return shortened(f"{info.error.type}: {info.error.message}", limit)


def outcome(info: ActivityInfo, limit: int) -> str:
    """The result as JSON or the error, on one line."""
    if info.status is Status.COMPLETED:
        return shortened(info.result or "null", limit)
    return failure(info, limit)


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
