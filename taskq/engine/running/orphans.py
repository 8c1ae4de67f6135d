"""The orphans: what earlier attempts of a parent left running or waiting (design 7.10)."""

from __future__ import annotations

from collections.abc import Sequence

from taskq.engine.claiming.holdings import Held
from taskq.engine.ground import Ground
from taskq.model import Attempt


class Orphans:
    """Cancels them before the parent's handler starts again.

    A parent that runs again finds its steps; children without a step it makes anew, so that those
    of earlier attempts would be there twice. ``orphans="keep"`` leaves them.
    """

    def __init__(self, ground: Ground) -> None:
        self._access = ground.access
        self._backend = ground.backend

    async def cancel(self, claimed: Sequence[Held]) -> None:
        """Of all these, in one call; none where nothing was claimed before. Raises BackendError."""
        parents = [held.attempt.id for held in claimed if _may_have_some(held.attempt)]
        if parents:
            await self._access.call(self._backend.cancel_children, parents)


def _may_have_some(attempt: Attempt) -> bool:
    """A claim that was handed back unstarted counts too; it has no children."""
    return attempt.claim > 1 and attempt.policy.orphans == "cancel"
