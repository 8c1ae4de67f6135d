"""What has happened to an activity between two looks at it; pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from taskq.model import Status
from taskq.phrases import outcome, progress_text
from taskq.printing import instant
from taskq.progress import Progress
from taskq.snapshot import ActivityInfo

_LONGEST = 120


class Seen(Struct, frozen=True):
    """What was known of an activity at a look: as much as tells what is new at the next one."""

    status: Status
    claim: int
    progress: Progress | None
    cancel_requested_at: datetime | None

    @classmethod
    def of(cls, info: ActivityInfo) -> Seen:
        """From a snapshot."""
        return cls(info.status, info.claim, info.progress, info.cancel_requested_at)

    @classmethod
    def waiting(cls, info: ActivityInfo) -> Seen:
        """Of one that nobody has looked at: as if it had waited until its latest attempt."""
        return cls(Status.PENDING, max(0, info.claim - 1), None, None)


class News(Struct, frozen=True):
    """One thing that has happened: ``what`` is enqueued, scheduled, started, progress,
    cancel_requested or the state that it came to; ``detail`` is for people."""

    at: datetime
    info: ActivityInfo
    what: str
    detail: str = ""


def news(before: Seen | None, info: ActivityInfo, now: datetime) -> list[News]:
    """Oldest first. ``before`` None: it was not there, or nobody had looked.

    Of what came and went between the two looks only the latest is known. ``now`` is when the look
    was, for what the row has no time of.
    """
    found = [
        *_made(before, info),
        *_started(before, info),
        *_said(before, info),
        *_came_to(before, info, now),
    ]
    return sorted(found, key=lambda each: each.at)


def _made(before: Seen | None, info: ActivityInfo) -> Iterator[News]:
    if before is None:
        waits = info.status is Status.SCHEDULED and not info.claim
        detail = f"ready {instant(info.ready_at)}" if waits else f"queue {info.queue}"
        yield News(info.created_at, info, "scheduled" if waits else "enqueued", detail)


def _started(before: Seen | None, info: ActivityInfo) -> Iterator[News]:
    claimed = info.claim != (0 if before is None else before.claim)
    if claimed and info.started_at is not None:
        yield News(info.started_at, info, "started", f"attempt {info.attempts}")


def _said(before: Seen | None, info: ActivityInfo) -> Iterator[News]:
    if info.progress is not None and (before is None or before.progress != info.progress):
        yield News(info.progress.at, info, "progress", progress_text(info))
    asked = info.cancel_requested_at
    if asked is not None and (before is None or before.cancel_requested_at is None):
        yield News(asked, info, "cancel_requested")


def _came_to(before: Seen | None, info: ActivityInfo, now: datetime) -> Iterator[News]:
    """The state that it is in, unless its being made or started says it."""
    same = before is not None and (before.status, before.claim) == (info.status, info.claim)
    if same or info.status is Status.PROCESSING:
        return
    if info.status.terminal:
        if before is None or not before.status.terminal or before.claim != info.claim:
            yield News(info.finished_at or now, info, info.status.value, outcome(info, _LONGEST))
    elif before is not None or info.claim:
        yield News(now, info, info.status.value, _when(info))


def _when(info: ActivityInfo) -> str:
    if info.status is Status.PENDING:
        return ""
    error = "" if info.error is None else f": {info.error.type}: {info.error.message}"
    return f"again {instant(info.ready_at)}{error}"
