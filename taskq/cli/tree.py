"""``taskq show --tree``: an activity among its relatives."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from taskq.cli.activity import activity_fields, attempts, progress_text
from taskq.cli.output import emit_table, say
from taskq.cli.text import duration
from taskq.model import Status
from taskq.showing import Showing
from taskq.snapshot import ActivityInfo, Tree, TreeNode

_COLUMNS = ("type", "status", "attempts", "ran", "step", "progress", "id")
_GONE = "(deleted)"


def tree_fields(tree: Tree) -> dict[str, object]:
    """A tree as JSON: its nodes as in ``activity_fields``, with ``level`` and ``orphan``."""
    nodes = [
        {**activity_fields(node.info), "level": node.level, "orphan": node.orphan}
        for node in tree.nodes
    ]
    return {"root_id": tree.root_id, "nodes": nodes, "cut": tree.cut}


def shown_tree(tree: Tree, showing: Showing) -> Tree:
    """The same with each activity as it may be shown."""
    nodes = tuple(replace(node, info=showing.activity(node.info)) for node in tree.nodes)
    return replace(tree, nodes=nodes)


def emit_tree(tree: Tree, shown: UUID, now: datetime) -> None:
    """One line for each activity, indented by its level. ``>`` marks the one that was asked for,
    ``?`` those whose parent is not there."""
    rows = [_row(node, shown, now) for node in tree.nodes]
    if tree.root_id not in {node.info.id for node in tree.nodes}:
        rows.insert(0, (f"  {_GONE}", *("",) * (len(_COLUMNS) - 2), str(tree.root_id)))
    emit_table(_COLUMNS, rows, spare=("progress", "step", "ran"))
    if tree.cut:
        say(f"there are more than these {len(tree.nodes)}: taskq list --parent ID shows the rest")


def _row(node: TreeNode, shown: UUID, now: datetime) -> tuple[str, ...]:
    info = node.info
    mark = ">" if info.id == shown else "?" if node.orphan else " "
    return (
        f"{mark} {'  ' * node.level}{info.type}",
        info.status.value,
        str(attempts(info)),
        duration(ran(info, now)),
        info.step or "",
        progress_text(info),
        str(info.id),
    )


def ran(info: ActivityInfo, now: datetime) -> float | None:
    """Seconds for which its latest attempt ran, or has run until ``now``; None where none did, or
    where nobody knows any more."""
    if info.started_at is None:
        return None
    if info.status is Status.PROCESSING:
        return max(0.0, (now - info.started_at).total_seconds())
    if info.finished_at is None:
        return None
    return max(0.0, (info.finished_at - info.started_at).total_seconds())
