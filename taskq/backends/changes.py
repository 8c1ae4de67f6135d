"""What a write changed, as far as hints are concerned."""

from __future__ import annotations

from uuid import UUID

from msgspec import Struct, field

from taskq.backends import Hint, Topic
from taskq.model import Status


class Changes(Struct, kw_only=True):
    """``ready``: activities became pending, or due at some time; ``done`` and ``cancel``: which;
    ``control``: pauses began or ended."""

    ready: bool = False
    done: set[UUID] = field(default_factory=set[UUID])
    cancel: set[UUID] = field(default_factory=set[UUID])
    control: bool = False

    def moved(self, id: UUID, status: Status) -> None:
        """An activity has come to this state, which is not processing."""
        if status.terminal:
            self.done.add(id)
        else:
            self.ready = True

    def hints(self) -> list[Hint]:
        """One hint for each topic that was touched."""
        hints = [Hint(Topic.READY)] if self.ready else []
        if self.done:
            hints.append(Hint(Topic.DONE, frozenset(self.done)))
        if self.cancel:
            hints.append(Hint(Topic.CANCEL, frozenset(self.cancel)))
        if self.control:
            hints.append(Hint(Topic.CONTROL))
        return hints
