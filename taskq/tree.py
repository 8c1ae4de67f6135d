"""A tree out of flat rows; pure, for any backend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from uuid import UUID

from taskq.snapshot import ActivityInfo, Tree, TreeNode


def grown(root_id: UUID, infos: Iterable[ActivityInfo], *, cut: bool = False) -> Tree:
    """The tree of these activities, all of which have ``root_id``; in any order, each once.

    What has no parent among them stands below the root as an orphan, and what is its own ancestor,
    as only another program can store it, too.
    """
    rows = {info.id: info for info in sorted(infos, key=lambda info: info.id)}
    children: dict[UUID, list[UUID]] = defaultdict(list)
    for info in rows.values():
        if info.parent_id is not None and info.parent_id in rows and info.id != root_id:
            children[info.parent_id].append(info.id)
    nodes: dict[UUID, TreeNode] = {}
    tops = [root_id, *(id for id, info in rows.items() if info.parent_id not in rows), *rows]
    for top in tops:
        if top in rows and top not in nodes:
            for id, level in _below(top, children, nodes):
                orphan = id == top != root_id
                nodes[id] = TreeNode(info=rows[id], level=level + (top != root_id), orphan=orphan)
    return Tree(root_id=root_id, nodes=tuple(nodes.values()), cut=cut)


def _below(
    top: UUID, children: dict[UUID, list[UUID]], seen: dict[UUID, TreeNode]
) -> Iterator[tuple[UUID, int]]:
    """An activity and what is below it, depth first, each with its level below it."""
    waiting = [(top, 0)]
    while waiting:
        id, level = waiting.pop()
        if id not in seen:
            yield id, level
            waiting += ((child, level + 1) for child in reversed(children.get(id, ())))
