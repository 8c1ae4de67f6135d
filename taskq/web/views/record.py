"""What operators did, and what activities failed of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from taskq.audit import AuditEntry
from taskq.snapshot import Cause
from taskq.web.views.veil import Veil


class AuditView(Struct, frozen=True, kw_only=True):
    """A command that was carried out: who (``actor``) did what (``action``) to what (``target``,
    for people) and why (``reason``). ``number`` grows with time."""

    number: int
    at: datetime
    actor: str
    action: str
    reason: str
    target: str
    detail: Mapping[str, object]
    command_id: UUID | None

    @classmethod
    def of(cls, entry: AuditEntry, veil: Veil) -> AuditView:
        """As it was recorded, without secrets."""
        return cls(
            number=entry.number,
            at=entry.at,
            actor=entry.actor,
            action=entry.action,
            reason=entry.reason,
            target=entry.target,
            detail=veil.record(entry),
            command_id=entry.command_id,
        )


class AuditPage(Struct, frozen=True, kw_only=True):
    """Newest first. ``next`` is the ``before`` of the following page, null at the end."""

    items: list[AuditView]
    next: int | None


class CauseView(Struct, frozen=True, kw_only=True):
    """What activities of one type have failed of. ``title`` says it to people, null where messages
    are hidden. ``count`` of them ended dead_letter or failed, ``dead`` of them dead_letter; exact
    below ``cap``, where it stops (``capped``). ``example`` is the newest."""

    fingerprint: str
    type: str
    title: str | None
    queues: tuple[str, ...]
    count: int
    capped: bool
    dead: int
    first: datetime
    last: datetime
    example: UUID
    cap: int

    @classmethod
    def of(cls, cause: Cause, veil: Veil) -> CauseView:
        """As the store counts it."""
        return cls(
            fingerprint=cause.fingerprint,
            type=cause.type,
            title=veil.said(cause.title),
            queues=cause.queues,
            count=cause.count,
            capped=cause.capped,
            dead=cause.dead,
            first=cause.first,
            last=cause.last,
            example=cause.example,
            cap=cause.cap,
        )
