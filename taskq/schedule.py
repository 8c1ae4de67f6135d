"""A schedule: what is to be made of it again and again, and when (promise:G12).

Each occurrence has one id, made of the schedule's name and its time. So however often it is stored,
by whomever, it is one activity.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from taskq.errors import ConfigurationError
from taskq.model import DEFAULT_POLICY, Activity, Policy, Priority
from taskq.occurrences import Timing
from taskq.redaction import Quiet

CatchUp = Literal["latest", "none", "all"]
Overlap = Literal["allow", "skip", "queue"]
CATCH_UP: Final[tuple[CatchUp, ...]] = ("latest", "none", "all")
OVERLAP: Final[tuple[Overlap, ...]] = ("allow", "skip", "queue")

TOLERANCE: Final = 10.0
"""Seconds by which the last occurrence may be late under ``catch_up="none"``."""
BATCH: Final = 100
"""Occurrences that are fired at once at the most, and of those left out, how many are counted."""


class Template(Quiet, frozen=True, kw_only=True, omit_defaults=True):
    """The call that is made each time: an ``Activity`` without what each has of its own, as an
    instant by which it must have started or ended."""

    type: str
    queue: str
    payload: str
    priority: Priority = Priority.NORMAL
    max_retries: int | None = 3
    max_crashes: int = 3
    timeout: float | None = 300.0
    policy: Policy = DEFAULT_POLICY
    expires_in: float | None = None
    deadline_in: float | None = None
    metadata: str | None = None
    tags: str | None = None
    correlation_id: str | None = None
    user_id: str | None = None


class Schedule(Struct, frozen=True, kw_only=True):
    """A periodic definition. ``jitter`` is milliseconds over which occurrences are spread.

    ``catch_up`` says what becomes of occurrences that nobody could fire at their time: "latest":
    the last of them; "none": the last of them, unless it is late by more than ``TOLERANCE``; "all":
    each, ``BATCH`` at once. ``overlap`` says what becomes of an occurrence while the activity that
    was made last has not ended: "allow": it fires; "skip": it is left out; "queue": it waits, and
    fires when that has ended.
    """

    name: str
    timing: Timing
    template: Template
    jitter: int = 0
    catch_up: CatchUp = "latest"
    overlap: Overlap = "allow"

    @property
    def digest(self) -> str:
        """Tells two definitions apart."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()

    def occurrence(self, at: datetime, now: datetime) -> Activity[object]:
        """The activity of the occurrence ``at``. The jitter is the same whoever asks."""
        due = at + timedelta(milliseconds=self.jitter * _share(self.name, at))
        more = {"cron_job": self.name, "scheduled_for": at.astimezone(UTC).isoformat()}
        return self._activity(occurrence_id(self.name, at), more, run_at=due if due > now else None)

    def triggered(self, id: UUID) -> Activity[object]:
        """An activity besides, as an operator wants it now."""
        return self._activity(id, {"cron_job": self.name, "trigger": "manual"}, run_at=None)

    def _activity(
        self, id: UUID, more: Mapping[str, object], *, run_at: datetime | None
    ) -> Activity[object]:
        fields = {name: getattr(self.template, name) for name in Template.__struct_fields__}
        given = fields.pop("metadata")
        kept = _object(self.name, given) if given else {}
        return Activity[object](
            id=id,
            root_id=id,
            origin_id=id,
            source="cron",
            metadata=msgspec.json.encode(kept | dict(more)).decode(),
            run_at=run_at,
            **fields,
        )


class ScheduleInfo(Struct, frozen=True, kw_only=True):
    """A schedule as the store has it. Times are aware UTC, by the store's clock.

    ``revision`` grows with each change of the definition. ``digest`` is that of the definition in
    code that was put here last; None: it was made at run time. ``next_at`` is the next occurrence
    that has not been dealt with, None where there is none; ``last_at`` the last one that was fired,
    ``last_id`` its activity. ``fired`` counts them; ``skipped`` those left out by ``catch_up`` or
    ``overlap``, of many at once only the first ``BATCH``. ``broken`` says why the call's options in
    the row cannot be read: then ``schedule`` has none of them, and nothing is made of it.
    """

    schedule: Schedule
    revision: int
    created_at: datetime
    updated_at: datetime
    digest: str | None = None
    next_at: datetime | None = None
    last_at: datetime | None = None
    last_id: UUID | None = None
    fired: int = 0
    skipped: int = 0
    paused_at: datetime | None = None
    broken: str | None = None

    @property
    def name(self) -> str:
        """The schedule's name."""
        return self.schedule.name

    @property
    def declared(self) -> bool:
        """Whether code defines it."""
        return self.digest is not None


class Plan(Struct, frozen=True, kw_only=True):
    """What is due of a schedule: the occurrences to ``fire``, how many are left out, and its next
    time then. ``held``: it waits for the activity that was made last."""

    fire: tuple[datetime, ...] = ()
    skipped: int = 0
    next_at: datetime | None
    held: bool = False


def plan(
    schedule: Schedule,
    next_at: datetime,
    now: datetime,
    *,
    busy: bool = False,
    free_since: datetime | None = None,
) -> Plan:
    """What to do at ``now`` with a schedule whose next occurrence is ``next_at``.

    ``busy``: the activity that was made last has not ended; ``free_since``: when it ended. With
    ``overlap`` other than "allow" at most one fires: the latest, or under "queue" and "all" the
    earliest. Raises ConfigurationError where cron text or zone cannot be read here.
    """
    timing = schedule.timing
    due = timing.until(next_at, now, limit=BATCH + 1)
    if not due:
        return Plan(next_at=next_at)
    if busy and schedule.overlap == "queue":
        return Plan(next_at=next_at, held=True)
    if busy and schedule.overlap == "skip":
        return Plan(skipped=min(len(due), BATCH), next_at=timing.after(now))
    if schedule.catch_up == "all" and schedule.overlap != "skip":
        fire = tuple(due[: BATCH if schedule.overlap == "allow" else 1])
        return Plan(fire=fire, next_at=timing.after(fire[-1]))
    latest = due[-1] if len(due) <= BATCH else timing.latest(due[-1], now)
    left = min(len(due) - 1, BATCH)
    if schedule.catch_up == "none" and _late(schedule, latest, now, free_since):
        return Plan(skipped=min(left + 1, BATCH), next_at=timing.after(now))
    return Plan(fire=(latest,), skipped=left, next_at=timing.after(now))


def moved(before: ScheduleInfo, after: Schedule, now: datetime) -> datetime | None:
    """The next time of a schedule whose definition becomes ``after``: another one only where it
    says other times."""
    if before.next_at is not None and before.schedule.timing == after.timing:
        return before.next_at
    return after.timing.after(now)


def occurrence_id(name: str, at: datetime) -> UUID:
    """The id of an occurrence's activity: a UUIDv7 (RFC 9562) of its time and a hash of both."""
    milliseconds = (at - _EPOCH) // timedelta(milliseconds=1)
    hashed = int.from_bytes(_hash(name, at)[:10], "big")
    return UUID(
        int=(milliseconds & (1 << 48) - 1) << 80
        | 0x7 << 76
        | (hashed >> 62 & 0xFFF) << 64
        | 0b10 << 62
        | hashed & (1 << 62) - 1
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _object(name: str, text: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ConfigurationError(
            f"schedule {name!r}: its metadata is no JSON object that can be read: {error}"
        ) from error


def _late(schedule: Schedule, at: datetime, now: datetime, free_since: datetime | None) -> bool:
    """Whether it is too late. One that had to wait for another is on time when that has ended."""
    waited = schedule.overlap == "queue" and free_since is not None
    since = max(at, free_since) if waited and free_since is not None else at
    return now - since > timedelta(seconds=TOLERANCE)


def _share(name: str, at: datetime) -> float:
    """In 0 to 1, without 1; the same for the same occurrence."""
    return int.from_bytes(_hash(name, at)[-6:], "big") / (1 << 48)


def _hash(name: str, at: datetime) -> bytes:
    return hashlib.sha256(f"{name}\0{at.astimezone(UTC).isoformat()}".encode()).digest()
