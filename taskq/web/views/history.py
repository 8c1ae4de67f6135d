"""What happened to an activity, and the tree that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from taskq.snapshot import TimelineEntry, Tree
from taskq.web.views.activity import ActivitySummary
from taskq.web.views.veil import Veil


class EntryView(Struct, frozen=True, kw_only=True):
    """One thing that happened. ``kind``: enqueued, scheduled, started, completed, failed,
    timed_out, dead_letter, cancelled, crashed, interrupted, snoozed, handed_back, cancel_requested,
    retried, rescheduled, priority_changed or linked. ``attempt`` is null where none is meant."""

    at: datetime
    kind: str
    attempt: int | None
    worker: UUID | None
    detail: Mapping[str, object]

    @classmethod
    def of(cls, entry: TimelineEntry) -> EntryView:
        """An entry as it may be shown."""
        return cls(
            at=entry.at,
            kind=entry.kind,
            attempt=entry.attempt,
            worker=entry.worker,
            detail=entry.detail,
        )


class TimelineView(Struct, frozen=True, kw_only=True):
    """What happened to an activity, oldest first; ``cut``: only the newest 1000."""

    items: list[EntryView]
    cut: bool


class NodeView(Struct, frozen=True, kw_only=True):
    """An activity ``level`` generations below the root of the tree. ``orphan``: its parent is not
    there, so that it stands below the root."""

    level: int
    orphan: bool
    activity: ActivitySummary


class TreeView(Struct, frozen=True, kw_only=True):
    """A whole tree, depth first, siblings by age. ``cut``: there are more, younger ones."""

    root_id: UUID
    nodes: list[NodeView]
    cut: bool

    @classmethod
    def of(cls, tree: Tree, veil: Veil) -> TreeView:
        """With a line for each activity."""
        nodes = [
            NodeView(
                level=node.level, orphan=node.orphan, activity=ActivitySummary.of(node.info, veil)
            )
            for node in tree.nodes
        ]
        return cls(root_id=tree.root_id, nodes=nodes, cut=tree.cut)
