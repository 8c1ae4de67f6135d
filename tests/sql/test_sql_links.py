"""What links cost on SQLite."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, event

from taskq.backends.sql import writer
from taskq.model import Activity
from taskq.testing.conformance.samples import call, keyed

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def statements_of(connection: Connection, activity: Activity[object]) -> list[str]:
    """What submitting one activity runs, by the first words."""
    seen: list[str] = []

    def note(*execution: object) -> None:
        seen.append(" ".join(str(execution[2]).split()[:3]))

    event.listen(connection, "before_cursor_execute", note)
    writer.submit(connection, NOW, [activity])
    event.remove(connection, "before_cursor_execute", note)
    return seen


def test_only_a_link_costs_a_statement(connection: Connection) -> None:
    """seed:I8: what is created, and what its own parent finds, cost what they did."""
    first, second = call(), call()

    created = statements_of(connection, keyed(parent_id=first.id, root_id=first.id))
    found = statements_of(connection, keyed(parent_id=first.id, root_id=first.id))
    shared = statements_of(connection, keyed(parent_id=second.id, root_id=second.id))

    assert "INSERT INTO taskq_events" not in created + found
    assert shared == [*found, "INSERT INTO taskq_events"]
