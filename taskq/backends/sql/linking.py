"""Links to an activity that another parent asks for too, as event rows; each is written once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Executable, Text, Uuid, select
from sqlalchemy.dialects import postgresql, sqlite

from taskq.backends.links import Link
from taskq.backends.sql import rows
from taskq.backends.sql.postgres.parts import ARRIVAL, spread
from taskq.backends.sql.tables import LINKED, events, spelled
from taskq.lifecycle import Note

_ONE: Final = ("activity_id", "detail")
"""What ``taskq_events_linked`` is about."""


@cache
def on_postgres() -> Executable:
    """Insert the links of ``postgres_values``, but for those that are there already."""
    link = spread("link", {"activity_id": Uuid(), "claim": BigInteger(), "detail": Text()})
    values: dict[str, ColumnElement[Any]] = {
        "activity_id": link.c.activity_id,
        "at": ARRIVAL,
        "kind": spelled(Note.LINKED),
        "claim": link.c.claim,
        "detail": link.c.detail,
    }
    inserted = postgresql.insert(events).from_select(list(values), select(*values.values()))
    return inserted.on_conflict_do_nothing(index_elements=_ONE, index_where=LINKED)


def postgres_values(links: Sequence[Link]) -> dict[str, Sequence[object]]:
    """The values of ``on_postgres``."""
    return {
        "activity_id": [each.activity for each in links],
        "claim": [each.claim for each in links],
        "detail": [rows.detail_text(each.detail) for each in links],
    }


@cache
def on_sqlite() -> Executable:
    """The same, of event rows: one per set of values."""
    inserted = sqlite.insert(events)
    return inserted.on_conflict_do_nothing(index_elements=_ONE, index_where=LINKED)


def sqlite_values(links: Sequence[Link], now: datetime) -> list[dict[str, object]]:
    """The values of ``on_sqlite``."""
    return [
        rows.event_values(
            each.activity,
            Note.LINKED,
            now,
            attempt=None,
            claim=each.claim,
            worker=None,
            detail=each.detail,
        )
        for each in links
    ]
