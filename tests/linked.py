"""What tests ask about links."""

from __future__ import annotations

from uuid import UUID

from taskq import TaskQ


async def linked(app: TaskQ, id: UUID) -> list[object]:
    """The parents that an activity is linked to, the first one first."""
    client = app.client
    timeline = await client.call(client.store.timeline, id)
    return [entry.detail["parent"] for entry in timeline if entry.kind == "linked"]
