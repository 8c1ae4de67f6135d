"""Who changed what, and why: the record of what operators ask for (design 9.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypedDict, cast
from uuid import UUID

from msgspec import Struct, field

from taskq.errors import InvalidState
from taskq.model import Receipt

PROGRAM = "program"
"""The actor of calls from code that name none."""


class Command(Struct, frozen=True, kw_only=True):
    """Who asks for a change, and why.

    ``actor`` names a person or a program, ``reason`` is theirs. ``id`` makes it safe to ask again
    when the answer was lost: a command whose id is in the record already changes nothing more.
    """

    actor: str
    reason: str = ""
    id: UUID | None = None


class Who(TypedDict, total=False):
    """Who asks, why, and under which id: see ``Command``. The actor is ``program`` where
    nothing is said."""

    actor: str
    reason: str
    command_id: UUID | None


def command_of(who: Who) -> Command:
    """The command that these keywords make."""
    return Command(
        actor=who.get("actor", PROGRAM), reason=who.get("reason", ""), id=who.get("command_id")
    )


def named(ids: Sequence[UUID]) -> str:
    """What a command was about, for people: the id, or how many."""
    return str(ids[0]) if len(ids) == 1 else f"{len(ids)} activities"


def unchanged(detail: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    """The detail of a command that left these of what it was about as they were."""
    return {**detail, "unchanged": list(names)}


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One command that was carried out. ``at`` is aware UTC, by the store's clock.

    ``number`` grows with time. ``action`` is a verb (``retry``, ``queue.pause``,
    ``schedule.create``), ``target`` what it was done to, for people; ``detail`` is a JSON object,
    whose ``unchanged`` has the ids or names of what the command left as it was, if anything.
    """

    number: int
    at: datetime
    actor: str
    action: str
    reason: str = ""
    target: str = ""
    detail: Mapping[str, object] = field(default_factory=dict[str, object])
    command_id: UUID | None = None


def effect(entry: AuditEntry) -> str:
    """What a command did not change, for people; nothing where it changed all that it was about."""
    left, ids = entry.detail.get("unchanged"), entry.detail.get("ids")
    if not isinstance(left, list):
        return ""
    number = len(cast("list[object]", left))
    whole = len(cast("list[object]", ids)) if isinstance(ids, list) else 1
    return "nothing changed" if number >= whole else f"{number} unchanged"


def repeated(entry: AuditEntry, action: str) -> list[Receipt]:
    """What a command that stored calls has stored, for whoever gives it again.

    Raises InvalidState where its id is one of another action.
    """
    ids = entry.detail.get("ids")
    if entry.action != action or not isinstance(ids, list):
        raise InvalidState(
            f"the command id {entry.command_id} is that of another command: {entry.action}"
        )
    return [Receipt(UUID(str(id)), False) for id in cast("list[object]", ids)]
