"""Which activities a worker may begin now, beside those it has (design 7.10).

Two rules stand beside priority. Slots may be reserved for types that wait for nobody, so that what
others wait for always gets through (seed:S9); what these leave idle is lent to everybody (D17). And
while as many handlers wait as may, only what has a parent is begun: others would only wait too.
Where nothing runs and there is no such child, one other is begun after all: it may be what they
wait for.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from taskq.engine.claiming.holdings import Held


class Reserve(Struct, frozen=True):
    """``slots`` of ``count`` are for ``types`` first."""

    count: int
    slots: int
    types: tuple[str, ...]

    def for_leaves(self, room: int, held: Iterable[Held]) -> int:
        """How many of ``room`` activities about to be claimed must be of these types."""
        leaves = frozenset(self.types)
        others = sum(
            not (each.finished or each.suspended or each.attempt.type in leaves) for each in held
        )
        return min(room, max(0, room - max(0, self.count - self.slots - others)))
