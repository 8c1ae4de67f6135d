"""Links: an activity that another parent asks for too, by its key (seed:I8, D25); any backend."""

from __future__ import annotations

from uuid import UUID

from msgspec import Struct

from taskq.model import Activity


class Link(Struct, frozen=True, kw_only=True):
    """A call of ``parent``, in the tree of ``root``, was answered by ``activity``.

    It is an event row of that activity: ``Note.LINKED``, at its present ``claim`` number, of no
    attempt and no worker. There is one at the most for each activity and parent.
    """

    activity: UUID
    claim: int
    parent: UUID
    root: UUID

    @property
    def detail(self) -> dict[str, object]:
        """The detail of its event row: ids as text."""
        return {"parent": str(self.parent), "root": str(self.root)}


def link(call: Activity[object], holder: UUID, *, claim: int, made_by: UUID | None) -> Link | None:
    """The link to write when ``holder``, which ``made_by`` had made, answers a call.

    None for a call that has no parent (outside of a handler, or ``as_root``), for one by the same
    parent, and for one by the holder itself.
    """
    if call.parent_id in (None, made_by, holder):
        return None
    return Link(activity=holder, claim=claim, parent=call.parent_id, root=call.root_id)
