"""What the stream tells, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from taskq.model import Status
from taskq.news import News
from taskq.pausing import Pause
from taskq.printing import shortened
from taskq.progress import Progress
from taskq.web.views.seed import Event as SeedEvent

LONGEST: Final = 1000
"""Characters of a detail at the most."""


class Kind(StrEnum):
    """What an event is about; the name of the event on the stream."""

    HELLO = "hello"
    """The stream begins, or goes on, behind this id."""
    RESET = "reset"
    """It cannot go on from where the client was: read everything anew."""
    ACTIVITY = "activity"
    """Something has happened to an activity."""
    CONTROL = "control"
    """What is paused has changed."""
    STATS = "stats"
    """How everything stands, in numbers."""
    GAP = "gap"
    """Here events are missing: what is shown may be out of date."""
    STALE = "stale"
    """The store cannot be reached: nothing is told until it can."""
    LIVE = "live"
    """It can be reached again."""


class Form(StrEnum):
    """How an event is written. A veiled one is for those who may not see payloads: it has nothing
    that a handler has said. Those of the seeds have the shape of RunnerQ's stream."""

    FULL = "full"
    VEILED = "veiled"
    SEEDS = "seeds"
    SEEDS_VEILED = "seeds_veiled"

    @property
    def veiled(self) -> bool:
        """Whether it has nothing that a handler has said."""
        return self in (Form.VEILED, Form.SEEDS_VEILED)

    @property
    def of_seeds(self) -> bool:
        """Whether it has the shape of RunnerQ's stream."""
        return self in (Form.SEEDS, Form.SEEDS_VEILED)

    def as_seeds(self) -> Form:
        """The same in that shape."""
        return Form.SEEDS_VEILED if self.veiled else Form.SEEDS


class ProgressView(Struct, frozen=True, kw_only=True):
    """How far a handler says it has come: ``percent`` where it knows the total."""

    done: float
    total: float | None
    percent: float | None
    note: str | None

    @classmethod
    def of(cls, progress: Progress) -> ProgressView:
        """Of what it said last."""
        done, total = progress.done, progress.total
        percent = None if not total else round(min(100.0, 100.0 * done / total), 1)
        return cls(done=done, total=total, percent=percent, note=progress.note)


class ActivityEvent(Struct, frozen=True, kw_only=True):
    """Something has happened to an activity. ``what`` is enqueued, scheduled, started, progress,
    cancel_requested, or the state that it came to; ``status`` the one that it had at the look.
    ``detail`` is for people: never a payload and never a result."""

    at: datetime
    id: str
    type: str
    queue: str
    what: str
    status: Status
    detail: str
    progress: ProgressView | None
    parent_id: str | None
    root_id: str
    worker: str | None

    @classmethod
    def of(cls, told: News, *, veiled: bool = False) -> ActivityEvent:
        """``veiled``: without messages and notes."""
        info = told.info
        progress = None if info.progress is None else ProgressView.of(info.progress)
        detail = "" if told.what == Status.COMPLETED else shortened(told.detail, LONGEST)
        if veiled and told.what not in _OPEN:
            detail = ""
        if veiled and progress is not None:
            progress = msgspec.structs.replace(progress, note=None)
        return cls(
            at=told.at,
            id=str(info.id),
            type=info.type,
            queue=info.queue,
            what=told.what,
            status=info.status,
            detail=detail,
            progress=progress,
            parent_id=None if info.parent_id is None else str(info.parent_id),
            root_id=str(info.root_id),
            worker=_worker(told),
        )


class ControlEvent(Struct, frozen=True, kw_only=True):
    """What is paused now."""

    at: datetime
    pauses: tuple[Pause, ...]


class Gap(Struct, frozen=True, kw_only=True):
    """Events are missing here: ``missed`` of them, None where nobody knows.

    ``reason``: "slow" (this client was, or its connection), "many" (more waited for this client
    than it wants at once), "burst" (more happened than a look can read), "backlog" (there is more
    unfinished work than can be followed, and some of it moved).
    """

    reason: str
    missed: int | None = None


class Place(Struct, frozen=True, kw_only=True):
    """Where the stream goes on."""

    id: str


class Notice(Struct, frozen=True, kw_only=True):
    """When the store was lost, or found again."""

    at: datetime


class Event:
    """One event, written once in each form that somebody reads."""

    def __init__(self, kind: Kind, body: Struct, news: News | None = None) -> None:
        self.kind = kind
        self._body = body
        self._news = news
        self._written: dict[Form, bytes | None] = {}

    @classmethod
    def of(cls, told: News) -> Event:
        """What has happened to an activity."""
        return cls(Kind.ACTIVITY, ActivityEvent.of(told), told)

    def written(self, form: Form) -> bytes | None:
        """Its JSON; None where that form has none for it."""
        if form not in self._written:
            body = self._formed(form)
            self._written[form] = None if body is None else msgspec.json.encode(body)
        return self._written[form]

    def _formed(self, form: Form) -> Struct | None:
        told = self._news
        if form.of_seeds:
            return None if told is None else _as_seeds(told, veiled=form.veiled)
        if form.veiled and told is not None:
            return ActivityEvent.of(told, veiled=True)
        return self._body


def _as_seeds(told: News, *, veiled: bool) -> SeedEvent:
    info = told.info
    detail: dict[str, object] = {"activity_type": info.type}
    if info.error is not None and told.what in _FAILURES and not veiled:
        detail["error"] = shortened(f"{info.error.type}: {info.error.message}", LONGEST)
    return SeedEvent(
        activity_id=info.id,
        timestamp=told.at,
        event_type=_SEEDS.get(told.what, told.what.title().replace("_", "")),
        worker_id=_worker(told),
        detail=detail,
    )


def _worker(told: News) -> str | None:
    """Whose doing it was. Nobody's when it was made, though somebody may have it at the look."""
    worker = None if told.what == "enqueued" else told.info.worker
    return None if worker is None else str(worker)


_OPEN = ("enqueued", "started")
"""What is told of these, taskq itself has said."""

_FAILURES = (Status.FAILED, Status.DEAD_LETTER, Status.RETRYING)

_SEEDS: Mapping[str, str] = {"started": "Dequeued", "pending": "Requeued"}
"""Where their name is not ours in capitals: seed:L5."""
