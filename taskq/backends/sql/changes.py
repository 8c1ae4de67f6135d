"""What a write changed, as far as hints are concerned."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from msgspec import Struct

from taskq.backends import Hint, Topic


class Changes(Struct, frozen=True, kw_only=True):
    """``ready``: activities became pending, or due at some time; ``done`` and ``cancel``: which."""

    ready: bool = False
    done: frozenset[UUID] = frozenset()
    cancel: frozenset[UUID] = frozenset()

    def hints(self) -> Iterable[Hint]:
        """One hint for each topic that was touched."""
        if self.ready:
            yield Hint(Topic.READY)
        if self.done:
            yield Hint(Topic.DONE, self.done)
        if self.cancel:
            yield Hint(Topic.CANCEL, self.cancel)
